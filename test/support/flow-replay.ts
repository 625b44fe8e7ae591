// Replays a trace of the flow model on the program's own flows, call by call, over the fake API server and the in-memory
// storage that contract suites hold to the real ones. After every move both sides must hold the same.
import assert from 'node:assert/strict';
import { DELETING_ANNOTATION, FINALIZER, IMMUTABLE_ANNOTATION } from '../../src/api/names.ts';
import { hasFinalizer, isMarkedDeleting, isMarkedImmutable, type KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { JsonPatch, KubeClient } from '../../src/kube/client.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { asWatched } from '../../src/kube/watched-object.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import { StorageUnavailableError } from '../../src/storage/errors.ts';
import type { MetadataStorage } from '../../src/storage/metadata-storage.ts';
import { FinalizerSweep } from '../../src/sync/flows/finalizer-sweep.ts';
import { ObjectReconciler } from '../../src/sync/flows/reconciler.ts';
import { confirmMissedDeletes, markMissedDeletes } from '../../src/sync/startup/mark-missed-deletes.ts';
import { FakeApiServer } from './fake-api-server.ts';
import {
  type Actor,
  after,
  type Call,
  type Fault,
  type Model,
  type ModelObject,
  type Move,
  type Wish,
} from './flow-model.ts';
import { MemoryStorage } from './memory-storage.ts';
import { kindNamed } from './objects.ts';
import { RecordingLogger } from './recording-logger.ts';

const kind = kindNamed('RayJob');
const resource = { group: 'michelangelo.api', version: 'v2', plural: kind.plural };
const ref = { resource, namespace: 'a-namespace', name: 'an-object' };
const KEY = `${ref.namespace}/${ref.name}`;

/** As which call of a port each call of the model is seen. */
const portCalls: Readonly<Record<Call, string>> = {
  upsert: 'upsert',
  finish: 'finish',
  'finish, evicted': 'finish',
  'delete row': 'delete',
  'delete row, marked': 'delete',
  'look up': 'getById',
  'request eviction, deleting': 'requestEviction',
  'request eviction': 'requestEviction',
  'look up intent': 'getById',
  withdraw: 'mergePatch',
  history: 'incarnations',
  'prove intent': 'getById',
  'prove end': 'getById',
  'finalizer on': 'PATCH on',
  'finalizer off': 'PATCH off',
  delete: 'DELETE',
  confirm: 'GET',
  'mark missed delete': 'markMissedDelete',
};

/** The moves in order, from the model's initial state; throws where the program does anything else than the model. */
export async function replay(start: Model, moves: readonly Move[]): Promise<void> {
  const world = new World(start);
  let model = start;
  for (const move of moves) {
    await world.make(move);
    model = after(model, move);
    await world.assertSame(model);
  }
}

class World {
  readonly #api = new FakeApiServer();
  readonly #storage = new MemoryStorage();
  readonly #actors = new Map<Actor, Run>();
  #edits = 0;
  #rule: boolean;
  #before: KubernetesObject | undefined;
  #now: KubernetesObject | undefined;
  /** In the order of their creation. */
  readonly #uids: string[] = [];
  /** Version of the model → resourceVersion. */
  readonly #versions = new Map<number, string>();

  constructor({ rule }: Pick<Model, 'rule'>) {
    this.#rule = rule;
    this.#api.install(kind.plural);
  }

  async make(move: Move): Promise<void> {
    if (move.by === 'user') await this.#wish(move.wish);
    else if (move.does === 'read' || move.does === 'read late') await this.#start(move.by, move.does === 'read late');
    else await this.#actors.get(move.by)?.goOn((move as { readonly fault?: Fault }).fault);
    const object = this.#api.of(kind.plural).object(KEY);
    if (object !== this.#now) [this.#before, this.#now] = [this.#now, object];
  }

  async assertSame(model: Model): Promise<void> {
    this.#learn(model);
    assert.deepEqual(this.#object(this.#now), this.#expected(model.object), 'the object in etcd');
    for (const [index, uid] of this.#uids.entries()) {
      const wanted = model.rows.find(([each]) => each === index + 1)?.[1];
      const expected = wanted && { state: wanted.state, version: this.#versions.get(wanted.version) };
      assert.deepEqual(await this.#row(uid), expected, 'the row');
    }
    for (const [actor, run] of this.#actors) {
      const call = model.pending[actor]?.call;
      assert.equal(run.waitsFor, call === undefined ? undefined : portCalls[call], `the next call of ${actor}`);
    }
  }

  #learn({ object }: Model): void {
    if (object === undefined || this.#now === undefined) return;
    if (this.#uids.length < object.uid) this.#uids.push(this.#now.metadata.uid);
    if (!this.#versions.has(object.version)) this.#versions.set(object.version, this.#now.metadata.resourceVersion);
  }

  #object(object: KubernetesObject | undefined): object | undefined {
    if (object === undefined) return undefined;
    const { uid, resourceVersion, deletionTimestamp } = object.metadata;
    return {
      ...{ uid, resourceVersion, guarded: hasFinalizer(object), deleting: deletionTimestamp !== undefined },
      ...{ marked: isMarkedDeleting(object), immutable: isMarkedImmutable(object) },
    };
  }

  #expected(object: ModelObject | undefined): object | undefined {
    if (object === undefined) return undefined;
    const { uid, version, guarded, deleting, marked, immutable } = object;
    const identity = { uid: this.#uids[uid - 1], resourceVersion: this.#versions.get(version) };
    return { ...identity, guarded, deleting, marked, immutable };
  }

  async #row(uid: string): Promise<object | undefined> {
    const row = await this.#storage.getById(kind, uid);
    return row && { state: row.state, version: row.resourceVersion };
  }

  async #wish(wish: Wish): Promise<void> {
    await this.#wishes[wish]();
  }

  readonly #wishes: Readonly<Record<Wish, () => Promise<unknown>>> = {
    create: () => this.#create([FINALIZER]),
    'create unguarded': () => this.#create([]),
    edit: () => {
      this.#edits += 1;
      return this.#api.mergePatch(ref, { spec: { entrypoint: `edit ${this.#edits}` } });
    },
    delete: () => this.#api.delete(ref, {}),
    strip: () => this.#api.patch(ref, [{ op: 'remove', path: '/metadata/finalizers' }]),
    mark: () => this.#annotate(DELETING_ANNOTATION, 'true'),
    unmark: () => this.#annotate(DELETING_ANNOTATION, null),
    archive: () => this.#annotate(IMMUTABLE_ANNOTATION, 'true'),
    unarchive: () => this.#annotate(IMMUTABLE_ANNOTATION, null),
    'withdraw rule': () => Promise.resolve((this.#rule = false)),
  };

  #annotate(name: string, value: string | null): Promise<unknown> {
    return this.#api.mergePatch(ref, { metadata: { annotations: { [name]: value } } });
  }

  #create(finalizers: readonly string[]): Promise<unknown> {
    const metadata = { namespace: ref.namespace, name: ref.name, annotations: {}, finalizers };
    const manifest = { apiVersion: 'michelangelo.api/v2', kind: kind.kind, metadata, spec: { entrypoint: 'first' } };
    return this.#api.create(resource, ref.namespace, manifest);
  }

  async #start(actor: Actor, late: boolean): Promise<void> {
    const read = late ? this.#before : this.#now;
    const run = new Run(this.#api, this.#storage);
    this.#actors.set(actor, run);
    await run.begin(() => this.#work(actor, run, read));
  }

  #work(actor: Actor, { client, storage }: Run, read: KubernetesObject | undefined): Promise<unknown> {
    const logger = new RecordingLogger();
    const getObject = () => Promise.resolve(asWatched(read));
    switch (actor) {
      case 'first':
      case 'second': {
        const parts = { kind, resource, client, storage, encode: encodeObject, clock: systemClock, logger };
        const chosen = this.#rule;
        const rules = { chosenBy: () => (chosen ? 'a rule' : undefined), isWithdrawn: () => !chosen };
        return new ObjectReconciler({ ...parts, ...rules, getObject, evictImmutableKinds: false }).reconcile(KEY);
      }
      case 'sweep': {
        const parts = { kind, clock: systemClock, resource, client, getObject, logger, onAdded: () => undefined };
        const finalizerSweep = new FinalizerSweep({
          ...parts,
          mayAddFinalizer: () => 'yes',
          pace: () => Promise.resolve(),
        });
        return finalizerSweep.reconcile(KEY, { signal: new AbortController().signal });
      }
      case 'audit':
        return this.#audit(client, storage);
    }
  }

  /** The first row whose object is missing, as the comparison with the list finds it. */
  async #audit(client: KubeClient, storage: MetadataStorage): Promise<void> {
    const states = ['live', 'evicting'] as const;
    const rows = await this.#storage.identities(kind, { states, limit: 10 });
    const missing = this.#uids
      .map((uid) => rows.find((row) => row.uid === uid && uid !== this.#now?.metadata.uid))
      .filter((row) => row !== undefined);
    const candidates = missing.slice(0, 1);
    const context = { kind, resource, kinds: [{ kind, resource }], client, storage, clock: systemClock };
    await markMissedDeletes(context, await confirmMissedDeletes(context, candidates), 'missing');
  }
}

/** One reconcile over ports whose every call waits until it is told to go on. */
class Run {
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  /** The call it has come to; undefined once the reconcile has ended. */
  waitsFor: string | undefined;
  #go: (fault: Fault | undefined) => void = () => undefined;
  #arrived: () => void = () => undefined;

  constructor(client: KubeClient, storage: MetadataStorage) {
    this.client = this.#gated(client, nameOfKubeCall, () => new KubeError('Unavailable', 'scripted'));
    this.storage = this.#gated(
      storage,
      (method) => method,
      () => new StorageUnavailableError('scripted', undefined),
    );
  }

  begin(work: () => Promise<unknown>): Promise<void> {
    return this.#untilArrival(() => {
      const ended = (): void => {
        this.waitsFor = undefined;
        this.#arrived();
      };
      work().then(ended, ended);
    });
  }

  goOn(fault: Fault | undefined): Promise<void> {
    return this.#untilArrival(() => this.#go(fault));
  }

  #untilArrival(act: () => void): Promise<void> {
    return new Promise((resolve) => {
      this.#arrived = resolve;
      act();
    });
  }

  #gated<T extends object>(
    port: T,
    nameOf: (method: string, args: readonly unknown[]) => string | undefined,
    lost: () => Error,
  ): T {
    return new Proxy(port, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        const method = value.bind(target) as (...args: readonly unknown[]) => Promise<unknown>;
        return async (...args: readonly unknown[]) => {
          const name = nameOf(String(property), args);
          if (name === undefined) return method(...args);
          const fault = await this.#told(name);
          if (fault === 'fails') throw lost();
          const answer = method(...args);
          if (fault === undefined) return answer;
          await answer.then(undefined, () => undefined);
          throw lost();
        };
      },
    });
  }

  #told(name: string): Promise<Fault | undefined> {
    return new Promise((resolve) => {
      this.waitsFor = name;
      this.#go = resolve;
      this.#arrived();
    });
  }
}

/** Undefined for what the model does not see: whether the definition is there. */
function nameOfKubeCall(method: string, args: readonly unknown[]): string | undefined {
  switch (method) {
    case 'list':
      return undefined;
    case 'get':
      return 'GET';
    case 'delete':
      return 'DELETE';
    case 'patch':
      return `PATCH ${(args[1] as JsonPatch).some(({ op }) => op === 'remove') ? 'off' : 'on'}`;
    default:
      return method;
  }
}
