import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  DELETING_ANNOTATION,
  FINALIZER,
  IMMUTABLE_ANNOTATION,
  PRIMARY_KEY_ANNOTATION,
} from '../../../src/api/names.ts';
import type { ObjectMeta } from '../../../src/api/object.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { maskedValues } from '../../../src/storage/sensitive.ts';
import { manifestOf, type RestoreRequest, restore } from '../../../src/sync/restore.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, modelKind, rowOf } from '../../support/objects.ts';

const KEY = 'a-namespace/a-model';
const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
const at = new Date('2026-01-05T00:00:00Z');

function setUp() {
  const client = new FakeKubeClient();
  const storage = new MemoryStorage();
  return {
    client,
    storage,
    deleted: (uid: string, metadata: Partial<ObjectMeta> = {}) =>
      storage.delete(rowOf({ ...aModel({ uid, ...metadata }), status: { state: `of ${uid}` } }), at),
    evicted: async (uid: string) => {
      await storage.requestEviction(rowOf(aModel({ uid })), at);
      await storage.finish(rowOf(aModel({ uid })), at);
    },
    restore: (more: Partial<RestoreRequest> = {}) =>
      restore(
        { kind: modelKind, namespace: 'a-namespace', name: 'a-model', uid: undefined, dryRun: false, ...more },
        { client, storage, resource, sensitive: maskedValues },
      ),
  };
}

describe('restore', () => {
  it('puts a deleted object back with its content, its status and a link to what it was', async () => {
    const { client, deleted, restore: run } = setUp();
    await deleted('old');
    const result = await run();
    const object = client.object(KEY);
    assert.ok(object !== undefined);
    assert.equal(result.outcome, 'restored');
    assert.equal(result.uid, object.metadata.uid);
    assert.notEqual(object.metadata.uid, 'old');
    assert.deepEqual(object.metadata.annotations, { 'michelangelo/RestoredFrom': 'old' });
    assert.deepEqual(object.metadata.finalizers, [FINALIZER]);
    assert.deepEqual([object['spec'], object['status']], [aModel()['spec'], { state: 'of old' }]);
  });

  it('prefers the evicted incarnation, and takes the incarnation that is named', async () => {
    const { deleted, evicted, restore: run } = setUp();
    await evicted('evicted');
    await deleted('deleted', { creationTimestamp: '2026-02-01T00:00:00Z' });
    assert.equal((await run({ dryRun: true })).restoredFrom, 'evicted');
    assert.equal((await run({ dryRun: true, uid: 'deleted' })).restoredFrom, 'deleted');
  });

  it('says on an older incarnation which archived one of its name it knows of', async () => {
    const { client, deleted, evicted, restore: run } = setUp();
    await deleted('old', { annotations: { 'michelangelo/allow-archived-name': 'another' } });
    await evicted('evicted');
    await run({ uid: 'old' });
    assert.deepEqual(client.object(KEY)?.metadata.annotations, {
      'michelangelo/RestoredFrom': 'old',
      'michelangelo/allow-archived-name': 'evicted',
    });
  });

  it('asks the API server first, and creates nothing where it refuses or for a dry run', async () => {
    const { client, deleted, restore: run } = setUp();
    await deleted('old');
    assert.equal((await run({ dryRun: true })).outcome, 'would be restored');
    assert.equal(client.object(KEY), undefined);
    client.failures.push({ call: 'create', error: new KubeError('Invalid', 'refused by the schema') });
    await assert.rejects(run(), { code: 'KUBE_INVALID' });
    assert.equal(client.object(KEY), undefined);
  });

  it('puts an adopted archive back, which was to be evicted and is not in the cluster', async () => {
    const { client, storage, restore: run } = setUp();
    await storage.requestEviction(rowOf(aModel({ uid: 'adopted' })), at);
    assert.equal((await run()).restoredFrom, 'adopted');
    assert.deepEqual(client.object(KEY)?.['spec'], aModel()['spec']);
  });

  it('refuses a name that is in use', async () => {
    const { client, deleted, restore: run } = setUp();
    await deleted('old');
    client.put(aModel({ uid: 'another' }));
    await assert.rejects(run(), {
      code: 'RESTORE_CONFLICT',
      message: /another.*a restore replaces nothing. Delete that/,
    });
  });

  it('says that an object which is being deleted is leaving, not that it must be deleted', async () => {
    const { client, deleted, restore: run } = setUp();
    await deleted('old');
    client.put(aModel({ uid: 'another', deletionTimestamp: '2026-01-01T00:00:00Z' }));
    await assert.rejects(run(), { code: 'RESTORE_CONFLICT', message: /another.*leaving the cluster\. Try again/ });
  });

  it('refuses an object that is in the cluster and one that was never stored', async () => {
    const { storage, restore: run } = setUp();
    await assert.rejects(run(), { code: 'RESTORE_NOTHING_STORED' });
    await storage.upsert(rowOf(aModel({ uid: 'live' })));
    await assert.rejects(run({ uid: 'live' }), { code: 'RESTORE_NOT_ENDED' });
  });

  it('finishes a restore that was broken off before the status', async () => {
    const { client, deleted, restore: run } = setUp();
    await deleted('old');
    client.failures.push({ call: 'mergePatch', error: new KubeError('Unavailable', 'cut') });
    await assert.rejects(run(), { code: 'KUBE_UNAVAILABLE' });
    const { uid } = await run();
    assert.equal(uid, client.object(KEY)?.metadata.uid);
    assert.deepEqual(client.object(KEY)?.['status'], { state: 'of old' });
  });

  it('says of an object that was restored already that it is there, as a dry run too', async () => {
    const { client, deleted, restore: run } = setUp();
    await deleted('old');
    const { uid } = await run();
    for (const dryRun of [true, false]) {
      const again = await run({ dryRun });
      assert.deepEqual([again.outcome, again.uid], ['was restored already', uid]);
    }
    assert.equal(client.object(KEY)?.metadata.uid, uid);
  });

  it('into a namespace that is not in the cluster says so, and what to do', async () => {
    const { client, deleted, restore: run } = setUp();
    await deleted('old');
    const message = 'POST /apis/x: namespaces "a-namespace" not found';
    client.failures.push({ call: 'create', error: new KubeError('NotFound', message) });
    await assert.rejects(run({ dryRun: true }), {
      code: 'RESTORE_NAMESPACE_MISSING',
      message: /has no namespace a-namespace\. Create it/,
    });
  });

  it('leaves out marks, owners, finalizers of others and what MySQL never had, and says so', () => {
    const kind = { ...modelKind, sensitive: [['spec', 'token']] };
    const object = aModel(
      {
        finalizers: [FINALIZER, 'orphan', 'other/one', 'foregroundDeletion'],
        annotations: {
          ...{ [DELETING_ANNOTATION]: 'true', [IMMUTABLE_ANNOTATION]: 'true', kept: 'yes' },
          [PRIMARY_KEY_ANNOTATION]: 'of its row',
        },
        ownerReferences: [{ uid: 'gone' }],
        deletionTimestamp: '2026-01-03T00:00:00Z',
      },
      { token: '[redacted]' },
    );
    const { manifest, missing, dropped } = manifestOf(kind, object);
    assert.deepEqual(manifest['metadata'], {
      namespace: 'a-namespace',
      name: 'a-model',
      finalizers: [FINALIZER],
      annotations: { kept: 'yes', 'michelangelo/RestoredFrom': object.metadata.uid },
    });
    assert.deepEqual(manifest['spec'], { algorithm: 'xgboost' });
    assert.deepEqual(missing, ['spec.token']);
    assert.deepEqual(dropped, ['metadata.ownerReferences', 'the finalizer other/one']);
  });
});
