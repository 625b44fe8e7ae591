// What becomes of rows whose objects leave while their reconcile waits.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KubernetesObject, objectKey } from '../../../src/api/object.ts';
import { createKindGuard } from '../../../src/app/kind-guard.ts';
import { createMetrics } from '../../../src/base/metrics.ts';
import type { ResourceHandler } from '../../../src/kube/handler.ts';
import { IdentityStore } from '../../../src/kube/store.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { done } from '../../../src/runtime/reconcile.ts';
import { toRow } from '../../../src/sync/row.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

function setUp() {
  const handlers: ResourceHandler[] = [];
  const store = new IdentityStore();
  const informer = { store, synced: true, addHandler: (handler: ResourceHandler) => handlers.push(handler) };
  const client = new FakeApiServer();
  client.install('models');
  const storage = new MemoryStorage();
  const guard = createKindGuard(
    {
      kind: modelKind,
      resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
      informer: informer as unknown as Parameters<typeof createKindGuard>[0]['informer'],
      getObject: (key) => Promise.resolve(store.get(key)),
    },
    {
      ...{ client, storage, clock: new FakeClock(), logger: new RecordingLogger(), metrics: createMetrics() },
      configuration: {
        ingester: { evictImmutableKinds: false, kinds: ['Model'] },
        metadataStorage: { tableNames: 'lowercase' },
        audit: { maxVanishedPercent: 20 },
      } as unknown as Parameters<typeof createKindGuard>[1]['configuration'],
      mayMark: () => true,
    },
  );
  guard.begin();
  const appears = (object: KubernetesObject): void => {
    store.set(object);
    for (const handler of handlers) handler.add(object, false);
  };
  const leaves = (object: KubernetesObject): void => {
    store.delete(objectKey(object));
    for (const handler of handlers) handler.delete(object, false);
  };
  const state = async () => (await storage.getById(modelKind, aModel().metadata.uid))?.state;
  return { guard, storage, appears, leaves, state };
}

const live = aModel({ resourceVersion: '5' });
const terminating = aModel({ resourceVersion: '6', deletionTimestamp: '2026-01-03T00:00:00Z' });
const KEY = objectKey(live);

describe('an object that leaves while it waits for its turn', () => {
  it('ends its row where its final state was not stored', async () => {
    const { guard, storage, appears, leaves, state } = setUp();
    await storage.upsert(toRow(modelKind, live, encodeObject));
    appears(terminating);
    // Its finalizer is taken off by hand while the reconcile waits for room, and then finds nothing.
    await guard.around(KEY, () => {
      leaves(terminating);
      return Promise.resolve(done);
    });
    await guard.around(KEY, () => Promise.resolve(done));
    assert.equal(await state(), 'deleted');
  });

  it('needs no more where its final state is stored', async () => {
    const { guard, storage, appears, leaves, state } = setUp();
    await storage.upsert(toRow(modelKind, live, encodeObject));
    appears(terminating);
    await guard.around(KEY, async () => {
      await storage.finish(toRow(modelKind, terminating, encodeObject), new Date());
      guard.noteFinished(terminating.metadata.uid);
      leaves(terminating);
      return done;
    });
    await guard.around(KEY, () => Promise.resolve(done));
    assert.equal(await state(), 'deleted');
    assert.ok(!storage.calls.includes('markVanished'));
  });
});
