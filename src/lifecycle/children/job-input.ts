import type { IngesterSpec } from '../../api/ingester/spec.ts';
import type { Credentials, StepName } from '../../api/ingester/status.ts';

/** What a Job is made of. */
export interface JobInput {
  /** As components are made of it: with the credentials that are in use. */
  readonly spec: IngesterSpec;
  readonly step: StepName;
  /** Those that are being changed. */
  readonly credentials?: Credentials | undefined;
}
