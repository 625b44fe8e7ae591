import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Entry, WriteQueue } from '../../../src/storage/mysql/store/write-queue.ts';

type NumberedEntry = Entry<number, void>;
const entry = (key: string, bytes: number, write: number): NumberedEntry => ({
  key,
  bytes,
  write,
  resolve: () => undefined,
  reject: () => undefined,
});
const all = { maxRows: 100, maxBytes: 1e9 };
const writesOf = (entries: readonly NumberedEntry[]): readonly number[] => entries.map(({ write }) => write);

describe('WriteQueue', () => {
  it('hands out the writes of one key one after the other', () => {
    const queue = new WriteQueue<number, void>(1e9);
    const entries = [entry('a', 1, 1), entry('a', 1, 2), entry('b', 1, 3)];
    for (const one of entries) queue.add(one);
    const taken = queue.take(all);
    assert.deepEqual(writesOf(taken), [1, 3]);
    assert.deepEqual(writesOf(queue.take(all)), []);
    for (const one of taken) queue.settle(one);
    assert.deepEqual(writesOf(queue.take(all)), [2]);
  });

  it('bounds a batch by rows and by bytes, but never below one write', () => {
    const queue = new WriteQueue<number, void>(1e9);
    for (const [index, bytes] of [50, 1, 1, 1].entries()) queue.add(entry(String(index), bytes, index));
    assert.deepEqual(writesOf(queue.take({ maxRows: 9, maxBytes: 10 })), [0]);
    assert.deepEqual(writesOf(queue.take({ maxRows: 2, maxBytes: 10 })), [1, 2]);
  });

  it('keeps writes beyond the byte limit outside until there is room, in their order', () => {
    const queue = new WriteQueue<number, void>(10);
    for (const index of [0, 1, 2, 3]) queue.add(entry(String(index), 6, index));
    assert.equal(queue.bytes, 6);
    const [first] = queue.take(all);
    assert.ok(first !== undefined);
    queue.settle(first);
    assert.equal(queue.bytes, 6);
    assert.deepEqual(writesOf(queue.take(all)), [1]);
    assert.deepEqual(writesOf(queue.take(all)), []);
  });

  it('loses nothing, keeps the order of each key and stays below its limit', () => {
    const action = fc.oneof(
      fc.record({ do: fc.constant('add' as const), key: fc.nat(3), bytes: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ do: fc.constant('take' as const), rows: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ do: fc.constant('settle' as const), which: fc.nat(5) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const queue = new WriteQueue<number, void>(12);
        const added: NumberedEntry[] = [];
        const seen: NumberedEntry[] = [];
        const held: NumberedEntry[] = [];
        const settle = (which: number): void => {
          const [one] = held.splice(which % Math.max(1, held.length), 1);
          if (one !== undefined) queue.settle(one);
        };
        const take = (maxRows: number): void => {
          const taken = queue.take({ maxRows, maxBytes: 8 });
          held.push(...taken);
          seen.push(...taken);
        };
        for (const [index, step] of actions.entries()) {
          if (step.do === 'add') {
            const one = entry(String(step.key), step.bytes, index);
            added.push(one);
            queue.add(one);
          } else if (step.do === 'take') take(step.rows);
          else settle(step.which);
          assert.ok(queue.bytes <= 12);
          assert.equal(new Set(held.map(({ key }) => key)).size, held.length);
        }
        for (let round = 0; round < 200; round += 1) {
          take(3);
          settle(0);
        }
        assert.deepEqual(new Set(seen), new Set(added));
        for (const key of ['0', '1', '2', '3']) {
          const ofKey = (entries: readonly NumberedEntry[]) => writesOf(entries.filter((one) => one.key === key));
          assert.deepEqual(ofKey(seen), ofKey(added));
        }
      }),
    );
  });
});
