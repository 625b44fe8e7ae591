// The pipeline as a table: from which phase to which, and when. docs/lifecycle.md draws it. The first row that fits is
// taken, one in a pass; where none fits the phase stays.
import type { PipelinePhase } from '../api/ingester/status.ts';

export interface PipelineFacts {
  /** The target differs from what last ran well, beyond what is patched or scaled in place. */
  readonly changed: boolean;
  /** A step is to be done. */
  readonly pending: boolean;
  /** One of them needs the components to go. */
  readonly drainNeeded: boolean;
  /** The attempt has taken the components down, or is about to. */
  readonly drains: boolean;
  /** No pod of a component is left. */
  readonly drained: boolean;
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
  readonly test: (facts: PipelineFacts) => boolean;
}

const row = (from: PipelinePhase, to: PipelinePhase, when: string, test: Transition['test']): Transition => {
  return { from, to, when, test };
};

export const transitions: readonly Transition[] = [
  row('Settled', 'Draining', 'a task needs a drain', (f) => f.drainNeeded),
  row('Settled', 'Updating', 'the target changed, or a task is due', (f) => f.changed || f.pending),
  row('Draining', 'Tasks', 'no component and no Job is left', (f) => f.idle && (f.drained || !f.drainNeeded)),
  row('Updating', 'Draining', 'a task needs a drain', (f) => f.drainNeeded),
  row(
    'Updating',
    'Tasks',
    'a task is due, the components are ready or wait for it',
    (f) => f.pending && (f.ready || f.blocks),
  ),
  row('Updating', 'Settled', 'the components are ready', (f) => f.ready),
  row('Tasks', 'Stopping', 'a Job runs for inputs of before', (f) => !f.idle),
  row('Tasks', 'Draining', 'a task needs a drain now', (f) => f.drainNeeded && !(f.drains && f.drained)),
  row('Tasks', 'Failed', 'a task failed for good', (f) => f.failed),
  row('Tasks', 'Restoring', 'every task is done', (f) => !f.pending),
  row('Stopping', 'Draining', 'no Job is left, a task needs a drain', (f) => f.idle && f.drainNeeded),
  row('Stopping', 'Tasks', 'no Job is left', (f) => f.idle),
  row('Failed', 'Stopping', 'something was changed', (f) => !f.failed),
  row('Restoring', 'Draining', 'a task needs a drain', (f) => f.drainNeeded),
  row('Restoring', 'Tasks', 'a task is due', (f) => f.pending),
  row('Restoring', 'Settled', 'the components are ready', (f) => f.ready),
];

export function nextPhase(phase: PipelinePhase, facts: PipelineFacts): PipelinePhase {
  return transitions.find(({ from, test }) => from === phase && test(facts))?.to ?? phase;
}

/** The diagram of docs/lifecycle.md, as Mermaid draws it. */
export function stateDiagram(): string {
  const lines = transitions.map(({ from, to, when }) => `  ${from} --> ${to}: ${when}`);
  return ['stateDiagram-v2', '  [*] --> Settled', ...lines].join('\n');
}
