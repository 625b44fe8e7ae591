import { RecordingLogger } from '../recording-logger.ts';
import type { Stage } from './run.ts';

/** Stands in every object's copy of its manifest. */
export const SECRET = 'very-secret-token';

export interface Traces {
  readonly logger: RecordingLogger;
  readonly events: { readonly uid: string; readonly reason: string; readonly note: string }[];
}

const known = new WeakMap<Stage, Traces>();

/** What all processes of a stage have said. */
export function tracesOf(stage: Stage): Traces {
  const traces = known.get(stage) ?? { logger: new RecordingLogger(), events: [] };
  known.set(stage, traces);
  return traces;
}
