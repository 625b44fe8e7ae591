import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LogLimit } from '../../../src/base/rate-limits.ts';
import { FakeClock } from '../../support/fake-clock.ts';

describe('a limit of lines in the log', () => {
  it('lets twenty lines of a reason through at once, then one in ten seconds that says how many it left out', async () => {
    const clock = new FakeClock();
    const lines = new LogLimit(clock);
    const taken = Array.from({ length: 1000 }, () => lines.take('401'));
    assert.deepEqual(taken, [
      ...Array.from({ length: 20 }, () => ({})),
      ...Array.from({ length: 980 }, () => undefined),
    ]);
    assert.deepEqual(lines.take('415'), {});
    await clock.advance(10_000);
    assert.deepEqual(lines.take('401'), { leftOut: 980 });
    assert.equal(lines.take('401'), undefined);
    await clock.advance(10_000);
    assert.deepEqual(lines.take('401'), { leftOut: 1 });
  });
});
