// Work begins while the first list of a kind arrives. Whatever happens meanwhile, to objects, pages, MySQL or the process:
// until the list is complete nothing is done but to copy live objects, none of them is read a second time, and in the end
// MySQL has the state of every object and the end of every one that left.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { DELETING_ANNOTATION, IMMUTABLE_ANNOTATION } from '../../src/api/names.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { createLoop, type KindLoop, type Parts } from '../../src/app/reconciler/kind-loop.ts';
import { createSyncParts } from '../../src/app/reconciler/sync-parts.ts';
import { ByteBudget } from '../../src/base/byte-budget.ts';
import { Watchdog } from '../../src/base/watchdog.ts';
import { loadConfiguration } from '../../src/config/load.ts';
import type { KubeClient, ListOptions, ListPage, Resource } from '../../src/kube/client.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { maskedValues } from '../../src/storage/sensitive.ts';
import { FakeApiServer } from '../support/fake-api-server.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { MemoryStorage } from '../support/memory-storage.ts';
import { aModel, kindNamed } from '../support/objects.ts';
import { RecordingLogger } from '../support/recording-logger.ts';

const kind = kindNamed('PipelineRun');
const NAMES = 9;
const PAGE = 2;
/** A faked object counts as 4 KiB. */
const HELD_OBJECTS = 4;

const configuration = loadConfiguration({ file: undefined, env: {} });

type Step = (world: World) => void;

/** One process: an informer and a controller that lead from the beginning. */
class Process {
  readonly loop: KindLoop;
  readonly #stop = new AbortController();
  readonly #finished: Promise<unknown>;

  constructor(world: World) {
    const { clock, storage } = world;
    const logger = new RecordingLogger();
    const metrics = createMetrics();
    const client = world.client;
    const sensitive = maskedValues;
    const events = { record: () => undefined };
    const common = { client, clock, logger, configuration, metrics, sensitive, events };
    const sync = createSyncParts({ ...common, storage, away: () => undefined });
    const held = new ByteBudget(HELD_OBJECTS * 4096);
    const parts = {
      ...{ ...common, storage, sync, byteBudgets: { held, worked: new ByteBudget(2 * 4096) } },
      ...{ watchdog: new Watchdog({ clock, logger }), mayWork: () => !this.#stop.signal.aborted },
      ...{ mayMark: () => true, mayAddFinalizer: () => 'yes' },
    } as unknown as Parts;
    this.loop = createLoop(kind, parts);
    const { signal } = this.#stop;
    this.loop.completeness.begin();
    this.#finished = Promise.all([
      sync.control.run(signal),
      this.loop.informer.run(signal),
      this.loop.completeness.run(this.loop.controller, { asksMysql: true }, signal),
    ]);
  }

  get listed(): boolean {
    return this.loop.informer.synced;
  }

  async end(clock: FakeClock): Promise<void> {
    this.#stop.abort();
    await clock.advance(0);
    await this.#finished;
  }
}

class World {
  readonly clock = new FakeClock();
  readonly storage = new MemoryStorage();
  readonly api = new FakeApiServer();
  readonly objects = this.api.of(kind.plural);
  readonly client: KubeClient;
  /** Pages that were asked for and not answered yet. */
  readonly #asked: ((error?: KubeError) => void)[] = [];
  /** Objects that ever were, by uid. */
  readonly uids = new Set<string>();
  process: Process;
  #open = false;
  #outage = false;
  #seen = { storage: 0, objects: 0 };

  constructor() {
    this.api.install(kind.plural);
    const list = async (resource: Resource, options: ListOptions, signal: AbortSignal): Promise<ListPage> => {
      if (resource.plural !== kind.plural || options.limit === 1) return this.api.list(resource, options);
      if (!this.#open) await this.#answered(signal);
      return this.objects.list(resource, { ...options, limit: PAGE });
    };
    this.client = new Proxy(this.api, {
      get: (target, property) => {
        if (property === 'list') return list;
        const value: unknown = Reflect.get(target, property, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    for (let index = 0; index < NAMES; index += 1) this.put(index, {});
    this.process = new Process(this);
  }

  #answered(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(new KubeError('Unavailable', 'aborted'));
      if (signal.aborted) abort();
      signal.addEventListener('abort', abort, { once: true });
      this.#asked.push((error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  page(error?: KubeError): void {
    this.#asked.shift()?.(error);
  }

  put(index: number, annotations: Readonly<Record<string, string>>): void {
    const name = `run-${index}`;
    const known = this.objects.object(`a-namespace/${name}`);
    if (known?.metadata.deletionTimestamp !== undefined) return;
    const uid = known?.metadata.uid ?? `${name}-${this.uids.size}`;
    this.uids.add(uid);
    this.objects.put({ ...aModel({ name, uid, annotations }), kind: kind.kind });
  }

  delete(index: number): void {
    this.objects.remove(`a-namespace/run-${index}`);
  }

  mysql(down: boolean): void {
    this.storage.down = down;
    if (down) this.#outage = true;
    else this.process.loop.controller.retryFailed();
  }

  async restart(): Promise<void> {
    await this.process.end(this.clock);
    this.#asked.length = 0;
    this.process = new Process(this);
    this.#seen = { storage: this.storage.calls.length, objects: this.objects.calls.length };
  }

  async settle(milliseconds: number): Promise<void> {
    await this.clock.advance(milliseconds);
    for (let turn = 0; turn < 4; turn += 1) await setImmediate();
    this.#assertOnlyCopies();
  }

  #assertOnlyCopies(): void {
    if (this.process.listed) return;
    const written = this.storage.calls.slice(this.#seen.storage).filter((call) => call !== 'identities');
    assert.deepEqual(
      [...new Set(written)].filter((call) => call !== 'upsert'),
      [],
      'rows are only copied',
    );
    const done = new Set(this.objects.calls.slice(this.#seen.objects));
    for (const call of ['patch', 'delete', 'mergePatch'])
      assert.ok(!done.has(call), `${call} before the list is complete`);
    if (!this.#outage) assert.ok(!done.has('get'), 'an object of the list is read again');
  }

  async assertComplete(): Promise<void> {
    this.mysql(false);
    this.#open = true;
    for (let round = 0; round < 12; round += 1) {
      while (this.#asked.length > 0) this.page();
      await this.settle(40_000);
    }
    assert.ok(this.process.listed, 'the list is complete');
    const there = new Map(
      [...Array(NAMES + 1).keys()].flatMap((index) => {
        const object = this.objects.object(`a-namespace/run-${index}`);
        return object === undefined ? [] : [[object.metadata.uid, object] as const];
      }),
    );
    const ended = new Map<string, string | undefined>();
    for (const uid of this.uids) {
      const row = await this.storage.getById(kind, uid);
      const object = there.get(uid);
      if (object === undefined) {
        assert.match(String(row?.state), /^(deleted|evicted)$/, `${uid} left`);
        ended.set(uid, row?.state);
      } else assert.equal(row?.resourceVersion, object.metadata.resourceVersion, `the row of ${uid}`);
    }
    for (const [uid, object] of there) {
      const row = await this.storage.getById(kind, uid);
      assert.equal(row?.state, isRetained(object, ended) ? 'evicting' : 'live', `${uid} is there`);
    }
    await this.process.end(this.clock);
  }
}

/** What was evicted before and came back is stored, but not evicted again (RecreatedAfterEviction). */
function isRetained({ metadata }: KubernetesObject, ended: ReadonlyMap<string, string | undefined>): boolean {
  const wasEvicted = [...ended].some(([uid, state]) => uid.startsWith(`${metadata.name}-`) && state === 'evicted');
  return wasEvicted && metadata.annotations?.[IMMUTABLE_ANNOTATION] === 'true';
}

const index = fc.nat(NAMES);
const objectStep: fc.Arbitrary<Step> = fc.oneof(
  index.map(
    (one): Step =>
      (world) =>
        world.put(one, {}),
  ),
  index.map(
    (one): Step =>
      (world) =>
        world.delete(one),
  ),
  index.map(
    (one): Step =>
      (world) =>
        world.put(one, { [DELETING_ANNOTATION]: 'true' }),
  ),
  index.map(
    (one): Step =>
      (world) =>
        world.put(one, { [IMMUTABLE_ANNOTATION]: 'true' }),
  ),
);
const page = fc.constant<Step>((world) => world.page());
const trouble: fc.Arbitrary<Step> = fc.oneof(
  fc.constant<Step>((world) => world.page(new KubeError('Expired', 'the continue token is too old'))),
  fc.constant<Step>((world) => world.page(new KubeError('Unavailable', '503'))),
  fc.boolean().map(
    (down): Step =>
      (world) =>
        world.mysql(down),
  ),
);
const restart = Symbol('restart');
/** Long enough for a list to lose its patience, and for a failed call to be tried again. */
const patience = Symbol('patience');
const steps = fc.array(
  fc.tuple(
    fc.oneof(
      { weight: 4, arbitrary: objectStep },
      { weight: 5, arbitrary: page },
      { weight: 2, arbitrary: trouble },
      { weight: 1, arbitrary: fc.constant(restart) },
      { weight: 1, arbitrary: fc.constant(patience) },
    ),
    fc.constantFrom(0, 0, 0, 100, 1000),
  ),
  { minLength: 4, maxLength: 40 },
);

describe('the first list of a kind, while objects, pages, MySQL and the leader change', () => {
  it('is only copied from until it is complete, reads no object again, and loses no state and no end', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (script) => {
        const world = new World();
        await world.settle(0);
        for (const [step, waitMs] of script) {
          if (step === restart) await world.restart();
          else if (step === patience) await world.settle(11_000);
          else step(world);
          await world.settle(waitMs);
        }
        await world.assertComplete();
      }),
      { numRuns: 40, endOnFailure: true },
    );
  });
});
