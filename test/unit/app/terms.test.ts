// The loops of a kind during terms of a replica, over an API server and a database in memory.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FINALIZER } from '../../../src/api/names.ts';
import { CurrentWork } from '../../../src/app/reconciler/current-work.ts';
import type { Parts } from '../../../src/app/reconciler/kind-loop.ts';
import { createByteBudgets } from '../../../src/app/reconciler/memory.ts';
import { createSyncParts } from '../../../src/app/reconciler/sync-parts.ts';
import { sha256Hex } from '../../../src/base/hash.ts';
import { Watchdog } from '../../../src/base/watchdog.ts';
import { loadConfiguration } from '../../../src/config/load.ts';
import { createMetrics } from '../../../src/metrics/metrics.ts';
import { Manager } from '../../../src/runtime/manager.ts';
import { allBuckets, BUCKETS, bucketOf } from '../../../src/runtime/replicas/buckets.ts';
import { maskedValues } from '../../../src/storage/sensitive.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, aModelRow, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const COUNT = 40;
const even = new Set(allBuckets.filter((bucket) => bucket % 2 === 0));
const odd = new Set(allBuckets.filter((bucket) => bucket % 2 === 1));
const names = Array.from({ length: COUNT }, (_, index) => sha256Hex(`${index}`).slice(0, 36));
/** In these tests the uid of an object is its name, and as random as a uid. */
const inside = (buckets: ReadonlySet<number>) => (name: string) => buckets.has(bucketOf(name));

class World {
  readonly clock = new FakeClock();
  readonly api = new FakeApiServer();
  readonly storage = Object.assign(new MemoryStorage(), {
    serverHistory: () => Promise.resolve({ server: 'one', known: '', missing: '', weak: [], replication: 'alone' }),
  });
  readonly work = new CurrentWork([modelKind]);
  readonly #parts: Parts;

  constructor() {
    this.api.install(modelKind.plural);
    const [clock, logger, metrics] = [this.clock, new RecordingLogger(), createMetrics()];
    const configuration = loadConfiguration({ file: undefined, env: {} });
    const common = { client: this.api, clock, logger, configuration, metrics, sensitive: maskedValues };
    const events = { record: () => undefined };
    const sync = createSyncParts({ ...common, events, storage: this.storage, away: () => undefined });
    void sync.control.run(new AbortController().signal);
    this.#parts = {
      ...{ ...common, events, storage: this.storage, sync, watchdog: new Watchdog({ clock, logger }) },
      ...{ mayMark: () => true, mayAddFinalizer: () => 'yes', mayWork: () => true, share: undefined },
    } as unknown as Parts;
  }

  put(name: string): void {
    this.api.of('models').put(aModel({ name, uid: name, finalizers: [FINALIZER] }));
  }

  /** Without its finalizer, so that it is gone at once. */
  lose(name: string): void {
    this.api.of('models').put(aModel({ name, uid: name, finalizers: [] }));
    this.api.of('models').remove(`a-namespace/${name}`);
  }

  async term(buckets: ReadonlySet<number>, ms: number, meanwhile: () => void = () => undefined): Promise<void> {
    const share = {
      buckets,
      shardSelector: undefined,
      holds: (uid: string) => buckets.has(bucketOf(uid)),
      replicas: () => 1,
    };
    const parts: Parts = { ...this.#parts, byteBudgets: createByteBudgets(), share };
    this.work.begin(parts);
    const manager = new Manager({ clock: this.clock, logger: parts.logger });
    this.work.addTo(manager, parts, { syncs: true, usable: Promise.resolve(undefined) });
    const stop = new AbortController();
    const ended = manager.run(stop.signal);
    await this.clock.advance(ms / 2);
    meanwhile();
    await this.clock.advance(ms / 2);
    stop.abort();
    await this.clock.advance(0);
    await ended;
    this.work.end();
  }

  async state(name: string): Promise<string | undefined> {
    return (await this.storage.getById(modelKind, name))?.state;
  }

  async states(of: readonly string[]): Promise<readonly (string | undefined)[]> {
    return [...new Set(await Promise.all(of.map((name) => this.state(name))))];
  }
}

describe('the loops of a replica', () => {
  it('store the objects of its buckets, and no other, whether they are listed or come later', async () => {
    const world = new World();
    for (const name of names.slice(0, 20)) world.put(name);
    await world.term(even, 4000, () => {
      for (const name of names.slice(20)) world.put(name);
    });
    assert.deepEqual(await world.states(names.filter(inside(even))), ['live']);
    assert.deepEqual(await world.states(names.filter(inside(odd))), [undefined]);
  });

  it('end no row when a term ends, nor one of another replica, whose objects it does not know', async () => {
    const world = new World();
    for (const name of names) {
      world.put(name);
      await world.storage.upsert(aModelRow({ name, uid: name, resourceVersion: '1' }));
    }
    await world.term(even, 4000);
    await world.term(odd, 4000);
    await world.term(even, 4000);
    assert.deepEqual(await world.states(names), ['live']);
  });

  it('end the rows of objects that left while no replica had their bucket', async () => {
    const world = new World();
    for (const name of names) world.put(name);
    await world.term(even, 4000);
    await world.term(odd, 4000);
    const left = [...names.filter(inside(even)).slice(0, 2), ...names.filter(inside(odd)).slice(0, 2)];
    for (const name of left) world.lose(name);
    await world.term(even, 4000);
    assert.deepEqual(await world.states(left.filter(inside(even))), ['deleted']);
    assert.deepEqual(await world.states(left.filter(inside(odd))), ['live'], 'they are for their replica to end');
    await world.term(odd, 4000);
    assert.deepEqual(await world.states(left), ['deleted']);
    assert.deepEqual(await world.states(names.filter((name) => !left.includes(name))), ['live']);
  });

  it('note a position for the kind once each bucket has one', async () => {
    const world = new World();
    for (const name of names) world.put(name);
    await world.term(even, 4000);
    assert.deepEqual(await world.storage.positions(), []);
    await world.term(odd, 4000);
    assert.deepEqual(
      (await world.storage.positions()).map(({ kind }) => kind),
      ['Model'],
    );
    assert.equal(even.size + odd.size, BUCKETS);
  });

  it('know the identities of its own objects only', async () => {
    const world = new World();
    for (const name of names) world.put(name);
    await world.term(even, 4000, () => {
      assert.equal(world.work.loopOf(modelKind)?.informer.store.size, names.filter(inside(even)).length);
    });
  });
});
