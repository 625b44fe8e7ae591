// What becomes of rows whose objects leave while their reconcile waits.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KubernetesObject, objectKey } from '../../../src/api/object.ts';
import type { HandlerRegistration, ResourceHandler } from '../../../src/kube/handler.ts';
import { IdentityStore } from '../../../src/kube/store.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { done, type ReconcileResult } from '../../../src/runtime/reconcile.ts';
import { RowRefusedError } from '../../../src/storage/errors.ts';
import { toRow } from '../../../src/sync/row.ts';
import { Completeness } from '../../../src/sync/startup/completeness.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, aModelRow, immutable, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

function setUp({ evictsAll = false, refuses = '' } = {}) {
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
    evictsAll,
    limits: { maxPercent: 20 },
    storageWentBackAt: () => Promise.resolve(undefined),
    mayMark: () => true,
    storeLast: async ({ last, finished }) => {
      const row = toRow(modelKind, last.parse(), encodeObject);
      if (refuses !== '' && row.json.includes(refuses)) throw new RowRefusedError('Data too long');
      await (finished ? storage.finish(row, new Date()) : storage.upsert(row));
    },
    onMissedDeletes: () => undefined,
  });
  completeness.begin();
  const controller = { run: () => Promise.resolve(), warmup: () => new Promise<void>(() => undefined) };
  void completeness.run(controller, { asksMysql: true }, AbortSignal.abort());
  const appears = (object: KubernetesObject): void => {
    const watched = asWatched(object);
    store.set(watched);
    for (const handler of handlers) handler.add(watched, false);
  };
  const changes = (before: KubernetesObject, after: KubernetesObject): void => {
    for (const handler of handlers) handler.update(asWatched(before), asWatched(after));
  };
  const leaves = (object: KubernetesObject): void => {
    store.delete(objectKey(object));
    for (const handler of handlers) handler.delete(asWatched(object), false);
  };
  const state = async () => (await storage.getById(modelKind, aModel().metadata.uid))?.state;
  const skips = (object: KubernetesObject, initial = true): boolean =>
    !completeness.skipUnchanged.create({ object: asWatched(object), initial });
  return { completeness, informer, storage, appears, changes, leaves, skips, state };
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

  it('has the state in its row that it left with, where its finalizer was taken off while MySQL was away', async () => {
    for (const before of [live, undefined]) {
      const { completeness, storage, appears, leaves } = setUp();
      if (before !== undefined) await storage.upsert(toRow(modelKind, before, encodeObject));
      const last = { ...terminating, spec: { algorithm: 'last' } };
      appears(terminating);
      leaves(last);
      storage.down = true;
      await assert.rejects(completeness.afterMissedDeletes(KEY, () => Promise.resolve(done)));
      storage.down = false;
      await completeness.afterMissedDeletes(KEY, () => Promise.resolve(done));
      const stored = await storage.getById(modelKind, live.metadata.uid);
      assert.deepEqual([stored?.state, stored?.resourceVersion], ['deleted', '6']);
      assert.match(stored?.json ?? '', /"algorithm":"last"/);
    }
  });

  it('needs no more where its final state is stored', async () => {
    const { completeness, storage, appears, leaves, state } = setUp();
    await storage.upsert(toRow(modelKind, live, encodeObject));
    appears(terminating);
    await completeness.afterMissedDeletes(KEY, async () => {
      await storage.finish(toRow(modelKind, terminating, encodeObject), new Date());
      completeness.noteFinished(terminating.metadata);
      leaves(terminating);
      return done;
    });
    await completeness.afterMissedDeletes(KEY, () => Promise.resolve(done));
    assert.equal(await state(), 'deleted');
    assert.ok(!storage.calls.includes('markMissedDelete'));
  });

  it('has the state in its row that it left with, where a client changed it while the API server took it away', async () => {
    const { completeness, storage, appears, changes, leaves } = setUp();
    const changed = { ...terminating, metadata: { ...terminating.metadata, resourceVersion: '7' } };
    const last = { ...changed, metadata: { ...changed.metadata, resourceVersion: '8' }, spec: { algorithm: 'last' } };
    const row = async () => {
      const stored = await storage.getById(modelKind, live.metadata.uid);
      return [stored?.state, stored?.resourceVersion];
    };
    await storage.upsert(toRow(modelKind, live, encodeObject));
    appears(terminating);
    await completeness.afterMissedDeletes(KEY, async () => {
      await storage.finish(toRow(modelKind, terminating, encodeObject), new Date());
      completeness.noteFinished(terminating.metadata);
      changes(terminating, changed);
      leaves(last);
      return done;
    });
    assert.deepEqual(await row(), ['deleted', '6']);
    storage.down = true;
    await assert.rejects(completeness.afterMissedDeletes(KEY, () => Promise.resolve(done)));
    storage.down = false;
    await completeness.afterMissedDeletes(KEY, () => Promise.resolve(done));
    assert.deepEqual(await row(), ['deleted', '8']);
  });

  it('does not hold up the next object of its name where MySQL refuses the state that it left with', async () => {
    const { completeness, storage, appears, changes, leaves } = setUp({ refuses: 'last' });
    const last = {
      ...terminating,
      metadata: { ...terminating.metadata, resourceVersion: '8' },
      spec: { algorithm: 'last' },
    };
    appears(terminating);
    completeness.noteFinished(terminating.metadata);
    changes(terminating, last);
    leaves(last);
    let runs = 0;
    const next = (): Promise<ReconcileResult> => {
      runs += 1;
      return Promise.resolve(done);
    };
    assert.deepEqual(await completeness.afterMissedDeletes(KEY, next), { kind: 'requeue-after', delayMs: 60_000 });
    assert.equal(runs, 1);
    assert.equal((await storage.getById(modelKind, live.metadata.uid))?.state, undefined);
    assert.deepEqual(await completeness.afterMissedDeletes(KEY, next), { kind: 'requeue-after', delayMs: 60_000 });
  });

  it('does not keep alive the row of the next object of its name, which left unguarded, where MySQL refuses its own', async () => {
    const { completeness, storage, appears, changes, leaves } = setUp({ refuses: 'last' });
    const last = { ...terminating, spec: { algorithm: 'last' } };
    appears(live);
    completeness.noteFinished(live.metadata);
    changes(live, last);
    leaves(last);
    const next = aModel({ uid: '99999999-0000-4000-8000-000000000001', resourceVersion: '9' });
    await storage.upsert(toRow(modelKind, next, encodeObject));
    appears(next);
    leaves(next);
    await completeness.afterMissedDeletes(KEY, () => Promise.resolve(done));
    assert.equal((await storage.getById(modelKind, next.metadata.uid))?.state, 'deleted');
  });
});

describe('an object of the first list', () => {
  it('is handed over unless MySQL holds it as it is and a copy is all it needs', async () => {
    const cases = {
      stored: [{}, false],
      unguarded: [{ finalizers: [] }, true],
      marked: [{ annotations: immutable }, true],
      leaving: [{ deletionTimestamp: '2026-01-03T00:00:00Z' }, true],
    } as const;
    for (const [name, [metadata, wanted]] of Object.entries(cases)) {
      const { completeness, storage, appears, skips } = setUp();
      const object = aModel({ resourceVersion: '5', ...metadata });
      await storage.upsert(aModelRow({ resourceVersion: '5' }));
      appears(object);
      assert.equal(skips(object), false, `${name}, before MySQL was asked`);
      await completeness.look();
      assert.equal(skips(object), !wanted, name);
    }
  });

  it('is always handed over where all of its kind are evicted, and where it is no part of a list', async () => {
    for (const [evictsAll, initial] of [
      [true, true],
      [false, false],
    ] as const) {
      const { completeness, storage, appears, skips } = setUp({ evictsAll });
      await storage.upsert(aModelRow({ resourceVersion: '5' }));
      appears(live);
      await completeness.look();
      assert.equal(skips(live, initial), false);
    }
  });

  it('ends no row of an object that left under its name before the list is complete, and then does', async () => {
    const { completeness, informer, storage, appears, leaves, state } = setUp();
    await storage.upsert(toRow(modelKind, live, encodeObject));
    appears(live);
    leaves(live);
    informer.synced = false;
    await completeness.afterMissedDeletes(KEY, () => Promise.resolve(done));
    assert.equal(await state(), 'live');
    informer.synced = true;
    await completeness.afterMissedDeletes(KEY, () => Promise.resolve(done));
    assert.equal(await state(), 'deleted');
  });
});
