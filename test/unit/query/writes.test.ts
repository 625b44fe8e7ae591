import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../../src/kube/errors.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, aModelRow } from '../../support/objects.ts';
import { messageIn, type QueryAppSetUp, queryApp } from '../../support/query-app.ts';

const KEY = 'a-namespace/a-model';
const PATH = '/namespaces/a-namespace/models/a-model';
const at = new Date('2026-01-01T00:00:00Z');

function setUp(more: Omit<QueryAppSetUp, 'client' | 'storage'> = {}) {
  const client = new FakeKubeClient();
  const storage = new MemoryStorage();
  const evict = async (): Promise<void> => {
    await storage.requestEviction(aModelRow(), at);
    await storage.finish(aModelRow(), at);
  };
  return { ...queryApp({ ...more, client, storage }), client, evict };
}

describe('a deletion', () => {
  it('marks the object as the original does, with who asked', async () => {
    const { client, del } = setUp();
    client.put(aModel());
    const { status, body } = await del(PATH, { propagationPolicy: 'Foreground' });
    assert.equal(status, 202);
    assert.equal((body as { status: string }).status, 'Success');
    assert.deepEqual(client.object(KEY)?.metadata.annotations, {
      'michelangelo/Deleting': 'true',
      'michelangelo/RequestedBy': 'alice',
      'michelangelo/DeletePropagation': 'Foreground',
    });
  });

  it('is tried again where another client was faster', async () => {
    const { client, del } = setUp();
    client.put(aModel());
    client.failures.push({ call: 'mergePatch', error: new KubeError('Conflict', 'modified') });
    assert.equal((await del(PATH)).status, 202);
  });

  it('keeps to its preconditions', async () => {
    const { client, del } = setUp();
    client.put(aModel());
    for (const preconditions of [{ uid: 'another' }, { resourceVersion: '999' }]) {
      const { status, body } = await del(PATH, { preconditions });
      assert.equal(status, 409);
      assert.match(messageIn(body), /precondition/);
    }
    assert.equal(client.object(KEY)?.metadata.annotations, undefined);
  });

  it('of an evicted object ends its row, which stays for the record', async () => {
    const { storage, evict, del, get } = setUp();
    await evict();
    const { uid } = aModelRow();
    assert.equal((await del(PATH, { dryRun: ['All'] })).status, 200);
    assert.equal((await storage.getById(aModelRow().kind, uid))?.state, 'evicted', 'a dry run writes nothing');
    assert.equal((await del(PATH)).status, 200);
    assert.equal((await storage.getById(aModelRow().kind, uid))?.state, 'deleted');
    assert.equal((await get(PATH)).status, 200);
    const again = await del(PATH);
    assert.equal(again.status, 404, 'what is deleted is not there to be deleted');
    assert.match(messageIn(again.body), /"a-model" is deleted already/);
  });

  it('of an object that never existed is 404', async () => {
    assert.equal((await setUp().del(PATH)).status, 404);
  });

  it('needs the right to delete the original', async () => {
    const { client, del } = setUp({ denied: ['delete'] });
    client.put(aModel());
    assert.equal((await del(PATH)).status, 403);
    assert.equal(client.object(KEY)?.metadata.annotations, undefined);
  });

  for (const [reason, expected] of [
    ['Forbidden', 403],
    ['Invalid', 403],
    ['Refused', 403],
    ['NotFound', 404],
  ] as const) {
    it(`reports a refusal of the cluster, ${reason}, in its words`, async () => {
      const { client, del } = setUp();
      client.put(aModel());
      client.failures.push({ call: 'mergePatch', error: new KubeError(reason, 'not you') });
      const { status, body } = await del(PATH);
      assert.equal(status, expected);
      assert.match(messageIn(body), /the cluster refused it: not you/);
    });
  }

  it('refuses options that it does not know, all at once', async () => {
    const { status, body } = await setUp().del(PATH, { propagationPolicy: 'Some', force: true, dryRun: ['None'] });
    assert.equal(status, 400);
    for (const problem of [
      /"force" is not known; known are apiVersion/,
      /propagationPolicy is one of/,
      /dryRun is All/,
    ]) {
      assert.match(messageIn(body), problem);
    }
  });

  it('is logged with who asked', async () => {
    const { client, del, logger } = setUp();
    client.put(aModel());
    await del(PATH);
    const line = logger.lines.find(({ message }) => message === 'Deletion asked for');
    assert.deepEqual([line?.['user'], line?.['name'], line?.['outcome']], ['alice', 'a-model', 'marked']);
  });
});

describe('a restore', () => {
  it('puts an evicted object back, with who asked', async () => {
    const { client, evict, post } = setUp();
    await evict();
    const { status, body } = await post(`${PATH}/restore`, {});
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((body as { outcome: string }).outcome, 'restored');
    assert.deepEqual(client.object(KEY)?.metadata.annotations, {
      'michelangelo/RestoredFrom': aModelRow().uid,
      'michelangelo/RequestedBy': 'alice',
    });
  });

  it('creates nothing as a dry run, asked for in either way', async () => {
    const { client, evict, post } = setUp();
    await evict();
    for (const [path, order] of [
      ['?dryRun=All', {}],
      ['', { dryRun: true }],
    ] as const) {
      const { body } = await post(`${PATH}/restore${path}`, order);
      assert.equal((body as { outcome: string }).outcome, 'would be restored');
    }
    assert.equal(client.object(KEY), undefined);
  });

  it('is 404 where nothing is stored, and 409 where the name is in use', async () => {
    const { client, evict, post } = setUp();
    assert.equal((await post(`${PATH}/restore`, {})).status, 404);
    await evict();
    client.put(aModel({ uid: 'another' }));
    assert.equal((await post(`${PATH}/restore`, {})).status, 409);
  });

  it('into a namespace that is not there is 404 with what to do', async () => {
    const { client, evict, post } = setUp();
    await evict();
    const error = new KubeError('NotFound', 'namespaces "a-namespace" not found');
    client.failures.push({ call: 'create', error });
    const { status, body } = await post(`${PATH}/restore`, {});
    assert.equal(status, 404);
    assert.match(messageIn(body), /no namespace a-namespace\. Create it/);
  });

  for (const verb of ['create', 'get'] as const) {
    it(`needs the right to ${verb} the original`, async () => {
      const { client, evict, post } = setUp({ denied: [verb] });
      await evict();
      assert.equal((await post(`${PATH}/restore`, {})).status, 403);
      assert.equal(client.object(KEY), undefined);
    });
  }
});
