// A client that lists and watches, is cut off and goes on, here or at another replica, has in the end what the store has, and never
// sees an object go back: whatever the order in which transactions become visible, however long each takes to.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Change, ChangeLog } from '../../src/query/watch/change-log.ts';
import { type Moment, momentAt, momentOf } from '../../src/query/watch/moments.ts';
import { QueryUnsupportedError, StorageUnavailableError } from '../../src/storage/errors.ts';
import { type ListQuery, MOST_VALUES } from '../../src/storage/list-query.ts';
import type {
  ChangedQuery,
  ChangeReads,
  ListPage,
  StorageReads,
  StoredObject,
} from '../../src/storage/metadata-storage.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { modelKind } from '../support/objects.ts';

const ROWS = 2;
/** The longest that a transaction takes from the time in its row on. */
const LONGEST_MS = 9000;
const STEP_MS = 250;

interface Commit {
  readonly version: number;
  readonly atMs: number;
  readonly visibleMs: number;
}

/** Rows whose changes are dated before they can be seen. */
class SlowStore {
  readonly clock: FakeClock;
  readonly #rows = new Map<string, Commit[]>();
  #version = 0;
  down = false;

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  /** The next writer of a row waits until the one before has committed. */
  commit(key: string, tookMs: number): void {
    const commits = this.#rows.get(key) ?? [];
    const nowMs = this.clock.monotonicMs();
    if ((commits.at(-1)?.visibleMs ?? 0) > nowMs) return;
    this.#version += 1;
    // No two changes of a row have the same time.
    const atMs = Math.max(nowMs, (commits.at(-1)?.atMs ?? 0) + 0.001);
    this.#rows.set(key, [...commits, { version: this.#version, atMs, visibleMs: nowMs + tookMs }]);
  }

  visible(): ReadonlyMap<string, Commit> {
    const nowMs = this.clock.monotonicMs();
    const seen = [...this.#rows].map(
      ([key, commits]) => [key, commits.findLast((one) => one.visibleMs <= nowMs)] as const,
    );
    return new Map(seen.flatMap(([key, commit]) => (commit === undefined ? [] : [[key, commit] as const])));
  }

  until(): ChangeReads & Pick<StorageReads, 'list'> {
    const answer = <T>(work: () => T): Promise<T> =>
      this.down ? Promise.reject(new StorageUnavailableError('down', undefined)) : Promise.resolve(work());
    return {
      changed: (_kind, { since, after, limit }: ChangedQuery) =>
        answer(() =>
          [...this.visible()]
            .map(([key, { atMs }]) => ({ key, updateTime: this.#time(atMs) }))
            .filter(({ key, updateTime }) => {
              if (momentAt(updateTime) < momentAt(since.replace('Z', '000Z'))) return false;
              return after === undefined || `${updateTime} ${key}` > `${after.updateTime} ${after.key}`;
            })
            .sort((left, right) => (`${left.updateTime} ${left.key}` < `${right.updateTime} ${right.key}` ? -1 : 1))
            .slice(0, limit),
        ),
      list: (_kind, { where }: ListQuery) =>
        answer((): ListPage => {
          const asked = where !== undefined && 'values' in where ? where.values : [];
          if (asked.length > MOST_VALUES) throw new QueryUnsupportedError(`${asked.length} values`, []);
          const items = this.#objects().filter(({ uid }) => asked.includes(uid));
          return { items, continue: undefined, total: undefined };
        }),
    };
  }

  #objects(): readonly StoredObject[] {
    return [...this.visible()]
      .sort(([, left], [, right]) => left.atMs - right.atMs)
      .map(([key, { version, atMs }]) => ({
        ...{ uid: key, namespace: 'n', name: key, resourceVersion: String(version), state: 'live' },
        ...{ updateTime: this.#time(atMs), deleteTime: undefined, evictTime: undefined },
        json: JSON.stringify({ metadata: { creationTimestamp: '2026-01-01T00:00:00Z', name: key } }),
        ...{ contentHash: '', proto: new Uint8Array(), labels: {}, annotations: {} },
      }));
  }

  #time(atMs: number): string {
    const micros = String(Math.round((atMs % 1) * 1000)).padStart(3, '0');
    return new Date(Date.UTC(2026, 0, 1) + Math.floor(atMs)).toISOString().replace('Z', `${micros}Z`);
  }
}

class Client {
  readonly #store: SlowStore;
  readonly versions = new Map<string, number>();
  /** Up to where it knows everything, as a list or a bookmark says. */
  moment: Moment | undefined;
  lastVersion: string | undefined;
  #log: ChangeLog | undefined;
  #place = 0;
  #firstNew = 0;
  lists = 0;

  constructor(store: SlowStore) {
    this.#store = store;
  }

  get connected(): boolean {
    return this.#log !== undefined;
  }

  list(): void {
    this.lists += 1;
    this.moment = momentOf(this.#store.clock.now());
    this.versions.clear();
    for (const [key, { version }] of this.#store.visible()) this.versions.set(key, version);
    this.lastVersion = undefined;
  }

  cut(): void {
    this.#log = undefined;
  }

  /** False where it has to list first. */
  goOn(log: ChangeLog): boolean {
    const { lastVersion, moment } = this;
    const place = lastVersion === undefined ? log.placeAfter(moment ?? 0) : log.placeAfterVersion(lastVersion);
    if (place === undefined) return false;
    this.#place = place;
    this.#firstNew = log.end;
    this.#log = log;
    return true;
  }

  read(most: number, bookmarks: boolean): void {
    const log = this.#log;
    if (log === undefined) return;
    const { moment } = log;
    const changes = log.from(this.#place, most);
    if (changes === undefined) {
      this.cut();
      this.moment = 0;
      this.lastVersion = undefined;
      return;
    }
    for (const [index, change] of changes.entries()) this.#take(change, this.#place + index);
    this.#place += changes.length;
    if (!bookmarks || this.#place < log.end) return;
    this.moment = moment;
    this.lastVersion = undefined;
  }

  #take(change: Change, place: number): void {
    if (place < this.#firstNew && change.isSuperseded) return;
    const { uid, resourceVersion } = change.stored;
    assert.ok(Number(resourceVersion) >= (this.versions.get(uid) ?? 0), `${uid} went back to ${resourceVersion}`);
    this.versions.set(uid, Number(resourceVersion));
    this.lastVersion = resourceVersion;
  }
}

type Step =
  | { readonly does: 'commit'; readonly key: number; readonly tookMs: number }
  | { readonly does: 'wait'; readonly steps: number }
  | { readonly does: 'cut' | 'outage' | 'list' }
  | { readonly does: 'read'; readonly most: number; readonly bookmarks: boolean }
  | { readonly does: 'connect'; readonly replica: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('commit'),
      key: fc.nat(ROWS - 1),
      tookMs: fc.oneof(fc.constant(0), fc.nat(LONGEST_MS)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constant('wait'),
      steps: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 20 })),
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('connect'), replica: fc.nat(1) }) },
  {
    weight: 4,
    arbitrary: fc.record({ does: fc.constant('read'), most: fc.integer({ min: 1, max: 5 }), bookmarks: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constantFrom('cut', 'outage', 'list') }) },
) as fc.Arbitrary<Step>;

class World {
  readonly clock = new FakeClock(3_600_000);
  readonly store = new SlowStore(this.clock);
  readonly client = new Client(this.store);
  readonly #mostBytes: number;
  readonly #stop = new AbortController();
  readonly #replicas: ChangeLog[];

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
    this.#replicas = [this.#begin()];
    this.client.list();
  }

  #begin(): ChangeLog {
    const { clock } = this;
    const storage = { until: () => this.store.until() };
    const options = { kind: modelKind, storage, clock, mostBytes: () => this.#mostBytes };
    const log = new ChangeLog(options, momentOf(clock.now()));
    void log.run(this.#stop.signal);
    return log;
  }

  async act(step: Step): Promise<void> {
    const { client, store } = this;
    switch (step.does) {
      case 'commit':
        store.commit(`row-${step.key}`, step.tookMs);
        break;
      case 'wait':
        await this.wait(step.steps);
        break;
      case 'connect':
        await this.connect(step.replica);
        break;
      case 'read':
        client.read(step.most, step.bookmarks);
        break;
      case 'cut':
        client.cut();
        break;
      case 'list':
        if (!client.connected) client.list();
        break;
      case 'outage':
        store.down = !store.down;
        break;
    }
  }

  async wait(steps: number): Promise<void> {
    for (let count = 0; count < steps; count += 1) await this.clock.advance(STEP_MS);
  }

  async #caughtUp(log: ChangeLog, moment: Moment): Promise<void> {
    while (log.moment < moment && !this.store.down) await this.wait(1);
  }

  async connect(replica: number): Promise<void> {
    const { client, clock, store } = this;
    if (client.connected) return;
    const log = (this.#replicas[replica] ??= this.#begin());
    await this.#caughtUp(log, momentOf(clock.now()));
    if (store.down || client.goOn(log)) return;
    // Of a log that keeps less than two seconds of changes, the first list may be too old.
    for (let tries = 1; tries <= 20; tries += 1) {
      client.list();
      await this.#caughtUp(log, client.moment ?? 0);
      if (client.goOn(log)) return;
      await this.wait(1);
    }
    assert.fail('no list is recent enough');
  }

  /** Everything is committed and read, also by a client whose place is gone. */
  async finish(): Promise<void> {
    this.store.down = false;
    await this.wait(Math.ceil((LONGEST_MS + 1000) / STEP_MS));
    for (let tries = 1; tries <= 2; tries += 1) {
      await this.connect(0);
      this.client.read(Number.MAX_SAFE_INTEGER, true);
    }
    this.#stop.abort();
  }
}

async function play(steps: readonly Step[], mostBytes: number): Promise<void> {
  const world = new World(mostBytes);
  for (const one of steps) await world.act(one);
  await world.finish();
  assert.deepEqual(
    [...world.client.versions].sort(),
    [...world.store.visible()].map(([key, { version }]) => [key, version]).sort(),
  );
}

const changedTwiceBeforeTheList: readonly Step[] = [
  { does: 'commit', key: 0, tookMs: 0 },
  { does: 'wait', steps: 1 },
  { does: 'commit', key: 0, tookMs: 0 },
  { does: 'wait', steps: 1 },
  { does: 'list' },
  { does: 'connect', replica: 0 },
  { does: 'read', most: 5, bookmarks: false },
];

describe('the log of changes', () => {
  it('leads a client that is cut off again and again to what the store has, and never back', async () => {
    const sizes = fc.constantFrom(100, 300, 1e6);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), sizes, async (steps, bytes) => play(steps, bytes)),
      { numRuns: 300, examples: [[changedTwiceBeforeTheList, 1e6]] },
    );
  });

  it('shows every change where a thousand are committed at once', async () => {
    const at = (key: number): Step => ({ does: 'commit', key, tookMs: 0 });
    await play([{ does: 'connect', replica: 0 }, ...Array.from({ length: 1000 }, (_, key) => at(key))], 2 ** 24);
  });
});
