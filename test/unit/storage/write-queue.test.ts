import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Entry, WriteQueue } from '../../../src/storage/mysql/store/write-queue.ts';

type NumberedEntry = Entry<number, void>;
const entry = (key: string, bytes: number, write: number, apart = false): NumberedEntry => ({
  key,
  bytes,
  apart,
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

  it('hands out writes that go apart in one transaction at a time, in turn with the others', () => {
    const queue = new WriteQueue<number, void>(1e9);
    for (const index of [0, 1, 2, 3]) queue.add(entry(`heavy-${index}`, 5, index, true));
    for (const index of [4, 5]) queue.add(entry(String(index), 1, index));
    const one = { maxRows: 1, maxBytes: 1e9 };
    const heavy = queue.take(one);
    assert.deepEqual(writesOf(heavy), [0]);
    assert.deepEqual(writesOf(queue.take(one)), [4]);
    assert.deepEqual(writesOf(queue.take(one)), [5]);
    assert.deepEqual(writesOf(queue.take(one)), [], 'three are ready, and one is taken');
    assert.equal(queue.readyRows, 0);
    for (const each of heavy) queue.settle(each);
    assert.deepEqual(writesOf(queue.take(one)), [1]);
  });

  it('takes writes of others when those that go apart have filled their share of the room', () => {
    const queue = new WriteQueue<number, void>(40);
    for (const index of [0, 1, 2, 3]) queue.add(entry(`heavy-${index}`, 8, index, true));
    for (const index of [4, 5, 6]) queue.add(entry(String(index), 10, index));
    assert.equal(queue.bytes, 38);
    assert.deepEqual(writesOf(queue.take(all)), [0]);
    assert.deepEqual(writesOf(queue.take(all)), [4, 5, 6]);
  });

  it('lets no write of a key overtake another, whichever of them goes apart', () => {
    const queue = new WriteQueue<number, void>(8);
    const entries = [entry('a', 2, 1, true), entry('a', 2, 2, true), entry('a', 1, 3), entry('b', 1, 4)];
    for (const each of entries) queue.add(each);
    const seen: number[] = [];
    for (let taken = queue.take(all); taken.length > 0; taken = queue.take(all)) {
      seen.push(...writesOf(taken));
      for (const each of taken) queue.settle(each);
    }
    assert.deepEqual(
      seen.filter((write) => write !== 4),
      [1, 2, 3],
    );
  });

  it('loses nothing, keeps the order of each key and stays below its limit', () => {
    const action = fc.oneof(
      fc.record({
        do: fc.constant('add' as const),
        key: fc.nat(3),
        bytes: fc.integer({ min: 1, max: 5 }),
        apart: fc.boolean(),
      }),
      fc.record({ do: fc.constant('take' as const), rows: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ do: fc.constant('settle' as const), which: fc.nat(5) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const queue = new WriteQueue<number, void>(20);
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
            const one = entry(String(step.key), step.bytes, index, step.apart);
            added.push(one);
            queue.add(one);
          } else if (step.do === 'take') take(step.rows);
          else settle(step.which);
          assert.ok(queue.bytes <= 20);
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
