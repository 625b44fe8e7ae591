// The observed state: what the cluster has, as far as decisions need it. Read anew in every reconcile, never from a cache:
// a pod that is missing from a stale list may still run.
import type { IngesterEventReason } from '../../api/ingester/reasons.ts';
import type { ComponentName } from '../../api/ingester/spec.ts';
import type { StepName } from '../../api/ingester/status.ts';
import { isJsonObject } from '../../base/json.ts';

export interface ObservedComponent {
  readonly exists: boolean;
  readonly deleting: boolean;
  /** Its pods that have not ended, also those of a Deployment that is gone. */
  readonly pods: number;
  readonly desired: number;
  readonly ready: number;
  readonly updated: number;
  readonly available: number;
  /** The Deployment controller has observed the newest generation. */
  readonly generationObserved: boolean;
  readonly image?: string;
  readonly configChecksum?: string;
  /** Hash of the specification that was applied; equal to the desired one when nothing is left to apply. */
  readonly applied?: string;
  /** Why pods do not come up, as a message. */
  readonly problem?: string;
}

export interface ObservedJob {
  readonly step: StepName;
  /** The run that it was created for. */
  readonly run: string;
  readonly state: 'active' | 'succeeded' | 'failed';
  readonly deleting: boolean;
  readonly pods: number;
  readonly exitCode?: number;
  /** The JSON result, or the end of the log. */
  readonly message?: string;
  /** Why its pod cannot start. */
  readonly cannotStart?: string;
}

export interface ObservedMaintenance {
  readonly exists: boolean;
  readonly ready: boolean;
  /** Why its pod does not come up. */
  readonly problem?: string;
}

export interface ObservedState {
  readonly components: Readonly<Record<ComponentName, ObservedComponent>>;
  readonly jobs: readonly ObservedJob[];
  readonly maintenance: ObservedMaintenance;
  /** What the Service of query selects. */
  readonly service: 'query' | 'maintenance' | 'absent';
  /** Objects with our label and another owner. */
  readonly foreign: readonly string[];
}

/** One that has ended and is being deleted does nothing any more. */
export function isActive({ state, pods }: ObservedJob): boolean {
  return state === 'active' || pods > 0;
}

export type TaskResult = Readonly<Record<string, unknown>>;

/** What a task reports: the last line of its output is one JSON object. */
export function resultOf(message: string | undefined): TaskResult {
  try {
    const last: unknown = JSON.parse(message?.trim().split('\n').at(-1) ?? '');
    return isJsonObject(last) ? last : {};
  } catch {
    // A command from the specification may print anything.
    return {};
  }
}

/** What is worth telling in an event about the resource. */
export interface PlanEvent {
  readonly reason: IngesterEventReason;
  readonly note: string;
}
