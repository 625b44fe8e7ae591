import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { WorkQueue } from '../../src/runtime/work-queue.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';

type Step =
  | { readonly do: 'add'; readonly key: string }
  | { readonly do: 'addAfter'; readonly key: string; readonly delayMs: number }
  | { readonly do: 'take' }
  | { readonly do: 'finish'; readonly which: number }
  | { readonly do: 'advance'; readonly ms: number };

const key = fc.constantFrom('a', 'b', 'c');
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key }),
  fc.record({ do: fc.constant('addAfter' as const), key, delayMs: fc.integer({ min: 0, max: 50 }) }),
  fc.constant({ do: 'take' as const }),
  fc.record({ do: fc.constant('finish' as const), which: fc.nat(5) }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 60 }) }),
);

/** Runs the steps and then works everything off. Returns how often each key was handed out after its last add. */
async function run(steps: readonly Step[]): Promise<void> {
  const clock = new FakeClock();
  const queue = new WorkQueue(clock);
  const held: string[] = [];
  /** Keys with an add that no hand-out has followed yet. */
  const owed = new Set<string>();
  let waiting = 0;
  const take = (): void => {
    waiting += 1;
    void queue.get().then((taken) => {
      waiting -= 1;
      assert.ok(taken !== undefined);
      assert.ok(!held.includes(taken), `${taken} was handed out while it was held`);
      held.push(taken);
      owed.delete(taken);
    });
  };
  const finish = (index: number): void => {
    const [done] = held.splice(index, 1);
    if (done !== undefined) queue.done(done);
  };
  const act = (next: Step): Promise<void> | undefined => {
    switch (next.do) {
      case 'add':
        owed.add(next.key);
        queue.add(next.key);
        return;
      case 'addAfter':
        owed.add(next.key);
        queue.addAfter(next.key, next.delayMs);
        return;
      case 'take':
        if (waiting < 3) take();
        return;
      case 'finish':
        finish(next.which % Math.max(held.length, 1));
        return;
      case 'advance':
        return clock.advance(next.ms);
    }
  };
  for (const next of steps) {
    await act(next);
    await settle();
  }
  await clock.advance(100);
  for (let round = 0; round < 20; round += 1) {
    while (held.length > 0) finish(0);
    if (waiting === 0) take();
    await clock.advance(1);
  }
  assert.deepEqual([...owed], [], 'a key that was added is never lost');
  assert.equal(clock.pending, 0);
}

describe('WorkQueue, whatever happens in whatever order', () => {
  it('never hands a key to two workers and never loses one', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), run), { numRuns: 300 });
  });
});
