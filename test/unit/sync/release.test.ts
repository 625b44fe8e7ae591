// An object that other clients change while its finalizer is to come off.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import type { EventReason } from '../../../src/sync/events.ts';
import { LostRaces } from '../../../src/sync/flows/lost-races.ts';
import { ObjectReconciler } from '../../../src/sync/flows/reconciler.ts';
import { MissedDeletes } from '../../../src/sync/startup/missed-deletes.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, deleting, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const KEY = 'a-namespace/a-model';
const UID = aModel().metadata.uid;

/** Another client changes the object before each of its next `changes` patches and deletes. */
class ChangingClient extends FakeKubeClient {
  changes = 0;
  made = 0;

  override patch(...call: Parameters<FakeKubeClient['patch']>): ReturnType<FakeKubeClient['patch']> {
    this.#change();
    return super.patch(...call);
  }

  override delete(...call: Parameters<FakeKubeClient['delete']>): ReturnType<FakeKubeClient['delete']> {
    this.#change();
    return super.delete(...call);
  }

  #change(): void {
    const object = this.object(KEY);
    if (this.changes === 0 || object === undefined) return;
    this.changes -= 1;
    this.made += 1;
    this.put({ ...object, spec: { algorithm: `change-${this.made}` } });
  }
}

function setUp() {
  const client = new ChangingClient();
  const clock = new FakeClock(30 * 86_400_000);
  const storage = new MemoryStorage();
  const events: EventReason[] = [];
  const left = new MissedDeletes();
  left.begin();
  client.onErase = (object) => left.delete(asWatched(object));
  const reconciler = new ObjectReconciler({
    kind: modelKind,
    resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
    getObject: (key) => {
      const object = client.object(key);
      return Promise.resolve(object && asWatched(object));
    },
    ...{ client, clock, storage, logger: new RecordingLogger(), encode: encodeObject, evictImmutableKinds: false },
    // The object is terminating for long, by the clock of this test.
    recordEvent: (_object, reason) => reason === 'TerminatingBlocked' || events.push(reason),
    onFinished: (state) => left.noteFinished(state),
    lastStates: left,
    lostRaces: new LostRaces(clock),
  });
  return { client, clock, storage, events, left, reconcile: () => reconciler.reconcile(KEY) };
}

const again = { kind: 'requeue-after', delayMs: 1000 };

describe('an object that is changed while its finalizer comes off', () => {
  it('is left to the next event of the watch at first', async () => {
    const { client, reconcile } = setUp();
    client.put(aModel());
    client.remove(KEY);
    client.changes = 1;
    assert.deepEqual(await reconcile(), again);
    assert.ok(client.object(KEY) !== undefined);
    assert.deepEqual(await reconcile(), { kind: 'done' });
    assert.equal(client.object(KEY), undefined);
  });

  it('is stored and released in one reconcile once it has lost for some seconds, in exactly the stored state', async () => {
    const { client, clock, storage, events, left, reconcile } = setUp();
    client.put(aModel());
    client.remove(KEY);
    client.changes = Number.POSITIVE_INFINITY;
    await reconcile();
    await clock.advance(2000);
    client.changes = 5;
    assert.deepEqual(await reconcile(), { kind: 'done' });
    assert.equal(client.object(KEY), undefined);
    const row = await storage.getById(modelKind, UID);
    assert.equal(row?.state, 'deleted');
    assert.match(row.json, new RegExp(`change-${client.made}"`));
    assert.deepEqual(events, []);
    assert.deepEqual(left.take(KEY), []);
  });

  it('is released between two changes once it has lost for long, and what it left with is stored and told', async () => {
    const { client, clock, storage, events, reconcile } = setUp();
    client.put(aModel());
    client.remove(KEY);
    client.changes = Number.POSITIVE_INFINITY;
    for (let second = 0; second < 19; second += 1) {
      assert.deepEqual(await reconcile(), again);
      await clock.advance(1000);
    }
    assert.ok(client.object(KEY) !== undefined);
    await clock.advance(1000);
    assert.deepEqual(await reconcile(), { kind: 'done' });
    assert.equal(client.object(KEY), undefined);
    assert.deepEqual(events, ['FinalizerRemovedWhileChanging']);
    const row = await storage.getById(modelKind, UID);
    assert.match(row?.json ?? '', new RegExp(`change-${client.made}"`));
  });

  it('is not released in another state than is stored while one that was has not left yet', async () => {
    const { client, clock, left, reconcile } = setUp();
    client.put(aModel());
    client.remove(KEY);
    client.changes = Number.POSITIVE_INFINITY;
    await reconcile();
    await clock.advance(60_000);
    assert.ok(await left.letGo('another', () => Promise.resolve('leaves')));
    assert.deepEqual(await reconcile(), again);
    assert.ok(client.object(KEY) !== undefined);
    left.delete(asWatched(aModel({ uid: 'another', name: 'another' })));
    assert.deepEqual(await reconcile(), { kind: 'done' });
  });

  it('is deleted by its mark once it has lost for some seconds, and not where the mark was taken off meanwhile', async () => {
    for (const isMarked of [true, false]) {
      const { client, clock, reconcile } = setUp();
      client.put(aModel({ annotations: deleting }));
      client.changes = Number.POSITIVE_INFINITY;
      await reconcile();
      await clock.advance(2000);
      client.changes = 3;
      const get = client.get.bind(client);
      client.get = async (...call) => {
        const object = await get(...call);
        return isMarked ? object : { ...object, metadata: { ...object.metadata, annotations: {} } };
      };
      await reconcile();
      assert.equal(client.object(KEY)?.metadata.deletionTimestamp !== undefined, isMarked);
    }
  });
});
