import type { IngesterSpec, RestoreSpec } from '../../api/ingester/spec.ts';
import type { Credentials, StepName } from '../../api/ingester/status.ts';

/** What a Job is made of. */
export interface JobInput {
  /** As components are made of it: with the credentials that are in use. */
  readonly spec: IngesterSpec;
  readonly step: StepName;
  readonly known?: Known;
}

/** What is remembered for it. */
export interface Known {
  /** Those that are being changed. */
  readonly credentials?: Credentials | undefined;
  readonly restore?: RestoreSpec | undefined;
  /** Snapshots that retention leaves alone. */
  readonly referenced?: readonly string[];
}
