import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ByteBudget } from '../../../src/base/byte-budget.ts';
import { CodedError } from '../../../src/base/errors.ts';

describe('ByteBudget', () => {
  it('gives free bytes, and again bytes that were given back', () => {
    const budget = new ByteBudget(10);
    assert.deepEqual([budget.tryTake(6), budget.tryTake(5), budget.tryTake(4)], [true, false, true]);
    budget.give(6);
    assert.equal(budget.tryTake(6), true);
    assert.equal(budget.used, 10);
  });

  it('gives a caller more than all there is when no other caller has any', () => {
    const budget = new ByteBudget(10);
    assert.equal(budget.tryTake(25), true);
    assert.equal(budget.tryTake(1), false);
    budget.give(25);
    assert.equal(budget.tryTake(1), true);
  });

  it('runs work in the order it came, never beyond the limit, and all of it, whatever fails', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(15), fc.boolean(), fc.nat(3)), { maxLength: 40 }), async (works) => {
        const budget = new ByteBudget(10);
        const started: number[] = [];
        const running = new Set<number>();
        const runs = works.map(([bytes, fails, turns], index) =>
          budget.around('group', bytes, async () => {
            started.push(index);
            running.add(index);
            const inUse = [...running].reduce((sum, one) => sum + (works[one]?.[0] ?? 0), 0);
            const alone = [...running].filter((one) => (works[one]?.[0] ?? 0) > 0).length <= 1;
            assert.ok(inUse <= 10 || alone, `${inUse} bytes in use`);
            for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
            running.delete(index);
            if (fails) throw new CodedError('TEST_FAILED', 'failed');
          }),
        );
        const ends = await Promise.allSettled(runs);
        assert.deepEqual(
          ends.map(({ status }) => status === 'rejected'),
          works.map(([, fails]) => fails),
        );
        assert.deepEqual(
          started,
          [...started].sort((left, right) => left - right),
        );
        assert.equal(budget.used, 0);
      }),
    );
  });

  it('gives bytes to groups that wait for them in turn, however many wait in one', async () => {
    const budget = new ByteBudget(10);
    const started: string[] = [];
    const work = (group: string, index: number): Promise<void> =>
      budget.around(group, 10, async () => {
        started.push(`${group}${index}`);
        await Promise.resolve();
      });
    const flood = Array.from({ length: 4 }, (_, index) => work('flood', index));
    await Promise.all([...flood, work('other', 0)]);
    assert.deepEqual(started, ['flood0', 'flood1', 'other0', 'flood2', 'flood3']);
  });
});
