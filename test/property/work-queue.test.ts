// The queue against a naive model: everything in one array, searched from the start each time.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type AddOptions, type Taken, WorkQueue } from '../../src/runtime/work-queue.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';

type Step =
  | { readonly do: 'add'; readonly key: string; readonly afterMs: number; readonly priority: number }
  | { readonly do: 'take' }
  | { readonly do: 'finish'; readonly which: number }
  | { readonly do: 'advance'; readonly ms: number };

const AGING = { afterMs: 40, oneIn: 3 };

const key = fc.constantFrom('a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'c');
// Round numbers, so that keys fall due together; and others.
const afterMs = fc.oneof(fc.constantFrom(0, 0, 20, 20, 40), fc.integer({ min: 1, max: 50 }));
const priority = fc.constantFrom(-100, 0, 0, 5);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('add' as const), key, afterMs, priority }) },
  { weight: 3, arbitrary: fc.constant({ do: 'take' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('finish' as const), which: fc.nat(5) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.integer({ min: 0, max: 60 }) }) },
);

interface Known {
  readonly key: string;
  priority: number;
  /** Undefined: ready. */
  dueMs: number | undefined;
  order: number;
  readySinceMs: number;
}

/** The laws of the queue, as simply as they can be said. */
class NaiveQueue {
  known: Known[] = [];
  readonly held = new Set<string>();
  /** Of namespaces with ready keys, by priority and name: the smallest goes first. */
  readonly #turns = new Map<string, number>();
  #order = 0;
  #sinceAged = 0;

  add(name: string, { afterMs = 0, priority = 0 }: AddOptions, nowMs: number): void {
    const dueMs = afterMs > 0 ? nowMs + afterMs : undefined;
    const entry = this.known.find((known) => known.key === name);
    if (entry === undefined) {
      const added = { key: name, priority, dueMs, order: this.#order++, readySinceMs: nowMs };
      this.known.push(added);
      this.#takeTurn(added);
      return;
    }
    if (priority > entry.priority) {
      const before = entry.priority;
      entry.priority = priority;
      entry.order = this.#order++;
      if (entry.dueMs === undefined) this.#endTurn(before, entry.key);
      this.#takeTurn(entry);
    }
    if (entry.dueMs === undefined) return;
    if (dueMs === undefined) this.#makeReady(entry, nowMs);
    else entry.dueMs = Math.min(entry.dueMs, dueMs);
  }

  advance(toMs: number): void {
    const due = this.known.filter((known) => known.dueMs !== undefined && known.dueMs <= toMs);
    due.sort((left, right) => left.dueMs! - right.dueMs! || right.priority - left.priority || left.order - right.order);
    for (const entry of due) this.#makeReady(entry, entry.dueMs!);
  }

  take(nowMs: number): Taken | undefined {
    const free = this.known.filter((known) => known.dueMs === undefined && !this.held.has(known.key));
    const byLine = free.toSorted(
      (left, right) =>
        right.priority - left.priority || this.#turnOf(left) - this.#turnOf(right) || left.order - right.order,
    );
    const byAge = free.toSorted((left, right) => left.readySinceMs - right.readySinceMs);
    const [oldest] = byAge;
    const isOld = oldest !== undefined && nowMs - oldest.readySinceMs > AGING.afterMs;
    const aged = isOld && this.#sinceAged + 1 >= AGING.oneIn;
    // Which of several that became ready at the same moment is the oldest is not promised.
    const chosen = aged ? oldest : byLine[0];
    if (chosen === undefined) return undefined;
    this.#sinceAged = aged ? 0 : this.#sinceAged + 1;
    this.known = this.known.filter((known) => known !== chosen);
    this.held.add(chosen.key);
    this.#endTurn(chosen.priority, chosen.key);
    return { key: chosen.key, priority: chosen.priority };
  }

  get length(): number {
    return this.known.filter(({ dueMs }) => dueMs === undefined).length;
  }

  #makeReady(entry: Known, nowMs: number): void {
    entry.dueMs = undefined;
    entry.readySinceMs = nowMs;
    entry.order = this.#order++;
    // Last among those of the same moment, as in the order of becoming ready.
    this.known = [...this.known.filter((known) => known !== entry), entry];
    this.#takeTurn(entry);
  }

  #turnOf({ priority, key }: Pick<Known, 'priority' | 'key'>): number {
    return this.#turns.get(`${priority} ${namespaceIn(key)}`) ?? Number.POSITIVE_INFINITY;
  }

  /** Behind all others, unless another key of the namespace has one. */
  #takeTurn({ priority, key, dueMs }: Known): void {
    const name = `${priority} ${namespaceIn(key)}`;
    if (dueMs === undefined && !this.#turns.has(name)) this.#turns.set(name, this.#order++);
  }

  /** One of its keys has left: its next turn is behind all others. */
  #endTurn(priority: number, key: string): void {
    const name = `${priority} ${namespaceIn(key)}`;
    this.#turns.delete(name);
    const others = this.known.filter(
      (known) => known.priority === priority && namespaceIn(known.key) === namespaceIn(key),
    );
    for (const other of others) this.#takeTurn(other);
  }
}

function namespaceIn(key: string): string | undefined {
  return key.split('/').at(-2);
}

/** Runs the steps on both, comparing after each, and then works everything off. */
async function compare(steps: readonly Step[]): Promise<void> {
  const clock = new FakeClock();
  const queue = new WorkQueue(clock, { aging: AGING });
  const model = new NaiveQueue();
  const held: string[] = [];
  const take = async (): Promise<boolean> => {
    const expected = model.take(clock.monotonicMs());
    if (expected === undefined) return false;
    assert.ok(!held.includes(expected.key));
    assert.deepEqual(await queue.get(), expected);
    held.push(expected.key);
    return true;
  };
  const finish = (index: number): void => {
    const [done] = held.splice(index, 1);
    if (done === undefined) return;
    queue.done(done);
    model.held.delete(done);
  };
  const advance = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    model.advance(clock.monotonicMs());
  };
  const act = async (next: Step): Promise<unknown> => {
    switch (next.do) {
      case 'add':
        queue.add(next.key, next);
        model.add(next.key, next, clock.monotonicMs());
        return;
      case 'take':
        return take();
      case 'finish':
        finish(next.which % Math.max(held.length, 1));
        return;
      case 'advance':
        return advance(next.ms);
    }
  };
  for (const next of steps) {
    await act(next);
    assert.equal(queue.length, model.length);
  }
  await advance(100);
  while (held.length > 0) finish(0);
  while (await take()) finish(0);
  assert.deepEqual(model.known, [], 'a key that was added is never lost');
  assert.equal(queue.length, 0);
  assert.equal(clock.pending, 0);
}

/** With workers that wait, which the model has not: never two on a key, none lost. */
async function work(steps: readonly Step[]): Promise<void> {
  const clock = new FakeClock();
  const queue = new WorkQueue(clock, { aging: AGING });
  const held: string[] = [];
  /** Keys with an add that no hand-out has followed yet. */
  const owed = new Set<string>();
  let waiting = 0;
  const take = (): void => {
    waiting += 1;
    void queue.get().then((taken) => {
      waiting -= 1;
      assert.ok(taken !== undefined);
      assert.ok(!held.includes(taken.key), `${taken.key} was handed out while it was held`);
      held.push(taken.key);
      owed.delete(taken.key);
    });
  };
  const finish = (index: number): void => {
    const [done] = held.splice(index, 1);
    if (done !== undefined) queue.done(done);
  };
  for (const next of steps) {
    if (next.do === 'add') {
      owed.add(next.key);
      queue.add(next.key, next);
    } else if (next.do === 'take' && waiting < 3) take();
    else if (next.do === 'finish') finish(next.which % Math.max(held.length, 1));
    else if (next.do === 'advance') await clock.advance(next.ms);
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
  it('TestFuzzPriorityQueue: hands out what the naive model does, by priority, by turns of namespaces, by order and by age', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60 }), compare), { numRuns: 500 });
  });

  it('hands out a key of another namespace after one of each that waits, however many keys of one wait', async () => {
    const many = fc.record({ flood: fc.integer({ min: 1, max: 200 }), others: fc.integer({ min: 0, max: 5 }) });
    await fc.assert(
      fc.asyncProperty(many, async ({ flood, others }) => {
        const queue = new WorkQueue(new FakeClock());
        for (let index = 0; index < flood; index += 1) queue.add(`flood/${index}`);
        for (let index = 0; index < others; index += 1) queue.add(`other-${index}/one`);
        queue.add('last/one');
        for (let turn = 0; turn <= others; turn += 1) assert.notEqual((await queue.get())?.key, 'last/one');
        assert.equal((await queue.get())?.key, 'last/one');
      }),
      { numRuns: 50 },
    );
  });

  it('never hands a key to two workers and never loses one', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), work), { numRuns: 200 });
  });

  it('hands out any key after a bounded number of others, whatever else is added', async () => {
    const low = fc.record({ others: fc.integer({ min: 0, max: 20 }), oneIn: fc.integer({ min: 1, max: 6 }) });
    await fc.assert(
      fc.asyncProperty(low, async ({ others, oneIn }) => {
        const clock = new FakeClock();
        const queue = new WorkQueue(clock, { aging: { afterMs: 10, oneIn } });
        for (let index = 0; index < others; index += 1) queue.add(`old-${index}`, { priority: -50 });
        queue.add('last', { priority: -100 });
        await clock.advance(11);
        const bound = (others + 1) * oneIn;
        for (let turn = 0; ; turn += 1) {
          assert.ok(turn < bound, `not handed out after ${turn} others`);
          queue.add(`urgent-${turn}`);
          const taken = (await queue.get())?.key ?? '';
          queue.done(taken);
          if (taken === 'last') return;
        }
      }),
      { numRuns: 100 },
    );
  });
});
