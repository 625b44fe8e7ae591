// What each flow does beyond the plain case.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FINALIZER, PROPAGATION_ANNOTATION } from '../../../src/api/names.ts';
import type { KubernetesObject, ObjectMeta } from '../../../src/api/object.ts';
import { asWatched, nextArrival } from '../../../src/kube/watched-object.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { DefinitionCheck } from '../../../src/sync/flows/definition-check.ts';
import { EvictionPace } from '../../../src/sync/flows/eviction-pace.ts';
import { FailingObjects } from '../../../src/sync/flows/failing-objects.ts';
import type { UnsavedEnding } from '../../../src/sync/flows/outage-policy.ts';
import { ObjectReconciler, type ReconcilerOptions } from '../../../src/sync/flows/reconciler.ts';
import { toRow } from '../../../src/sync/row.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, deleting, immutable, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const KEY = 'a-namespace/a-model';
const UID = aModel().metadata.uid;
/** The fake API server deletes two days after the fake clock starts. */
const AT_DELETION_MS = 2 * 24 * 3_600_000;
const tracked = { 'argocd.argoproj.io/tracking-id': 'app:michelangelo.api/Model:a-namespace/a-model' };
const helm = { 'meta.helm.sh/release-name': 'a-release' };

function setUp(more: Partial<ReconcilerOptions> = {}) {
  const client = new FakeKubeClient();
  const storage = new MemoryStorage();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const failingObjects = new FailingObjects(clock);
  const events: string[] = [];
  const reconciler = new ObjectReconciler({
    kind: modelKind,
    resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
    getObject: (key) => Promise.resolve(asWatched(client.object(key))),
    ...{ client, storage, clock, logger, failingObjects, encode: encodeObject, evictImmutableKinds: false },
    recordEvent: (_object, reason, note) => events.push(`${reason}: ${note}`),
    ...more,
  });
  const reconcile = () => reconciler.reconcile(KEY);
  return {
    ...{ client, storage, clock, events, failingObjects, reconcile },
    settle: async () => {
      for (let run = 0; run < 10; run += 1) await reconcile();
    },
    put: (metadata: Partial<ObjectMeta> = {}): KubernetesObject => client.put(aModel(metadata)),
    gone: () => client.object(KEY) === undefined,
    state: async (uid = UID) => (await storage.getById(modelKind, uid))?.state,
    told: (reason: string) => events.filter((event) => event.startsWith(reason)),
  };
}

describe('deleting by annotation', () => {
  for (const policy of ['Orphan', 'Background', 'Foreground']) {
    it(`treats dependants as ${policy} where the object asks for it`, async () => {
      const { put, settle, client } = setUp();
      put({ annotations: { ...deleting, [PROPAGATION_ANNOTATION]: policy } });
      await settle();
      assert.ok(client.calls.includes(`delete:${policy}`));
    });
  }

  it('keeps an object whose propagation makes no sense, and says what to correct', async () => {
    const { put, reconcile, client, state, told, failingObjects } = setUp();
    put({ annotations: { ...deleting, [PROPAGATION_ANNOTATION]: 'orphan' } });
    await assert.rejects(reconcile(), { code: 'SYNC_PROPAGATION_INVALID' });
    assert.equal(client.object(KEY)?.metadata.deletionTimestamp, undefined);
    assert.equal(await state(), 'live');
    assert.match(told('PropagationInvalid')[0] ?? '', /Orphan, Background, Foreground/);
    assert.deepEqual(
      failingObjects.list().map(({ name, code }) => [name, code]),
      [['a-model', 'SYNC_PROPAGATION_INVALID']],
    );
  });
});

describe('the finalizer of the garbage collector', () => {
  const leaving = async (skewMs: number) => {
    const parts = setUp();
    parts.put({ annotations: immutable, finalizers: [FINALIZER, 'orphan'] });
    await parts.reconcile();
    await parts.clock.advance(AT_DELETION_MS + skewMs);
    return parts;
  };
  const isOurs = ({ client }: ReturnType<typeof setUp>): boolean =>
    client.object(KEY)?.metadata.finalizers?.includes(FINALIZER) === true;

  it('comes off before ours, which waits with the final state in MySQL', async () => {
    const parts = await leaving(500);
    assert.deepEqual(await parts.reconcile(), { kind: 'requeue-after', delayMs: 9500 });
    assert.equal(await parts.state(), 'evicted');
    assert.ok(isOurs(parts));
  });

  it('is waited for ten seconds at most, and not where the clocks differ', async () => {
    for (const skewMs of [10_000, 3_600_000, -1000]) {
      const parts = await leaving(skewMs);
      await parts.settle();
      assert.equal(isOurs(parts), false, `${skewMs} ms after the deletion`);
    }
  });
});

describe('the deletion delay', () => {
  it('keeps a deleted object in etcd for a while, with its final state in MySQL at once', async () => {
    const { put, client, clock, reconcile, gone, state } = setUp({ deletionDelayMs: 60_000 });
    put();
    client.remove(KEY);
    await clock.advance(AT_DELETION_MS + 20_000);
    assert.deepEqual(await reconcile(), { kind: 'requeue-after', delayMs: 40_000 });
    assert.equal(await state(), 'deleted');
    await clock.advance(40_000);
    await reconcile();
    assert.equal(gone(), true);
  });

  it('does not hold an object that was deleted by annotation, or evicted', async () => {
    for (const annotations of [deleting, immutable]) {
      const { put, settle, gone } = setUp({ deletionDelayMs: 1e9 });
      put({ annotations });
      await settle();
      assert.equal(gone(), true);
    }
  });

  it('does not hold an object that an eviction rule has chosen', async () => {
    const { put, settle, gone } = setUp({ deletionDelayMs: 1e9, chosenBy: () => 'a rule' });
    put();
    await settle();
    assert.equal(gone(), true);
  });
});

describe('eviction and GitOps', () => {
  it('archives an object that GitOps owns and keeps it in etcd, saying why', async () => {
    const { put, settle, gone, state, told, client } = setUp();
    put({ annotations: { ...immutable, ...tracked } });
    await settle();
    assert.equal(gone(), false);
    assert.equal(await state(), 'evicting');
    assert.ok(!client.calls.some((call) => call.startsWith('delete')));
    assert.match(told('Retained')[0] ?? '', /Argo CD application "app" would create it again/);
  });

  it('lets an archived object leave etcd when its manifest is marked as skipped, or a user allows the eviction', async () => {
    for (const mark of [{ 'argocd.argoproj.io/hook': 'Skip' }, { 'michelangelo/Eviction': 'Allow' }]) {
      const { put, settle, gone, state } = setUp();
      put({ annotations: { ...immutable, ...tracked, ...mark } });
      await settle();
      assert.equal(gone(), true);
      assert.equal(await state(), 'evicted');
    }
  });

  it('a prune of an archived object archives it, unless the setting says that it deletes', async () => {
    for (const [pruneArchived, expected] of [
      ['archive', 'evicted'],
      ['delete', 'deleted'],
    ] as const) {
      const { put, settle, client, state } = setUp({ pruneArchived });
      put({ annotations: { ...immutable, ...helm } });
      await settle();
      client.remove(KEY);
      await settle();
      assert.equal(await state(), expected);
    }
  });

  it('leaves an evicted object deleted that a user deleted in MySQL while the finalizers of others still held it', async () => {
    const { put, settle, client, storage, state } = setUp();
    put({ annotations: immutable, finalizers: [FINALIZER, 'other/one'] });
    await settle();
    assert.equal(await state(), 'evicted');
    await storage.deleteCollection(modelKind, { namespace: 'a-namespace', states: ['evicted'] }, new Date());
    client.put({ ...client.object(KEY), spec: { algorithm: 'changed late' } } as KubernetesObject);
    await settle();
    assert.equal(await state(), 'deleted');
    assert.match((await storage.getById(modelKind, UID))?.json ?? '', /changed late/);
  });

  it('archives an immutable object that is deleted before any reconcile of it', async () => {
    const { put, settle, client, state } = setUp();
    put({ annotations: immutable });
    client.remove(KEY);
    await settle();
    assert.equal(await state(), 'evicted');
  });

  it('keeps an object that a client created again after its eviction, so that the two do not fight', async () => {
    const { put, settle, gone, state, told } = setUp();
    put({ annotations: immutable });
    await settle();
    assert.equal(gone(), true);
    put({ annotations: immutable, uid: 'again' });
    await settle();
    assert.equal(gone(), false);
    assert.equal(await state(), 'evicted');
    assert.equal(await state('again'), 'evicting');
    assert.match(told('RecreatedAfterEviction')[0] ?? '', new RegExp(UID));
  });

  it('does not take a deleted object of the same name for an eviction that was undone', async () => {
    const { put, settle, client, gone } = setUp();
    put();
    client.remove(KEY);
    await settle();
    put({ annotations: immutable, uid: 'again' });
    await settle();
    assert.equal(gone(), true);
  });

  it('waits for the pace of evictions, and evicts nothing while they are paused', async () => {
    const clock = new FakeClock();
    let paused = true;
    const pace = new EvictionPace({ perSecond: 1, paused: () => paused, clock });
    const { put, reconcile, state, gone, settle } = setUp({ pace });
    pace.waitMs('another-uid');
    put({ annotations: immutable });
    assert.equal((await reconcile()).kind, 'requeue-after');
    assert.equal(await state(), 'live');
    paused = false;
    assert.deepEqual(await reconcile(), { kind: 'requeue-after', delayMs: 1000 });
    assert.equal(gone(), false);
    await clock.advance(1000);
    await settle();
    assert.equal(gone(), true);
  });
});

describe('the removal of a definition', () => {
  const checkOf = (client: FakeKubeClient) =>
    new DefinitionCheck({ client, definition: 'models.michelangelo.api', logger: new RecordingLogger() });
  const definition = (metadata: Partial<ObjectMeta>): KubernetesObject => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { ...aModel().metadata, namespace: '', name: 'models.michelangelo.api', ...metadata },
  });

  it('removes finalizers without marking the rows as deleted', async () => {
    const definitions = new FakeKubeClient();
    definitions.put(definition({ deletionTimestamp: '2026-01-03T00:00:00Z' }));
    const { put, client, settle, gone, state, told } = setUp({ definitions: checkOf(definitions) });
    put();
    client.remove(KEY);
    await settle();
    assert.equal(gone(), true);
    assert.equal(await state(), 'evicted');
    assert.equal(told('FinalizerRemovedWithDefinition').length, 1);
  });

  it('deletes an object that a user marked for deletion all the same', async () => {
    const definitions = new FakeKubeClient();
    definitions.put(definition({}));
    const { put, settle, state } = setUp({ definitions: checkOf(definitions) });
    put({ annotations: deleting });
    await settle();
    assert.equal(await state(), 'deleted');
  });

  it('looks at the definition again for every object, but once for all objects that wait', async () => {
    const definitions = new FakeKubeClient();
    definitions.put(definition({}));
    const check = checkOf(definitions);
    const first = check.isBeingRemoved(nextArrival());
    const waiting = [nextArrival(), nextArrival(), nextArrival()].map((arrival) => check.isBeingRemoved(arrival));
    definitions.put(definition({ deletionTimestamp: '2026-01-03T00:00:00Z' }));
    await first;
    assert.deepEqual(await Promise.all(waiting), [true, true, true]);
    assert.equal(definitions.calls.length, 2);
  });

  it('is not looked at for an object that had arrived as deleted before the definition was seen to stay', async () => {
    const definitions = new FakeKubeClient();
    definitions.put(definition({}));
    const check = checkOf(definitions);
    const early = [nextArrival(), nextArrival()];
    assert.equal(await check.isBeingRemoved(nextArrival()), false);
    const later = nextArrival();
    definitions.put(definition({ deletionTimestamp: '2026-01-03T00:00:00Z' }));
    assert.deepEqual(await Promise.all(early.map((arrival) => check.isBeingRemoved(arrival))), [false, false]);
    assert.equal(definitions.calls.length, 1);
    assert.equal(await check.isBeingRemoved(later), true);
    assert.equal(await check.isBeingRemoved(later), true);
    assert.equal(definitions.calls.length, 3, 'one that goes may be put back, so it is looked at again');
  });
});

describe('an object that stays', () => {
  it('gets an event that names the finalizers of others, after a minute', async () => {
    const { put, client, clock, reconcile, told } = setUp();
    put({ finalizers: [FINALIZER, 'other/one'] });
    client.remove(KEY);
    await clock.advance(AT_DELETION_MS);
    await reconcile();
    const again = await reconcile();
    assert.deepEqual(again, { kind: 'requeue-after', delayMs: 60_000 });
    assert.deepEqual(told('TerminatingBlocked'), []);
    await clock.advance(60_000);
    assert.deepEqual(await reconcile(), { kind: 'done' });
    assert.match(told('TerminatingBlocked')[0] ?? '', /waits for: other\/one/);
  });

  it('gets an event that says MySQL is away and not where it is, and is listed with the error and since when', async () => {
    const { put, client, clock, storage, reconcile, told, failingObjects, settle } = setUp();
    put();
    client.remove(KEY);
    storage.down = true;
    await assert.rejects(reconcile());
    assert.deepEqual(told('TerminatingBlocked'), []);
    await clock.advance(AT_DELETION_MS + 61_000);
    await assert.rejects(reconcile());
    assert.match(told('TerminatingBlocked')[0] ?? '', /: The reconciler cannot use MySQL now\./);
    const [failing] = failingObjects.list();
    assert.deepEqual([failing?.since, failing?.attempts], ['2026-01-01T00:00:00.000Z', 2]);
    storage.down = false;
    await settle();
    assert.equal(failingObjects.count, 0);
  });

  it('loses its finalizer where the owner wants that, once its final state is on disk', async () => {
    const kept: UnsavedEnding[] = [];
    let due = false;
    let room = false;
    const outage = {
      isDue: () => due,
      keep: (unsaved: UnsavedEnding) => {
        if (room) kept.push(unsaved);
        return Promise.resolve(room);
      },
    };
    const { put, client, storage, reconcile, gone, told } = setUp({ outage });
    put();
    client.remove(KEY);
    storage.down = true;
    await assert.rejects(reconcile(), { code: 'STORAGE_UNAVAILABLE' });
    due = true;
    await assert.rejects(reconcile(), { code: 'STORAGE_UNAVAILABLE' }, 'no room on disk');
    assert.equal(gone(), false);
    room = true;
    await reconcile();
    assert.equal(gone(), true);
    assert.deepEqual(
      kept.map(({ object, ending }) => [object.metadata.uid, ending]),
      [[UID, 'as-recorded']],
    );
    assert.equal(told('FinalizerRemovedToSpool').length, 1);
  });

  it('never loses its finalizer because a gate is closed', async () => {
    const outage = { isDue: () => true, keep: () => Promise.resolve(true) };
    const { put, client, storage, reconcile, gone } = setUp({ outage });
    put();
    client.remove(KEY);
    await storage.closeGate('a migration');
    await assert.rejects(reconcile(), { code: 'STORAGE_GATE_CLOSED' });
    assert.equal(gone(), false);
  });
});

describe('names of objects that leave', () => {
  function tombstonesOf(calls: () => readonly string[]) {
    const told: { end: string; afterDelete: boolean; finalizerOff: boolean }[] = [];
    const add = (_kind: unknown, object: KubernetesObject, end: string): Promise<void> => {
      const gone = calls().filter((call) => call.startsWith('delete:')).length > 0;
      told.push({ end, afterDelete: gone, finalizerOff: !(object.metadata.finalizers ?? []).includes(FINALIZER) });
      return Promise.resolve();
    };
    return { told, add };
  }

  it('are written down as evicted before the object is deleted from etcd', async () => {
    let calls: readonly string[] = [];
    const tombstones = tombstonesOf(() => calls);
    const { put, settle, client, gone } = setUp({ tombstones });
    calls = client.calls;
    put({ annotations: immutable });
    await settle();
    assert.ok(gone());
    assert.deepEqual(tombstones.told[0], { end: 'evicted', afterDelete: false, finalizerOff: false });
    assert.deepEqual(new Set(tombstones.told.map(({ end }) => end)), new Set(['evicted']));
  });

  it('are written down as deleted before the finalizer comes off', async () => {
    let calls: readonly string[] = [];
    const tombstones = tombstonesOf(() => calls);
    const { put, settle, client, gone } = setUp({ tombstones });
    calls = client.calls;
    put();
    await settle();
    client.remove(KEY);
    await settle();
    assert.ok(gone());
    assert.deepEqual(tombstones.told, [{ end: 'deleted', afterDelete: false, finalizerOff: false }]);
  });

  it('are written down as evicted where only the row has the intent to evict', async () => {
    let calls: readonly string[] = [];
    const tombstones = tombstonesOf(() => calls);
    const { put, settle, client, storage } = setUp({ tombstones });
    calls = client.calls;
    const object = put();
    await storage.requestEviction(toRow(modelKind, object, encodeObject), new Date());
    client.remove(KEY);
    await settle();
    assert.deepEqual(
      tombstones.told.map(({ end }) => end),
      ['evicted'],
    );
  });
});
