import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { transitions } from '../../../src/lifecycle/plan/pipeline.ts';

describe('the phases of the pipeline', () => {
  it('can each be left again', () => {
    for (const { to } of transitions)
      assert.ok(
        transitions.some(({ from }) => from === to),
        to,
      );
  });
});
