import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultKinds } from '../../../src/kinds/kinds.ts';
import type { User } from '../../../src/query/context.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModelRow, modelKind } from '../../support/objects.ts';
import { type Listed, messageIn, namesIn, type OtherSetUp, queryApp } from '../../support/query-app.ts';

const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const at = new Date('2026-01-01T00:00:00Z');
const CLUSTER = 'stored.michelangelo.api/cluster';

async function storageWith(...names: readonly string[]): Promise<MemoryStorage> {
  const storage = new MemoryStorage();
  for (const [index, name] of names.entries())
    await storage.upsert(aModelRow({ uid: `uid-of-${name}`, name, namespace: 'ml', resourceVersion: `${index + 1}` }));
  return storage;
}

/** The own cluster has `own`, eu-1 has `east` and `same`, us-1 has `west` and `same`. */
async function threeClusters(
  { eu = {}, us = {} }: Readonly<Record<string, Partial<OtherSetUp>>> = {},
  more: Omit<Parameters<typeof queryApp>[0] & object, 'others' | 'storage'> = {},
): Promise<ReturnType<typeof queryApp>> {
  return queryApp({
    ...more,
    storage: await storageWith('own'),
    others: {
      'eu-1': { storage: await storageWith('east', 'same'), ...eu },
      'us-1': { storage: await storageWith('west', 'same'), ...us },
    },
  });
}

const clustersIn = (body: unknown) =>
  (body as { items: { metadata: { annotations: Record<string, string> } }[] }).items.map(
    ({ metadata }) => metadata.annotations[CLUSTER],
  );

describe('a request that names a cluster', () => {
  for (const [how, query] of [
    ['as a parameter', 'cluster=eu-1'],
    ['as a field, which kubectl sends', `fieldSelector=${encodeURIComponent('cluster=eu-1')}`],
  ] as const) {
    it(`${how} lists the objects of that cluster, which say where they are`, async () => {
      const { get } = await threeClusters();
      const { status, body } = await get(`/models?${query}`);
      assert.equal(status, 200);
      assert.deepEqual(namesIn(body).toSorted(), ['east', 'same']);
      assert.deepEqual(clustersIn(body), ['eu-1', 'eu-1']);
    });
  }

  it('is counted with it, and one for a cluster that is not there without', async () => {
    const { get, counted } = await threeClusters();
    for (const query of ['?cluster=eu-1', '', '?cluster=*', '?cluster=gone']) await get(`/models${query}`);
    assert.deepEqual(
      counted.map(({ cluster, code }) => [cluster, code]),
      [
        ['eu-1', 200],
        ['in-cluster', 200],
        ['*', 200],
        ['', 400],
      ],
    );
  });

  it('takes other fields beside it', async () => {
    const { get } = await threeClusters();
    const selector = encodeURIComponent('metadata.name=same,cluster=us-1,source=live');
    assert.deepEqual(namesIn((await get(`/models?fieldSelector=${selector}`)).body), ['same']);
  });

  it('gets an object, counts and incarnations of that cluster', async () => {
    const { get } = await threeClusters();
    const { body } = await get('/namespaces/ml/models/same?cluster=us-1');
    const { metadata } = body as { metadata: { annotations: Record<string, string> } };
    assert.equal(metadata.annotations[CLUSTER], 'us-1');
    assert.equal((await get('/namespaces/ml/models/east?cluster=us-1')).status, 404);
    assert.deepEqual(namesIn((await get('/namespaces/ml/models/west/incarnations?cluster=us-1')).body), ['west']);
    const { items } = (await get('/models/-/aggregate?cluster=eu-1')).body as { items: { count: number }[] };
    assert.deepEqual(
      items.map(({ count }) => count),
      [2],
    );
  });

  it('is about the cluster that answers where it names none, and then objects say no cluster', async () => {
    const { get } = await threeClusters();
    for (const query of ['', '?cluster=in-cluster', '?cluster=']) {
      const { body } = await get(`/models${query}`);
      assert.deepEqual([namesIn(body), clustersIn(body)], [['own'], [undefined]]);
    }
  });

  for (const [query, message] of [
    ['cluster=mars', /there is no cluster "mars"; clusters are in-cluster, eu-1, us-1/],
    ['cluster=eu-1&cluster=us-1', /cluster is given more than once/],
    ['cluster=eu-1&fieldSelector=cluster%3Dus-1', /cluster is given more than once/],
    ['fieldSelector=cluster!%3Deu-1', /the field cluster takes = and one name/],
  ] as const) {
    it(`is refused with ${query}`, async () => {
      const { get } = await threeClusters();
      const { status, body } = await get(`/models?${query}`);
      assert.equal(status, 400);
      assert.match(messageIn(body), message);
    });
  }

  it('fails with the name of the cluster whose MySQL is away, and the other clusters answer', async () => {
    const eu = await storageWith('east');
    const { get } = await threeClusters({ eu: { storage: eu } });
    eu.down = true;
    const { status, body } = await get('/models?cluster=eu-1');
    assert.equal(status, 503);
    assert.match(messageIn(body), /^cluster "eu-1": MySQL is not available/);
    assert.equal((await get('/models?cluster=us-1')).status, 200);
  });
});

describe('the rights in another cluster', () => {
  it('are asked there, for the name and the groups that an identity provider gives, and for no more', async () => {
    const asked: User[] = [];
    const groups = ['oidc:scientists', 'system:masters', 'system:authenticated', 'system:nodes'];
    const { get } = await threeClusters({ eu: { asked } }, { groups });
    assert.equal((await get('/models?cluster=eu-1')).status, 200);
    assert.deepEqual(asked, [
      { name: 'alice', uid: '', groups: ['oidc:scientists', 'system:authenticated'], extra: {} },
    ]);
  });

  for (const user of ['system:serviceaccount:ml:builder', 'system:node:n1', 'system:admin']) {
    it(`are none for ${user}, who is another one there`, async () => {
      const { get } = await threeClusters({}, { user });
      for (const path of ['/models?cluster=eu-1', '/namespaces/ml/models/east?cluster=eu-1']) {
        const { status, body } = await get(path);
        assert.equal(status, 403);
        assert.match(messageIn(body), /is one of this cluster alone/);
      }
      assert.equal((await get('/models')).status, 200);
    });
  }

  it('do not follow from those in this one', async () => {
    const { get } = await threeClusters({ eu: { allowed: [] } });
    assert.equal((await get('/models?cluster=eu-1')).status, 403);
    assert.equal((await get('/models')).status, 200);
  });

  it('of a retired cluster are those that the user has in this one, service accounts too', async () => {
    const asked: User[] = [];
    const user = 'system:serviceaccount:ml:builder';
    const { get } = await threeClusters({ eu: { isRetired: true, asked } }, { user });
    assert.deepEqual(namesIn((await get('/models?cluster=eu-1')).body).toSorted(), ['east', 'same']);
    assert.deepEqual(
      asked.map(({ name, uid }) => [name, uid]),
      [[user, 'u']],
    );
  });
});

describe('a list of every cluster', () => {
  it('has the objects of each, and says where they are; those of this cluster too', async () => {
    const { get } = await threeClusters();
    const { status, body } = await get(`/models?cluster=${encodeURIComponent('*')}`);
    assert.equal(status, 200);
    const found = namesIn(body).map((name, index) => `${clustersIn(body)[index]}/${name}`);
    assert.deepEqual(found.toSorted(), ['eu-1/east', 'eu-1/same', 'in-cluster/own', 'us-1/same', 'us-1/west']);
  });

  it('is a table with the cluster in its first column', async () => {
    const { get } = await threeClusters();
    const { body } = await get('/models?cluster=*', tableType);
    const { columnDefinitions, rows } = body as {
      columnDefinitions: { name: string }[];
      rows: { cells: unknown[] }[];
    };
    assert.equal(columnDefinitions[0]?.name, 'Cluster');
    assert.equal(columnDefinitions.length, rows[0]?.cells.length);
    assert.deepEqual(
      rows.map(({ cells }) => cells[0]),
      ['in-cluster', 'eu-1', 'eu-1', 'us-1', 'us-1'],
    );
  });

  it('comes in pages of any size that neither repeat nor leave out anything', async () => {
    const { get } = await threeClusters();
    for (let limit = 1; limit <= 6; limit += 1) {
      const found: string[] = [];
      let next: string | undefined = '';
      for (let pages = 0; next !== undefined && pages < 20; pages += 1) {
        const { body } = await get(`/models?cluster=*&limit=${limit}&continue=${encodeURIComponent(next)}`);
        assert.ok(namesIn(body).length <= limit);
        found.push(...namesIn(body));
        next = (body as Listed).metadata.continue;
      }
      assert.deepEqual(found.toSorted(), ['east', 'own', 'same', 'same', 'west'], `limit ${limit}`);
    }
  });

  it('answers a named query of every cluster', async () => {
    const { get } = await threeClusters();
    const { status, body } = await get('/models?cluster=*&template=by-algorithm&param.algorithm=xgboost');
    assert.equal(status, 200);
    assert.equal(namesIn(body).length, 5);
  });

  it('keeps to the namespaces that the user may list in each, and leaves out a cluster without any with a warning', async () => {
    const eu = await storageWith('east');
    await eu.upsert(aModelRow({ uid: 'hidden', name: 'hidden', namespace: 'secret' }));
    const { get } = await threeClusters({ eu: { storage: eu, allowed: ['ml'] }, us: { allowed: [] } });
    const { body, headers } = await get('/models?cluster=*');
    assert.deepEqual(namesIn(body).toSorted(), ['east', 'own']);
    assert.match(headers['warning'] ?? '', /cluster us-1 is left out: you may not list models there/);
  });

  it('is forbidden to a user who may list nothing anywhere', async () => {
    const { get } = await threeClusters({ eu: { allowed: [] }, us: { allowed: [] } }, { allowed: [] });
    assert.equal((await get('/models?cluster=*')).status, 403);
  });

  it('is an error where one cluster does not answer: less would look like all', async () => {
    const us = await storageWith('west');
    const { get } = await threeClusters({ us: { storage: us } });
    us.down = true;
    const { status, body } = await get('/models?cluster=*');
    assert.equal(status, 503);
    assert.match(messageIn(body), /^cluster "us-1": MySQL is not available/);
  });

  it('warns of each cluster whose store is behind, by its name', async () => {
    const { get } = await threeClusters();
    const { headers } = await get('/models?cluster=*');
    for (const name of ['in-cluster', 'eu-1', 'us-1'])
      assert.match(headers['warning'] ?? '', new RegExp(`cluster ${name}: nothing says how complete`));
  });

  for (const [what, path, message] of [
    ['an order', '/models?cluster=*&orderBy=metadata.name', /orderBy is of one cluster/],
    ['a count', '/models?cluster=*&count=true', /count is of one cluster/],
    ['a watch', '/models?cluster=*&watch=true', /only a list can be of every cluster/],
    ['one object', '/namespaces/ml/models/same?cluster=*', /only a list can be of every cluster/],
    ['an unknown parameter', '/models?cluster=*&colour=red', /"colour" is not known/],
  ] as const) {
    it(`is refused with ${what}`, async () => {
      const { get } = await threeClusters();
      const { status, body } = await get(path);
      assert.equal(status, 400);
      assert.match(messageIn(body), message);
    });
  }

  it('does not go on with the token of another list', async () => {
    const { get } = await threeClusters();
    for (const token of ['nonsense', 'mars:', 'eu-1:nonsense']) {
      const { status } = await get(`/models?cluster=*&continue=${encodeURIComponent(token)}`);
      assert.ok([400, 410].includes(status), `${token}: ${status}`);
    }
  });
});

describe('the list of clusters', () => {
  it('has their names, that of this cluster first', async () => {
    const { get } = await threeClusters();
    const { body } = await get('/-/clusters');
    const { items } = body as { items: { name: string }[] };
    assert.deepEqual(
      items.map(({ name }) => name),
      ['in-cluster', 'eu-1', 'us-1'],
    );
  });
});

describe('the kind Cluster', () => {
  it('is listed as every kind is: no path of this API has its plural', async () => {
    const { get } = await threeClusters();
    for (const kind of defaultKinds) {
      const { status, body } = await get(`/${kind.plural}?limit=500`);
      assert.deepEqual([status, (body as Listed).kind], [200, `${kind.kind}List`]);
    }
  });
});

describe('a deletion in another cluster', () => {
  const evicted = async (): Promise<MemoryStorage> => {
    const storage = new MemoryStorage();
    const row = aModelRow({ uid: 'the-same', name: 'same', namespace: 'ml' });
    await storage.requestEviction(row, at);
    await storage.finish(row, at);
    return storage;
  };

  it('ends the evicted object of that cluster, and not the one of the same name and uid in this one', async () => {
    const [storage, eu] = [await evicted(), await evicted()];
    const client = new FakeKubeClient();
    const { del } = queryApp({ storage, client, others: { 'eu-1': { storage: eu, client: new FakeKubeClient() } } });
    const { status, body } = await del('/namespaces/ml/models/same?cluster=eu-1');
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((await eu.getById(modelKind, 'the-same'))?.state, 'deleted');
    assert.equal((await storage.getById(modelKind, 'the-same'))?.state, 'evicted');
  });

  it('needs the right to delete there', async () => {
    const [storage, eu] = [await evicted(), await evicted()];
    const { del } = queryApp({ storage, others: { 'eu-1': { storage: eu, denied: ['delete'] } } });
    assert.equal((await del('/namespaces/ml/models/same?cluster=eu-1')).status, 403);
    assert.equal((await eu.getById(modelKind, 'the-same'))?.state, 'evicted');
  });
});
