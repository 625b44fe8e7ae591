// The pipeline as a table: from which phase to which, and when. docs/lifecycle.md draws it. The first row that fits is
// taken, one in a reconcile; where none fits the phase stays.
import type { PipelinePhase } from '../../api/ingester/status.ts';

export interface PipelineInput {
  /** The target differs from what last ran well, beyond what is patched or scaled in place. */
  readonly changed: boolean;
  /** A step is due. */
  readonly pending: boolean;
  /** One of the due steps needs the components to be removed. */
  readonly quiesceNeeded: boolean;
  /** The attempt has removed the components, or is about to. */
  readonly quiesces: boolean;
  /** No pod of a component is left. */
  readonly quiesced: boolean;
  /** No Job runs but that of the current run. */
  readonly idle: boolean;
  /** The next step failed for good, and nothing about it has changed since. */
  readonly failed: boolean;
  /** Every component runs as the target says, and query is served by query. */
  readonly ready: boolean;
  /** Components may not come up before a task that is due is done. */
  readonly blocks: boolean;
}

export interface Transition {
  readonly from: PipelinePhase;
  readonly to: PipelinePhase;
  /** For the diagram. */
  readonly when: string;
  readonly test: (input: PipelineInput) => boolean;
}

const row = (from: PipelinePhase, to: PipelinePhase, when: string, test: Transition['test']): Transition => {
  return { from, to, when, test };
};

export const transitions: readonly Transition[] = [
  row('Settled', 'Quiescing', 'a task needs quiesced writers', (f) => f.quiesceNeeded),
  row('Settled', 'Updating', 'the target changed, or a task is due', (f) => f.changed || f.pending),
  row('Quiescing', 'Tasks', 'no component and no Job is left', (f) => f.idle && (f.quiesced || !f.quiesceNeeded)),
  row('Updating', 'Quiescing', 'a task needs quiesced writers', (f) => f.quiesceNeeded),
  row(
    'Updating',
    'Tasks',
    'a task is due, the components are ready or wait for it',
    (f) => f.pending && (f.ready || f.blocks),
  ),
  row('Updating', 'Settled', 'the components are ready', (f) => f.ready),
  row('Tasks', 'Stopping', 'a Job runs for inputs of before', (f) => !f.idle),
  row('Tasks', 'Quiescing', 'a task needs quiesced writers now', (f) => f.quiesceNeeded && !(f.quiesces && f.quiesced)),
  row('Tasks', 'Failed', 'a task failed for good', (f) => f.failed),
  row('Tasks', 'Restoring', 'every task is done', (f) => !f.pending),
  row('Stopping', 'Quiescing', 'no Job is left, a task needs quiesced writers', (f) => f.idle && f.quiesceNeeded),
  row('Stopping', 'Tasks', 'no Job is left', (f) => f.idle),
  row('Failed', 'Stopping', 'something was changed', (f) => !f.failed),
  row('Restoring', 'Quiescing', 'a task needs quiesced writers', (f) => f.quiesceNeeded),
  row('Restoring', 'Tasks', 'a task is due', (f) => f.pending),
  row('Restoring', 'Settled', 'the components are ready', (f) => f.ready),
];

export function nextPhase(phase: PipelinePhase, input: PipelineInput): PipelinePhase {
  return transitions.find(({ from, test }) => from === phase && test(input))?.to ?? phase;
}
