import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EVICTION_WITHDRAWN_ANNOTATION, FINALIZER } from '../../../src/api/names.ts';
import type { KubernetesObject, ObjectMeta } from '../../../src/api/object.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import type { DeletionBreaker } from '../../../src/sync/flows/deletion-breaker.ts';
import { ObjectReconciler, type ReconcilerOptions } from '../../../src/sync/flows/reconciler.ts';
import { toRow } from '../../../src/sync/row.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, deleting, immutable, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const KEY = 'a-namespace/a-model';
const UID = aModel().metadata.uid;

function setUp(
  options: Partial<Pick<ReconcilerOptions, 'evictImmutableKinds' | 'mayAddFinalizer' | 'breaker' | 'isWithdrawn'>> = {},
) {
  // After everything that happens to the objects.
  const clock = new FakeClock(30 * 86_400_000);
  const client = new FakeKubeClient();
  const storage = new MemoryStorage();
  const logger = new RecordingLogger();
  const reconciler = new ObjectReconciler({
    kind: modelKind,
    resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
    getObject: (key) => Promise.resolve(asWatched(cached ?? client.object(key))),
    client,
    storage,
    encode: encodeObject,
    evictImmutableKinds: false,
    ...options,
    clock,
    logger,
  });
  let cached: KubernetesObject | undefined;
  return {
    client,
    storage,
    logger,
    reconcile: () => reconciler.reconcile(KEY),
    /** The object left with this state, and no final one is stored. */
    leaveUnsaved: (metadata: Partial<ObjectMeta>) =>
      reconciler.storeLast({ last: asWatched(aModel(metadata)), finished: false }),
    /** Reconciles as often as it takes until nothing changes any more, as the watch would. */
    settle: async () => {
      for (let run = 0; run < 10; run += 1) await reconciler.reconcile(KEY);
    },
    /** Makes the local copy lag behind the API server. */
    freezeCache: () => (cached = client.object(KEY)),
    put: (metadata: Partial<ObjectMeta> = {}, spec: JsonObject = {}) => client.put(aModel(metadata, spec)),
    stored: () => storage.getById(modelKind, UID),
    writes: () => storage.calls.filter((call) => !call.startsWith('get')),
  };
}

const done = { kind: 'done' };

describe('ObjectReconciler', () => {
  it('HandleSync: stores a normal object once', async () => {
    const { put, reconcile, writes, stored, client } = setUp();
    put();
    assert.deepEqual(await reconcile(), done);
    assert.deepEqual(writes(), ['upsert']);
    assert.equal((await stored())?.state, 'live');
    assert.deepEqual(client.calls, []);
  });

  it('HandleDeletion: stores the final state, then removes the finalizer and nothing else', async () => {
    const { put, client, reconcile, writes, stored } = setUp();
    put({ finalizers: ['other/finalizer', FINALIZER] }, { algorithm: 'final' });
    client.remove(KEY);
    assert.deepEqual(await reconcile(), done);
    assert.deepEqual(writes(), ['finish']);
    assert.deepEqual(client.object(KEY)?.metadata.finalizers, ['other/finalizer']);
    const row = await stored();
    assert.equal(row?.state, 'deleted');
    assert.equal(row.deleteTime, '2026-01-03T00:00:00.000000Z');
    assert.match(row.json, /final/);
  });

  it('takes no time of a deletion that the creator of the object made up, counts it for no limit, and ends the object', async () => {
    const counted: string[] = [];
    const breaker = { admit: (uid: string) => (counted.push(uid), undefined) } as unknown as DeletionBreaker;
    for (const finalizers of [[FINALIZER], undefined]) {
      const { put, client, settle, stored } = setUp({ breaker });
      const metadata = { deletionTimestamp: '1999-01-01T00:00:00Z', generation: 1 };
      put(finalizers === undefined ? { ...metadata, finalizers: [] } : { ...metadata, finalizers });
      await settle();
      assert.equal(client.object(KEY), undefined);
      const row = await stored();
      assert.equal(row?.state, 'deleted');
      assert.equal(row.deleteTime, '2026-01-02T03:04:05.000000Z');
    }
    assert.deepEqual(counted, []);
  });

  it('HandleDeletionAnnotation: the row is deleted, and the object goes', async () => {
    const { put, client, settle, stored } = setUp();
    put({ annotations: deleting });
    await settle();
    assert.equal(client.object(KEY), undefined);
    assert.equal((await stored())?.state, 'deleted');
  });

  it('HandleImmutableObject: the row stays, and the object leaves etcd', async () => {
    const { put, client, settle, stored } = setUp();
    put({ annotations: immutable });
    await settle();
    assert.equal(client.object(KEY), undefined);
    const row = await stored();
    assert.equal(row?.state, 'evicted');
    assert.equal(row.deleteTime, undefined);
    assert.ok(client.calls.includes('delete:Orphan'));
  });

  it('ObjectNotFound: does not touch the storage', async () => {
    const { reconcile, storage } = setUp();
    assert.deepEqual(await reconcile(), done);
    assert.deepEqual(storage.calls, []);
  });

  it('keeps the finalizer while the storage is down, and finishes when it is back', async () => {
    const { put, client, storage, reconcile, settle } = setUp();
    put();
    client.remove(KEY);
    storage.down = true;
    await assert.rejects(reconcile(), { code: 'STORAGE_UNAVAILABLE' });
    assert.deepEqual(client.object(KEY)?.metadata.finalizers, [FINALIZER]);
    storage.down = false;
    await settle();
    assert.equal(client.object(KEY), undefined);
  });

  it('removes the finalizer of an object that was never stored, leaving a tombstone', async () => {
    const { put, client, settle, stored } = setUp();
    put();
    client.remove(KEY);
    await settle();
    assert.equal(client.object(KEY), undefined);
    assert.equal((await stored())?.state, 'deleted');
  });

  it('stores the state of an object that left by hand as what its row is to end as, and nothing where the row has ended', async () => {
    const gone = { resourceVersion: '20', deletionTimestamp: '2026-01-03T00:00:00Z', finalizers: [] };
    const outcome = async (before: 'none' | 'upsert' | 'requestEviction' | 'delete', annotations = {}) => {
      const { storage, leaveUnsaved, stored } = setUp();
      if (before !== 'none') await storage[before](toRow(modelKind, aModel(), encodeObject), new Date());
      await leaveUnsaved({ ...gone, annotations });
      const row = await stored();
      return [row?.state, row?.resourceVersion];
    };
    assert.deepEqual(await outcome('none'), ['live', '20']);
    assert.deepEqual(await outcome('upsert'), ['live', '20']);
    assert.deepEqual(await outcome('upsert', immutable), ['evicting', '20']);
    assert.deepEqual(await outcome('requestEviction'), ['evicting', '20']);
    assert.deepEqual(await outcome('delete'), ['deleted', '10']);
  });

  it('says that admission put the finalizer back, and tries again', async () => {
    const { put, client, reconcile } = setUp();
    put();
    client.remove(KEY);
    const patch = client.patch.bind(client);
    client.patch = (ref) => client.get(ref);
    await assert.rejects(reconcile(), { code: 'KUBE_REFUSED', message: /put it back/ });
    client.patch = patch;
    assert.deepEqual(await reconcile(), done);
    assert.equal(client.object(KEY), undefined);
  });

  it('stores later states of an object that another finalizer still holds', async () => {
    const { put, client, settle, stored } = setUp();
    put({ finalizers: [FINALIZER, 'other/finalizer'] });
    client.remove(KEY);
    await settle();
    const held = client.object(KEY);
    assert.ok(held !== undefined);
    client.put({ ...held, status: { last: 'words' } });
    await settle();
    assert.match((await stored())?.json ?? '', /last.*words/);
    assert.equal((await stored())?.state, 'deleted');
  });

  it('does not remove the finalizer from a state it has not stored', async () => {
    const { put, client, freezeCache, reconcile } = setUp();
    put();
    client.remove(KEY);
    freezeCache();
    const newer = client.object(KEY);
    assert.ok(newer !== undefined);
    client.put({ ...newer, status: { changed: 'meanwhile' } });
    assert.deepEqual(await reconcile(), { kind: 'requeue-after', delayMs: 1000 });
    assert.deepEqual(client.object(KEY)?.metadata.finalizers, [FINALIZER]);
  });

  it('does not delete a marked object whose mark was taken off meanwhile, and revives its row', async () => {
    const { put, client, freezeCache, reconcile, stored, storage } = setUp();
    put({ annotations: deleting });
    freezeCache();
    const unmarked = put();
    await reconcile();
    assert.ok(client.object(KEY) !== undefined);
    assert.equal((await stored())?.state, 'deleted');
    const { reconcile: reconcileAgain } = withCache(storage, client, unmarked);
    await reconcileAgain();
    assert.equal((await stored())?.state, 'live');
  });

  it('does not evict an object that changed after it was stored', async () => {
    const { put, client, freezeCache, reconcile, settle } = setUp();
    put({ annotations: immutable });
    freezeCache();
    put({ annotations: immutable }, { algorithm: 'changed' });
    assert.deepEqual(await reconcile(), { kind: 'requeue-after', delayMs: 1000 });
    assert.ok(client.object(KEY) !== undefined);
    await settle();
    assert.equal(client.object(KEY)?.metadata.deletionTimestamp, undefined);
  });

  it('does not evict an object whose row is read back other than it was written', async () => {
    const { put, client, storage, reconcile } = setUp();
    put({ annotations: immutable });
    const read = storage.getById.bind(storage);
    storage.getById = async (...args) => {
      const row = await read(...args);
      return row === undefined ? undefined : { ...row, json: '{"something":"else"}' };
    };
    await assert.rejects(reconcile(), { code: 'ROW_MISMATCH' });
    assert.equal(client.object(KEY)?.metadata.deletionTimestamp, undefined);
  });

  it('counts a deletion by any user as eviction once the intent to evict is stored', async () => {
    const { put, client, reconcile, settle, stored } = setUp();
    put({ annotations: immutable });
    client.failures.push({ call: 'delete:Orphan', error: new KubeError('Unavailable', 'killed here') });
    await assert.rejects(reconcile());
    client.remove(KEY);
    await settle();
    assert.equal(client.object(KEY), undefined);
    assert.equal((await stored())?.state, 'evicted');
  });

  it('takes back an eviction that no rule asks for any more by a new state of the object', async () => {
    const given = setUp({ isWithdrawn: () => true });
    const { put, reconcile, settle, stored, storage, client } = given;
    const object = put();
    await storage.requestEviction(toRow(modelKind, object, encodeObject), new Date());
    await reconcile();
    const touched = client.object(KEY);
    assert.ok(touched?.metadata.annotations?.[EVICTION_WITHDRAWN_ANNOTATION] !== undefined);
    await assert.rejects(
      client.delete(
        {
          resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
          namespace: 'a-namespace',
          name: 'a-model',
        },
        { uid: UID, resourceVersion: object.metadata.resourceVersion },
      ),
    );
    await settle();
    assert.equal((await stored())?.state, 'live');
    assert.equal(client.object(KEY)?.metadata.resourceVersion, touched.metadata.resourceVersion, 'it is touched once');
  });

  it('leaves an object alone whose row is live, and one whose eviction is not withdrawn', async () => {
    for (const isWithdrawn of [true, false]) {
      const { put, settle, stored, storage, client } = setUp({ isWithdrawn: () => isWithdrawn });
      const object = put();
      const row = toRow(modelKind, object, encodeObject);
      await (isWithdrawn ? storage.upsert(row) : storage.requestEviction(row, new Date()));
      await settle();
      assert.equal(client.object(KEY)?.metadata.resourceVersion, object.metadata.resourceVersion);
      assert.equal((await stored())?.state, isWithdrawn ? 'live' : 'evicting');
    }
  });

  it('guards an object that slipped past admission before it deletes or evicts it', async () => {
    for (const annotations of [deleting, immutable]) {
      const { put, client, reconcile, settle, storage } = setUp();
      put({ annotations, finalizers: [] });
      await reconcile();
      assert.deepEqual(client.object(KEY)?.metadata.finalizers, [FINALIZER]);
      assert.deepEqual(storage.calls, []);
      await settle();
      assert.equal(client.object(KEY), undefined);
    }
  });

  it('only copies what is unguarded while the bundle is uninstalled: no reconciler would be left to remove a finalizer', async () => {
    for (const annotations of [deleting, immutable]) {
      const phases: ('unknown' | 'no' | 'yes')[] = ['unknown', 'no', 'yes'];
      const { put, client, reconcile, storage, stored } = setUp({ mayAddFinalizer: () => phases[0] ?? 'yes' });
      put({ annotations, finalizers: [] });
      assert.deepEqual(await reconcile(), { kind: 'requeue-after', delayMs: 500 });
      assert.deepEqual(storage.calls, [], 'before it is known whether an uninstall is under way, nothing is done');
      phases.shift();
      assert.deepEqual(await reconcile(), done);
      assert.deepEqual(client.object(KEY)?.metadata.finalizers, []);
      assert.equal((await stored())?.state, 'live');
      phases.shift();
      await reconcile();
      assert.deepEqual(client.object(KEY)?.metadata.finalizers, [FINALIZER]);
    }
  });

  it('evicts objects of an immutable kind only when told to', async () => {
    const off = setUp();
    off.put();
    await off.settle();
    assert.equal((await off.stored())?.state, 'live');
    const on = setUp({ evictImmutableKinds: true });
    on.put();
    await on.settle();
    assert.equal((await on.stored())?.state, 'evicted');
  });

  it('deletes rather than evicts an object that carries both annotations', async () => {
    const { put, settle, stored } = setUp();
    put({ annotations: { ...deleting, ...immutable } });
    await settle();
    assert.equal((await stored())?.state, 'deleted');
  });

  it('treats an object that went away while it worked as done', async () => {
    const { put, client, freezeCache, reconcile } = setUp();
    put({ finalizers: [] });
    client.remove(KEY);
    put();
    client.remove(KEY);
    freezeCache();
    client.failures.push({ call: 'patch', error: new KubeError('NotFound', 'gone') });
    assert.deepEqual(await reconcile(), done);
  });

  it('waits instead of removing the finalizer where the storage knows a newer state', async () => {
    const { put, client, storage, freezeCache, reconcile } = setUp();
    put();
    client.remove(KEY);
    freezeCache();
    storage.finish = () => Promise.resolve('stale');
    await assert.rejects(reconcile(), { code: 'SYNC_STALE' });
    assert.deepEqual(client.object(KEY)?.metadata.finalizers, [FINALIZER]);
  });

  it('does nothing more when it reconciles the object again', async () => {
    const { put, client, settle, stored } = setUp();
    put({ annotations: immutable, finalizers: [FINALIZER, 'other/finalizer'] });
    await settle();
    const before = { object: client.object(KEY), row: await stored() };
    await settle();
    assert.deepEqual({ object: client.object(KEY), row: await stored() }, before);
  });
});

function withCache(storage: MemoryStorage, client: FakeKubeClient, object: KubernetesObject) {
  const reconciler = new ObjectReconciler({
    kind: modelKind,
    resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
    getObject: () => Promise.resolve(asWatched(object)),
    client,
    storage,
    encode: encodeObject,
    evictImmutableKinds: false,
    clock: new FakeClock(),
    logger: new RecordingLogger(),
  });
  return { reconcile: () => reconciler.reconcile(KEY) };
}
