import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StorageUnavailableError } from '../../../src/storage/errors.ts';
import { aModelRow, modelKind } from '../../support/objects.ts';
import { fill, messageIn, type QueryAppSetUp, queryApp } from '../../support/query-app.ts';

const setUp = async (options: QueryAppSetUp = {}) => {
  const app = queryApp(options);
  await fill(app.storage);
  return app;
};

describe('figures over stored objects', () => {
  it('are counts by the values of a field, with the position of the store', async () => {
    const { storage, get } = await setUp();
    await storage.recordPosition(modelKind, { resourceVersion: '50', at: new Date() });
    const { status, body } = await get('/models/-/aggregate?groupBy=spec.owner.name');
    assert.equal(status, 200);
    assert.deepEqual(body, {
      kind: 'StoredAggregate',
      apiVersion: 'stored.michelangelo.api/v2',
      metadata: { resourceVersion: '50' },
      truncated: false,
      items: [
        { group: { 'spec.owner.name': 'ada' }, count: 2 },
        { group: { 'spec.owner.name': 'bob' }, count: 1 },
      ],
    });
  });

  it('have the smallest, largest and middle value under the names that were asked for', async () => {
    const { get } = await setUp();
    const { body } = await get(
      '/models/-/aggregate?groupBy=created.day&min=created&max=created,revision_id&p50=created',
    );
    assert.deepEqual((body as { items: unknown }).items, [
      {
        group: { 'created.day': '2025-12-31' },
        count: 3,
        min: { created: '2025-12-31T00:00:01.000000Z' },
        max: { created: '2025-12-31T00:00:03.000000Z', revision_id: 0 },
        p50: { created: '2025-12-31T00:00:02.000000Z' },
      },
    ]);
  });

  it('are of what the filters of a list find', async () => {
    const { get } = await setUp();
    const count = async (query: string): Promise<unknown> =>
      ((await get(`/models/-/aggregate?${query}`)).body as { items: readonly { count: number }[] }).items[0]?.count;
    assert.equal(await count(''), 3);
    assert.equal(await count('source=all'), 4);
    assert.equal(await count('fieldSelector=source%3Dall,spec.owner.name%3Dbob'), 2);
    assert.equal(await count('labelSelector=team%3Dodd'), 2);
    assert.equal(await count('owner=bob'), 1);
    assert.equal(await count('createdAfter=2025-12-31T00:00:02Z&createdBefore=2025-12-31T00:00:03Z'), 1);
  });

  it('say of how many objects one was looked at where they may be approximate', async () => {
    const { get } = await setUp();
    const { body } = await get('/models/-/aggregate?approximate=true');
    assert.deepEqual(
      [(body as { oneIn: unknown }).oneIn, (body as { items: unknown }).items],
      [1, [{ group: {}, count: 3 }]],
    );
    assert.match((await get('/models/-/aggregate?approximate=1')).text, /approximate is one of true, false/);
    assert.match((await get('/models/-/aggregate?approximate=true&max=created')).text, /Supported are: count, p50/);
  });

  it('say that a limit left out groups', async () => {
    const { get } = await setUp();
    const { body } = await get('/models/-/aggregate?groupBy=spec.owner.name&limit=1');
    const { truncated, items } = body as { truncated: boolean; items: readonly object[] };
    assert.equal(truncated, true);
    assert.deepEqual(items, [{ group: { 'spec.owner.name': 'ada' }, count: 2 }]);
  });

  it('keep to the namespaces in which the user may list the kind', async () => {
    const { get } = await setUp({ allowed: ['b'] });
    const { body } = await get('/models/-/aggregate?groupBy=metadata.namespace');
    assert.deepEqual((body as { items: unknown }).items, [{ group: { 'metadata.namespace': 'b' }, count: 1 }]);
    assert.equal((await get('/namespaces/b/models/-/aggregate')).status, 200);
    assert.equal((await get('/namespaces/a/models/-/aggregate')).status, 403);
  });

  it('need the right to list, before the database is asked', async () => {
    const { storage, get } = await setUp({ denied: ['list'] });
    storage.calls.length = 0;
    assert.equal((await get('/namespaces/a/models/-/aggregate')).status, 403);
    assert.deepEqual(storage.calls, []);
  });

  const refused = [
    [
      'a field without an index',
      'groupBy=spec.secret',
      /groups by "spec\.secret".*metadata\.creationTimestamp\.day.*spec\.algorithm/,
    ],
    ['the median of a text', 'p50=spec.algorithm', /p50 of "spec\.algorithm".*spec\.revisionId/],
    [
      'a parameter of lists that means nothing here',
      'orderBy=metadata.name',
      /"orderBy" means nothing here; .*groupBy/,
    ],
    ['a limit beyond the most groups', 'groupBy=metadata.name&limit=1001', /limit that is not from 1 to 1000/],
    ['a watch', 'watch=1', /cannot be watched/],
  ] as const;
  for (const [what, query, message] of refused) {
    it(`are refused for ${what}, with what is supported`, async () => {
      const { get } = await setUp();
      const { status, body } = await get(`/models/-/aggregate?${query}`);
      assert.ok(status === 400 || status === 405, String(status));
      assert.equal((body as { kind: string }).kind, 'Status');
      assert.match(messageIn(body), message);
    });
  }

  it('are refused where there are more than 1000 groups', async () => {
    const { storage, get } = queryApp();
    for (let index = 0; index <= 1000; index += 1) {
      await storage.upsert(aModelRow({ uid: `u${index}`, name: `m${index}` }));
    }
    const { status, body } = await get('/models/-/aggregate?groupBy=metadata.name');
    assert.equal(status, 400);
    assert.match(messageIn(body), /more than 1000 groups; ask for the largest with a limit/);
  });

  it('are a Status 503 with Retry-After while the database is away', async () => {
    const { storage, get } = queryApp();
    storage.aggregate = () => Promise.reject(new StorageUnavailableError('no answer', undefined));
    const answer = await get('/models/-/aggregate');
    assert.equal(answer.status, 503);
    assert.equal(answer.headers['retry-after'], '1');
  });
});
