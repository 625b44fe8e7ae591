import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextPhase, type PipelineInput, transitions } from '../../../src/lifecycle/plan/pipeline.ts';

const nothing: PipelineInput = {
  changed: false,
  pending: false,
  quiesceNeeded: false,
  quiesces: false,
  quiesced: false,
  idle: true,
  failed: false,
  ready: false,
  blocks: false,
};

const names = Object.keys(nothing) as readonly (keyof PipelineInput)[];
/** Everything that can be true at once. */
const inputs: readonly PipelineInput[] = Array.from({ length: 2 ** names.length }, (_, bits) => {
  return Object.fromEntries(names.map((name, at) => [name, ((bits >> at) & 1) === 1])) as unknown as PipelineInput;
});

describe('the phases of the pipeline', () => {
  it('can each be left again', () => {
    for (const { to } of transitions)
      assert.ok(
        transitions.some(({ from }) => from === to),
        to,
      );
  });

  it('are gone through in their order by an upgrade, and by one that needs no quiesce', () => {
    const quiescing = { ...nothing, changed: true, pending: true, quiesceNeeded: true };
    assert.equal(nextPhase('Settled', quiescing), 'Quiescing');
    assert.equal(nextPhase('Quiescing', quiescing), 'Quiescing');
    const gone = { ...quiescing, quiesces: true, quiesced: true };
    assert.equal(nextPhase('Quiescing', gone), 'Tasks');
    assert.equal(nextPhase('Tasks', gone), 'Tasks');
    assert.equal(nextPhase('Tasks', { ...nothing, changed: true, quiesces: true }), 'Restoring');
    assert.equal(nextPhase('Restoring', { ...nothing, changed: true }), 'Restoring');
    assert.equal(nextPhase('Restoring', { ...nothing, changed: true, ready: true }), 'Settled');
    assert.equal(nextPhase('Settled', { ...nothing, changed: true, pending: true }), 'Updating');
    assert.equal(nextPhase('Updating', { ...nothing, pending: true }), 'Updating');
    assert.equal(nextPhase('Updating', { ...nothing, pending: true, ready: true }), 'Tasks');
  });

  it('end early where they are not over: no task while a Job or a component is left, nothing settled that is not ready', () => {
    for (const input of inputs) {
      const { idle, quiesced, quiesceNeeded, ready, pending } = input;
      const isLeft = !idle || (quiesceNeeded && !quiesced);
      if (isLeft) assert.notEqual(nextPhase('Quiescing', input), 'Tasks');
      if (!idle) for (const from of ['Tasks', 'Stopping'] as const) assert.equal(nextPhase(from, input), 'Stopping');
      if (pending || !ready)
        for (const from of ['Tasks', 'Restoring'] as const) assert.notEqual(nextPhase(from, input), 'Settled');
      if (!ready) assert.notEqual(nextPhase('Updating', input), 'Settled');
    }
  });
});
