// What becomes of rows whose objects leave while their reconcile waits.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KubernetesObject, objectKey } from '../../../src/api/object.ts';
import type { HandlerRegistration, ResourceHandler } from '../../../src/kube/handler.ts';
import { IdentityStore } from '../../../src/kube/store.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { done } from '../../../src/runtime/reconcile.ts';
import { toRow } from '../../../src/sync/row.ts';
import { Completeness } from '../../../src/sync/startup/completeness.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

function setUp() {
  const handlers: ResourceHandler[] = [];
  const store = new IdentityStore();
  const addHandler = (handler: ResourceHandler): HandlerRegistration => {
    handlers.push(handler);
    return { synced: true, remove: () => undefined };
  };
  const informer = { store, synced: true, addHandler };
  const client = new FakeApiServer();
  client.install('models');
  const storage = new MemoryStorage();
  const completeness = new Completeness({
    ...{ kind: modelKind, resource, kinds: [{ kind: modelKind, resource }], client, storage },
    ...{ informer, clock: new FakeClock(), logger: new RecordingLogger() },
    evictsAll: false,
    limits: { maxPercent: 20 },
    mayMark: () => true,
    onMissedDeletes: () => undefined,
  });
  completeness.begin();
  const appears = (object: KubernetesObject): void => {
    const watched = asWatched(object);
    store.set(watched);
    for (const handler of handlers) handler.add(watched, false);
  };
  const leaves = (object: KubernetesObject): void => {
    store.delete(objectKey(object));
    for (const handler of handlers) handler.delete(asWatched(object), false);
  };
  const state = async () => (await storage.getById(modelKind, aModel().metadata.uid))?.state;
  return { completeness, storage, appears, leaves, state };
}

const live = aModel({ resourceVersion: '5' });
const terminating = aModel({ resourceVersion: '6', deletionTimestamp: '2026-01-03T00:00:00Z' });
const KEY = objectKey(live);

describe('an object that leaves while it waits for its turn', () => {
  it('ends its row where its final state was not stored', async () => {
    const { completeness, storage, appears, leaves, state } = setUp();
    await storage.upsert(toRow(modelKind, live, encodeObject));
    appears(terminating);
    // Its finalizer is taken off by hand while the reconcile waits for room, and then finds nothing.
    await completeness.afterMissedDeletes(KEY, () => {
      leaves(terminating);
      return Promise.resolve(done);
    });
    await completeness.afterMissedDeletes(KEY, () => Promise.resolve(done));
    assert.equal(await state(), 'deleted');
  });

  it('needs no more where its final state is stored', async () => {
    const { completeness, storage, appears, leaves, state } = setUp();
    await storage.upsert(toRow(modelKind, live, encodeObject));
    appears(terminating);
    await completeness.afterMissedDeletes(KEY, async () => {
      await storage.finish(toRow(modelKind, terminating, encodeObject), new Date());
      completeness.noteFinished(terminating.metadata.uid);
      leaves(terminating);
      return done;
    });
    await completeness.afterMissedDeletes(KEY, () => Promise.resolve(done));
    assert.equal(await state(), 'deleted');
    assert.ok(!storage.calls.includes('markMissedDelete'));
  });
});
