import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../src/base/json.ts';
import { valueAt } from '../../../src/base/json.ts';
import { StorageUnavailableError, VersionConflictError } from '../../../src/storage/errors.ts';
import type { MetadataStorage } from '../../../src/storage/metadata-storage.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, aModelRow, modelKind, rowOf } from '../../support/objects.ts';
import { messageIn, type QueryAppSetUp, queryApp } from '../../support/query-app.ts';

const PATH = '/namespaces/a-namespace/models/a-model';
const MODELS = '/namespaces/a-namespace/models';
const at = new Date('2026-01-01T00:00:00Z');
const { uid } = aModelRow();
const kept = { 'michelangelo/Immutable': 'true' };

function setUp(more: Omit<QueryAppSetUp, 'client' | 'storage'> = {}) {
  const client = new FakeKubeClient();
  const storage = new MemoryStorage();
  const evict = async (metadata: Parameters<typeof aModelRow>[0] = {}): Promise<void> => {
    const row = aModelRow({ labels: { team: 'a', stage: 'old' }, annotations: kept, ...metadata });
    await storage.requestEviction(row, at);
    await storage.finish(row, at);
  };
  return { ...queryApp({ ...more, client, storage }), client, evict };
}

const labels = (team: string | null): object => ({ metadata: { labels: { team } } });

describe('a patch of an evicted object', () => {
  it('changes labels and annotations, and answers the object as it is stored then', async () => {
    const { storage, evict, patch } = setUp();
    await evict();
    const change = { metadata: { labels: { team: 'b', stage: null, new: '1' }, annotations: { note: 'x' } } };
    const { status, body } = await patch(PATH, change);
    assert.equal(status, 200, JSON.stringify(body));
    const stored = await storage.getById(modelKind, uid);
    assert.deepEqual({ ...stored?.labels }, { team: 'b', new: '1' });
    assert.deepEqual({ ...stored?.annotations }, { ...kept, note: 'x' });
    assert.deepEqual([stored?.state, stored?.resourceVersion], ['evicted', '11']);
    assert.deepEqual(valueAt(body, ['metadata', 'labels']), { team: 'b', new: '1' });
    assert.equal(valueAt(body, ['metadata', 'resourceVersion']), '11');
    assert.equal(valueAt(body, ['spec', 'algorithm']), 'xgboost');
  });

  it('keeps to the resourceVersion and the uid that it names', async () => {
    const { storage, evict, patch } = setUp();
    await evict();
    for (const precondition of [{ resourceVersion: '9' }, { uid: 'another' }]) {
      const { status, body } = await patch(PATH, { metadata: { ...precondition, labels: { team: 'b' } } });
      assert.equal(status, 409);
      assert.match(messageIn(body), /the precondition (resourceVersion|uid) is (9|another), but the object has/);
    }
    assert.equal((await storage.getById(modelKind, uid))?.resourceVersion, '10');
    const same = { metadata: { resourceVersion: '10', uid, name: 'a-model', labels: { team: 'b' } } };
    assert.equal((await patch(PATH, same)).status, 200);
    assert.equal((await patch(PATH, same)).status, 409, 'the version has moved on');
  });

  it('is tried again where another client was faster, unless it names a version', async () => {
    const { storage, evict, patch } = setUp();
    await evict();
    const update = storage.directUpdate.bind(storage);
    const loseOnce = (): void => {
      storage.directUpdate = () => {
        storage.directUpdate = update;
        return Promise.reject(new VersionConflictError('10', '11'));
      };
    };
    loseOnce();
    assert.equal((await patch(PATH, labels('b'))).status, 200);
    loseOnce();
    const { status, body } = await patch(PATH, { metadata: { resourceVersion: '11', labels: { team: 'c' } } });
    assert.equal(status, 409);
    assert.match(messageIn(body), /Read it again and repeat the change/);
  });

  it('writes nothing as a dry run, and nothing where nothing changes', async () => {
    const { storage, evict, patch } = setUp();
    await evict();
    const { status, body } = await patch(`${PATH}?dryRun=All`, labels('b'));
    assert.deepEqual([status, valueAt(body, ['metadata', 'labels', 'team'])], [200, 'b']);
    assert.equal((await patch(PATH, labels('a'))).status, 200);
    assert.equal((await patch(PATH, {})).status, 200);
    assert.equal((await patch(PATH, { metadata: { annotations: null } })).status, 200, 'that of this system stays');
    assert.equal(storage.calls.includes('directUpdate'), false);
  });

  it('does not make an object of any size, in steps that are each small', async () => {
    const { storage, evict, patch } = setUp();
    await evict();
    const many = (step: number): object =>
      Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key-of-a-label-${step}-${index}`, 'value']));
    const answers: Awaited<ReturnType<typeof patch>>[] = [];
    for (let step = 0; step < 12; step += 1) answers.push(await patch(PATH, { metadata: { labels: many(step) } }));
    const refused = answers.find(({ status }) => status !== 200);
    assert.equal(refused?.status, 400);
    assert.match(messageIn(refused.body), /the labels have \d+ bytes, more than 262144/);
    assert.ok(((await storage.getById(modelKind, uid))?.json.length ?? 0) < 400_000);
  });

  it('is refused where the account of the query API may not write in the cluster', async () => {
    const { storage, client, evict, patch } = setUp();
    await evict();
    client.permitted = false;
    const { status, body } = await patch(PATH, labels('b'));
    assert.equal(status, 403);
    assert.match(messageIn(body), /this query API only reads/);
    assert.equal(storage.calls.includes('directUpdate'), false);
  });

  it('of a living object is refused, and says where to change it', async () => {
    const { client, storage, patch } = setUp();
    client.put(aModel());
    await storage.upsert(aModelRow());
    const { status, body } = await patch(PATH, labels('b'));
    assert.equal(status, 409);
    assert.match(
      messageIn(body),
      /"a-model" is in the cluster: change it at the API server, with kubectl label or annotate models\.michelangelo\.api a-model -n a-namespace/,
    );
  });

  it('is refused where the name lives again, though MySQL has only the evicted object yet', async () => {
    const { client, evict, patch } = setUp();
    await evict();
    client.put(aModel({ uid: 'another' }));
    assert.equal((await patch(PATH, labels('b'))).status, 409);
  });

  it('of what is deleted, or never was, is 404', async () => {
    const { storage, patch } = setUp();
    assert.equal((await patch(PATH, labels('b'))).status, 404);
    await storage.delete(aModelRow(), at);
    assert.equal((await patch(PATH, labels('b'))).status, 404);
  });

  it('refuses everything else in it, all at once, and keys of this system', async () => {
    const { storage, evict, patch } = setUp();
    await evict();
    const metadata = {
      name: 'other',
      finalizers: [],
      labels: { team: 1 },
      annotations: {
        'michelangelo/Immutable': null,
        'stored.michelangelo.api/state': 'live',
      },
    };
    const { status, body } = await patch(PATH, { kind: 'Pod', spec: { algorithm: 'x' }, metadata });
    assert.equal(status, 400);
    for (const part of ['kind', 'spec', 'metadata.name', 'metadata.finalizers']) {
      assert.ok(messageIn(body).includes(`${part} of a stored object cannot be changed`), part);
    }
    assert.match(messageIn(body), /metadata\.labels "team" is a text, or null to remove it/);
    for (const key of Object.keys(metadata.annotations)) {
      assert.ok(messageIn(body).includes(`metadata.annotations "${key}" is not changed by users`), key);
    }
    assert.equal(storage.calls.includes('directUpdate'), false);
  });

  it('as kubectl apply makes it is refused with where to apply it', async () => {
    const { evict, patch } = setUp();
    await evict();
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
    const { status, body } = await patch(PATH, { metadata: { annotations } });
    assert.equal(status, 400);
    assert.match(messageIn(body), /cannot be applied: apply it with apiVersion: michelangelo.api\/v2 to an object/);
  });

  it('keeps the keys of this system where it removes all others', async () => {
    const { storage, evict, patch } = setUp();
    await evict();
    assert.equal((await patch(PATH, { metadata: { labels: null, annotations: null } })).status, 200);
    const stored = await storage.getById(modelKind, uid);
    assert.deepEqual([{ ...stored?.labels }, { ...stored?.annotations }], [{}, kept]);
  });

  it('refuses keys and values that no label may have', async () => {
    const { evict, patch } = setUp();
    await evict();
    const { status, body } = await patch(PATH, { metadata: { labels: { 'a b': 'c', team: 'd e' } } });
    assert.equal(status, 400);
    assert.match(messageIn(body), /"a b" cannot be the key of a label; the value of label "team" is no label value/);
    const inherited = await patch(PATH, '{"metadata":{"labels":{"__proto__":"a"}}}');
    assert.equal(inherited.status, 400);
  });

  it('is a merge patch, of a bounded size', async () => {
    const { evict, patch } = setUp();
    await evict();
    assert.equal((await patch(PATH, '[]', 'application/json-patch+json')).status, 415);
    assert.equal((await patch(PATH, '[]')).status, 400);
    assert.equal((await patch(PATH, '{')).status, 400);
    assert.equal((await patch(PATH, { metadata: { annotations: { a: 'x'.repeat(70_000) } } })).status, 413);
    assert.equal((await patch(`${PATH}?dryRun=Some`, labels('b'))).status, 400);
    assert.equal((await patch(`${PATH}?force=true`, labels('b'))).status, 400);
  });

  for (const verb of ['patch', 'get'] as const) {
    it(`needs the right to ${verb} the original, and shows nothing without it`, async () => {
      const { storage, evict, patch } = setUp({ denied: [verb] });
      await evict();
      const { status, text } = await patch(PATH, labels('b'));
      assert.equal(status, 403);
      assert.ok(!text.includes('xgboost'));
      assert.equal(storage.calls.includes('directUpdate'), false);
    });
  }

  it('shows no sensitive value, even one that a row has in the clear', async () => {
    const { storage, patch } = setUp();
    const job = { ...aModel({ name: 'job' }), kind: 'SparkJob', spec: { driver: { pod: {} } } };
    const row = rowOf(job);
    const json = row.json.replace('"pod":{}', '"pod":{"hdfsDelegationToken":"a-secret"}');
    await storage.requestEviction({ ...row, json }, at);
    await storage.finish({ ...row, json }, at);
    const { status, text } = await patch('/namespaces/a-namespace/sparkjobs/job', labels('b'));
    assert.equal(status, 200);
    assert.match(text, /"hdfsDelegationToken":"\[redacted\]"/);
    assert.ok(!text.includes('a-secret'));
  });

  it('keeps to the namespaces in which the user has the right', async () => {
    const { evict, patch } = setUp({ allowed: ['another'] });
    await evict();
    assert.equal((await patch(PATH, labels('b'))).status, 403);
  });

  it('is 503 while MySQL is away, and is logged with the user otherwise', async () => {
    const { storage, logger, evict, patch } = setUp();
    await evict();
    const update = storage.directUpdate.bind(storage);
    storage.directUpdate = () => Promise.reject(new StorageUnavailableError('no answer', undefined));
    assert.equal((await patch(PATH, labels('b'))).status, 503);
    storage.directUpdate = update;
    await patch(PATH, labels('b'));
    const line = logger.lines.find(({ message }) => message === 'Change of metadata asked for');
    assert.deepEqual([line?.['user'], line?.['name'], line?.['uid']], ['alice', 'a-model', uid]);
  });
});

describe('a deletion of a collection', () => {
  const filled = async (more: Omit<QueryAppSetUp, 'client' | 'storage'> = {}) => {
    const all = setUp(more);
    for (const name of ['e1', 'e2', 'e3']) {
      await all.evict({ uid: name, name, labels: { team: name === 'e3' ? 'b' : 'a' } });
    }
    await all.evict({ uid: 'other', name: 'other', namespace: 'b', labels: { team: 'a' } });
    const live = { uid: 'live', name: 'live', labels: { team: 'a' } };
    await all.storage.upsert(aModelRow(live));
    all.client.put(aModel(live));
    const states = async (): Promise<Readonly<Record<string, string>>> => {
      const { items } = await all.storage.list(modelKind, { deleted: 'included' });
      return Object.fromEntries(items.map(({ uid: of, state }) => [of, state]));
    };
    return { ...all, states };
  };
  const before = { e1: 'evicted', e2: 'evicted', e3: 'evicted', other: 'evicted', live: 'live' };

  it('deletes the evicted objects that the selector finds, and no living one', async () => {
    const { client, del, states } = await filled();
    const { status, body } = await del(`${MODELS}?labelSelector=team%3Da`);
    assert.equal(status, 200, JSON.stringify(body));
    const { outcome, count, remaining } = body as JsonObject;
    assert.deepEqual([outcome, count, remaining], ['deleted', 2, 'none']);
    assert.deepEqual(await states(), { ...before, e1: 'deleted', e2: 'deleted' });
    assert.equal(client.object('a-namespace/live')?.metadata.annotations, undefined);
  });

  it('says as a dry run how many would go, and names some', async () => {
    const { del, states } = await filled();
    for (const [path, body] of [
      ['&dryRun=All', {}],
      ['', { dryRun: ['All'] }],
    ] as const) {
      const answer = (await del(`${MODELS}?labelSelector=team%3Da${path}`, body)).body as JsonObject;
      assert.deepEqual([answer['outcome'], answer['count']], ['would be deleted', 2]);
      assert.deepEqual([...(answer['names'] as string[])].sort(), ['e1', 'e2']);
    }
    assert.deepEqual(await states(), before);
  });

  it('stops at its limit, and says that there is more', async () => {
    const { del, states } = await filled();
    const path = `${MODELS}?fieldSelector=metadata.namespace%3Da-namespace`;
    const dry = (await del(`${path}&limit=2&dryRun=All`)).body as JsonObject;
    assert.deepEqual([dry['count'], dry['remaining']], [2, 'some']);
    const first = (await del(`${path}&limit=2`)).body as JsonObject;
    assert.deepEqual([first['count'], first['remaining']], [2, 'some']);
    const second = (await del(`${path}&limit=2`)).body as JsonObject;
    assert.deepEqual([second['count'], second['remaining']], [1, 'none']);
    assert.deepEqual(await states(), { ...before, e1: 'deleted', e2: 'deleted', e3: 'deleted' });
  });

  for (const [what, path, message] of [
    ['without a selector', MODELS, /say which objects go/],
    ['with an empty selector', `${MODELS}?labelSelector=`, /say which objects go/],
    ['in all namespaces', '/models?labelSelector=team%3Da', /in one namespace/],
    ['with a selector that is not valid', `${MODELS}?labelSelector=team+in`, /selector is not valid/],
    ['by a field without an index', `${MODELS}?fieldSelector=spec.secret%3Dx`, /spec\.secret/],
    [
      'with a parameter that means nothing here',
      `${MODELS}?labelSelector=a&continue=x`,
      /continue" means nothing here/,
    ],
    ['beyond the bound of a request', `${MODELS}?labelSelector=a&limit=10001`, /1 to 10000/],
  ] as const) {
    it(`is refused ${what}`, async () => {
      const { del, states } = await filled();
      const { status, body } = await del(path);
      assert.equal(status, 400);
      assert.match(messageIn(body), message);
      assert.deepEqual(await states(), before);
    });
  }

  it('refuses preconditions, which no collection can have', async () => {
    const { del } = await filled();
    const { status } = await del(`${MODELS}?labelSelector=team%3Da`, { preconditions: { uid: 'e1' } });
    assert.equal(status, 400);
  });

  for (const verb of ['deletecollection', 'list'] as const) {
    it(`needs the right to ${verb} of the original, for a dry run too`, async () => {
      const { del, states } = await filled({ denied: [verb] });
      for (const dryRun of ['', '&dryRun=All']) {
        assert.equal((await del(`${MODELS}?labelSelector=team%3Da${dryRun}`)).status, 403);
      }
      assert.deepEqual(await states(), before);
    });
  }

  it('keeps to the namespace of its path, whatever the selector says', async () => {
    const { del, states } = await filled({ allowed: ['b'] });
    assert.equal((await del(`${MODELS}?labelSelector=team%3Da`)).status, 403);
    const path = '/namespaces/b/models?fieldSelector=metadata.namespace%3Da-namespace';
    assert.equal(((await del(path)).body as JsonObject)['count'], 0);
    assert.deepEqual(await states(), before);
  });

  it('is refused where the account of the query API may not write in the cluster', async () => {
    const { client, del, states } = await filled();
    client.permitted = false;
    const { status, body } = await del(`${MODELS}?labelSelector=team%3Da`);
    assert.equal(status, 403);
    assert.match(messageIn(body), /only reads/);
    assert.deepEqual(await states(), before);
  });

  it('is 503 while MySQL is away', async () => {
    const { storage, del } = await filled();
    storage.down = true;
    const answer = await del(`${MODELS}?labelSelector=team%3Da`);
    assert.equal(answer.status, 503);
    assert.equal(answer.headers['retry-after'], undefined, 'a client that repeats it by itself would delete more');
    assert.match(messageIn(answer.body), /list them before you delete again/);
    const dry = await del(`${MODELS}?labelSelector=team%3Da&dryRun=All`);
    assert.deepEqual([dry.status, dry.headers['retry-after']], [503, '1']);
  });

  it('ends with the request', async () => {
    const { storage, del } = await filled();
    let given: AbortSignal | undefined;
    storage.deleteCollection = (...[, , , signal]: Parameters<MetadataStorage['deleteCollection']>) => {
      given = signal;
      return Promise.resolve({ deleted: 0, remaining: 'none' });
    };
    await del(`${MODELS}?labelSelector=team%3Da`);
    assert.equal(given?.aborted, true, 'the answer has been sent');
  });
});
