// What was seen in the cluster, as far as decisions need it. Read anew in every pass, never from a cache: a pod that is
// not in a stale list may well be there.
import type { ComponentName } from '../api/ingester/spec.ts';
import type { StepName } from '../api/ingester/status.ts';

export interface ComponentFacts {
  readonly exists: boolean;
  readonly deleting: boolean;
  /** Its pods that have not ended, also those of a Deployment that is gone. */
  readonly pods: number;
  readonly desired: number;
  readonly ready: number;
  readonly updated: number;
  readonly available: number;
  /** The Deployment controller has seen the newest specification. */
  readonly observed: boolean;
  readonly image?: string;
  readonly configChecksum?: string;
  /** Hash of the specification that was applied; equal to the wanted one when nothing is left to apply. */
  readonly applied?: string;
  /** Why pods do not come up, in words for people. */
  readonly problem?: string;
}

export interface JobFacts {
  readonly step: StepName;
  /** The run that it was created for. */
  readonly run: string;
  readonly state: 'active' | 'succeeded' | 'failed';
  readonly deleting: boolean;
  readonly pods: number;
  readonly exitCode?: number;
  /** The JSON result, or the end of the log. */
  readonly message?: string;
  /** Why its pod cannot start, and since when that may be so. */
  readonly cannotStart?: string;
}

export interface MaintenanceFacts {
  readonly exists: boolean;
  readonly ready: boolean;
}

export interface Facts {
  readonly components: Readonly<Record<ComponentName, ComponentFacts>>;
  readonly jobs: readonly JobFacts[];
  readonly maintenance: MaintenanceFacts;
  /** Where the Service of query leads. */
  readonly service: 'query' | 'maintenance' | 'absent';
  /** Objects with our names that belong to somebody else. */
  readonly foreign: readonly string[];
}

export function isActive(job: JobFacts): boolean {
  return job.state === 'active' || job.deleting || job.pods > 0;
}
