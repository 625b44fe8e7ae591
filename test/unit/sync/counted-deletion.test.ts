// What the breaker hears of: rows that are newly ended, each once.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../../src/kube/errors.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { DeletionBreaker } from '../../../src/sync/flows/deletion-breaker.ts';
import { ObjectReconciler, type ReconcilerOptions } from '../../../src/sync/flows/reconciler.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, deleting, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

function setUp(perMinute: number, more: Partial<ReconcilerOptions> = {}) {
  const client = new FakeKubeClient();
  const storage = new MemoryStorage();
  const clock = new FakeClock();
  const opened: string[] = [];
  const finished: string[] = [];
  const state = {
    openBecause: () => (opened.length > 0 ? 'is open' : undefined),
    open: ({ kind }: { readonly kind: string }) => opened.push(kind),
    overridden: () => false,
  };
  const limits = { deletionsPerMinute: perMinute, deletionsPercent: 0 };
  const reconciler = new ObjectReconciler({
    kind: modelKind,
    resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
    getObject: (key) => Promise.resolve(asWatched(client.object(key))),
    ...{ client, storage, clock, logger: new RecordingLogger(), encode: encodeObject, evictImmutableKinds: false },
    breaker: new DeletionBreaker({ kind: 'Model', limits, total: () => 1000, state, clock }),
    onFinished: ({ uid }) => finished.push(uid),
    ...more,
  });
  const reconcile = (name: string) => reconciler.reconcile(`a-namespace/${name}`);
  const put = (name: string, metadata: object = {}) => client.put(aModel({ name, uid: name, ...metadata }));
  const remove = (name: string): void => client.remove(`a-namespace/${name}`);
  return { client, storage, clock, opened, finished, reconcile, put, remove };
}

const names = ['a', 'b', 'c', 'd', 'e'];

describe('the deletion breaker in the flows', () => {
  it('counts no deletion while MySQL fails, however many are tried', async () => {
    const { storage, put, remove, reconcile, opened, finished } = setUp(2);
    const finish = storage.finish.bind(storage);
    storage.finish = () => Promise.reject(new KubeError('Unavailable', 'down'));
    for (const name of names) {
      put(name);
      remove(name);
      await assert.rejects(reconcile(name));
    }
    assert.deepEqual([opened, finished], [[], []]);
    storage.finish = finish;
    for (const name of names.slice(0, 2)) await reconcile(name);
    assert.deepEqual([opened, finished], [[], ['a', 'b']]);
  });

  it('counts a marked object once, though its DELETE is refused again and again', async () => {
    const { client, clock, put, reconcile, opened } = setUp(1);
    put('a', { annotations: deleting });
    for (let minute = 0; minute < 3; minute += 1) {
      await clock.advance(61_000);
      client.failures.push({ call: 'delete:default', error: new KubeError('Refused', 'says a policy') });
      await assert.rejects(reconcile('a'), { reason: 'Refused' });
    }
    put('b', { annotations: deleting });
    await reconcile('b');
    assert.deepEqual(opened, []);
  });

  it('counts no deletion whose state came too late', async () => {
    const { storage, put, remove, reconcile, opened, finished } = setUp(1);
    storage.finish = () => Promise.resolve('stale');
    for (const name of names) {
      put(name);
      remove(name);
      await assert.rejects(reconcile(name), { code: 'SYNC_STALE' });
    }
    assert.deepEqual([opened, finished], [[], []]);
  });

  it('reports no finished deletion where the object is gone or held', async () => {
    const { put, remove, reconcile, opened, finished } = setUp(1);
    await reconcile('missing');
    for (const name of ['a', 'b']) {
      put(name);
      remove(name);
      await reconcile(name);
    }
    assert.deepEqual([opened, finished], [['Model'], ['a']]);
  });

  it('holds deletions while MySQL is away too', async () => {
    const outage = { isDue: () => true, keep: () => Promise.resolve(true) };
    const { client, storage, put, remove, reconcile, opened } = setUp(2, { outage });
    storage.down = true;
    const gone: boolean[] = [];
    for (const name of names) {
      put(name);
      remove(name);
      await reconcile(name).catch(() => undefined);
      gone.push(client.object(`a-namespace/${name}`) === undefined);
    }
    assert.deepEqual(gone, [true, true, false, false, false]);
    assert.deepEqual(opened, ['Model']);
  });

  for (const [what, keep] of [
    ['has no room', () => Promise.resolve(false)],
    ['fails', () => Promise.reject(new KubeError('Unavailable', 'scripted'))],
  ] as const) {
    it(`counts no deletion while MySQL is away and the disk ${what} for final states`, async () => {
      const { storage, put, remove, reconcile, opened } = setUp(2, { outage: { isDue: () => true, keep } });
      storage.down = true;
      for (const name of names) {
        put(name);
        remove(name);
        await assert.rejects(reconcile(name));
      }
      assert.deepEqual(opened, []);
    });
  }
});
