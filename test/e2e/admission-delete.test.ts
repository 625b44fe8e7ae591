// Whatever way an object is deleted, admission neither holds it up nor brings it back, and its row ends exactly once.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { FINALIZER } from '../../src/api/names.ts';
import { ApiServer, contentTypes, pathOf } from '../support/api-server.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'deletes';
const Model = kind('Model');
const OBJECTS = 1000;
const AT_ONCE = 20;

describe('deleting guarded objects on a real API server', () => {
  const bundle = useBundle({ configuration: { ingester: { concurrentReconciles: 10 } } });
  let cluster: Cluster;
  let api: ApiServer;
  before(async () => {
    cluster = new Cluster(bundle());
    api = new ApiServer(bundle().controlPlane.kubeconfig);
    await cluster.namespace(NS);
  });
  after(() => api.close());

  const create = async (name: string, metadata: object = {}): Promise<string> => {
    const body = { ...aManifest('Model', NS, name, { spec: {} }), metadata: { name, ...metadata } };
    const created = await api.must({ method: 'POST', path: pathOf(Model, NS), body });
    assert.deepEqual(created.metadata.finalizers, [FINALIZER]);
    return created.metadata.uid;
  };
  const gone = (name: string) =>
    eventually(async () =>
      assert.equal((await api.call({ method: 'GET', path: pathOf(Model, NS, name) })).status, 404),
    );
  const endedOnce = async (name: string): Promise<void> => {
    const rows = await cluster.rows(Model, NS, name);
    assert.equal(rows.length, 1, name);
    assert.notEqual(rows[0]?.['delete_time'], null, name);
  };
  const kubectlDelete = (...args: readonly string[]) =>
    cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, ...args);

  const ways: readonly { name: string; flags: readonly string[] }[] = [
    { name: 'background', flags: ['--cascade=background'] },
    { name: 'foreground', flags: ['--cascade=foreground'] },
    { name: 'orphan', flags: ['--cascade=orphan'] },
    { name: 'no-wait', flags: ['--wait=false'] },
    { name: 'force', flags: ['--force', '--grace-period=0'] },
    { name: 'now', flags: ['--now'] },
  ];
  for (const { name, flags } of ways) {
    it(`26: ends one row and one object for kubectl delete ${flags.join(' ')}`, async () => {
      await create(name);
      await kubectlDelete(name, ...flags);
      await gone(name);
      await endedOnce(name);
    });
  }

  it('26: ends each row once for a deletion by label and for deletecollection', async () => {
    for (const name of ['labelled-0', 'labelled-1']) await create(name, { labels: { by: 'label' } });
    for (const name of ['collected-0', 'collected-1']) await create(name, { labels: { by: 'collection' } });
    await kubectlDelete('-l', 'by=label');
    await api.must({ method: 'DELETE', path: `${pathOf(Model, NS)}?labelSelector=by%3Dcollection` });
    for (const name of ['labelled-0', 'labelled-1', 'collected-0', 'collected-1']) {
      await gone(name);
      await endedOnce(name);
    }
  });

  it('26: treats children as the deletion asks: collected in the foreground, kept by orphan', async () => {
    for (const cascade of ['foreground', 'orphan']) {
      const uid = await create(`parent-${cascade}`);
      const owner = { apiVersion: 'michelangelo.api/v2', kind: 'Model', name: `parent-${cascade}`, uid };
      await create(`child-${cascade}`, { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] });
      await kubectlDelete(`parent-${cascade}`, `--cascade=${cascade}`);
      await gone(`parent-${cascade}`);
      await endedOnce(`parent-${cascade}`);
    }
    await gone('child-foreground');
    await endedOnce('child-foreground');
    const kept = await cluster.get(Model, NS, 'child-orphan');
    assert.deepEqual(kept?.metadata.finalizers, [FINALIZER]);
    assert.equal(kept.metadata['ownerReferences'], undefined);
  });

  it('27: a repeated delete changes nothing, and the same name is free once the first object is gone', async () => {
    bundle().reconciler.kill('SIGSTOP');
    const first = await create('again');
    for (let time = 0; time < 3; time += 1) await api.must({ method: 'DELETE', path: pathOf(Model, NS, 'again') });
    const tooEarly = await api.call({ method: 'POST', path: pathOf(Model, NS), body: aManifest('Model', NS, 'again') });
    assert.equal(tooEarly.status, 409);
    bundle().reconciler.kill('SIGCONT');
    await gone('again');
    const second = await create('again');
    assert.notEqual(second, first);
    await eventually(async () => {
      const rows = await cluster.rows(Model, NS, 'again');
      assert.equal(rows.length, 2);
      assert.equal(rows.filter((row) => row['delete_time'] === null).length, 1);
    });
  });

  it('29: an object whose row is missing goes all the same, and has a row that has ended', async () => {
    await create('rowless');
    await eventually(async () => assert.equal((await cluster.rows(Model, NS, 'rowless')).length, 1));
    await bundle().database.query('DELETE FROM model WHERE namespace = ? AND name = ?', [NS, 'rowless']);
    await kubectlDelete('rowless');
    await gone('rowless');
    await endedOnce('rowless');
  });

  it('32: the CRD cannot be deleted by accident, and no row ends by the attempt', async () => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/models.michelangelo.api';
    const { status, body } = await api.call({ method: 'DELETE', path });
    assert.equal(status, 403);
    assert.match(body.message ?? '', /set annotation michelangelo\/allow-crd-delete=true/);
    const row = await cluster.row(Model, NS, 'child-orphan');
    assert.equal(row['delete_time'], null);
  });

  it(`31: a namespace with ${OBJECTS} objects goes, though the webhook is down, and every row ends once`, async () => {
    const namespace = 'crowded';
    await cluster.namespace(namespace);
    const path = pathOf(Model, namespace);
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < OBJECTS) {
        next += 1;
        await api.must({ method: 'POST', path, body: aManifest('Model', namespace, `model-${next}`, { spec: {} }) });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    await bundle().webhook.stop();
    await api.must({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` });
    await eventually(async () => {
      const { status } = await api.call({ method: 'GET', path: `/api/v1/namespaces/${namespace}` });
      assert.equal(status, 404);
    }, 240_000);
    const rows = await cluster.rows(Model, namespace);
    assert.equal(rows.length, OBJECTS);
    assert.ok(rows.every((row) => row['delete_time'] !== null));
    await bundle().webhook.start();
  });

  it('34: children of a deleted owner go in the background, after the row of the owner has ended', async () => {
    const uid = await create('deleted-parent');
    const owner = { apiVersion: 'michelangelo.api/v2', kind: 'Model', name: 'deleted-parent', uid };
    // A finalizer of the test keeps the child, so that what was before its deletion can be seen.
    const hold = 'example.com/hold';
    const metadata = { name: 'collected-child', namespace: NS, ownerReferences: [owner], finalizers: [hold] };
    await cluster.apply(aManifest('Model', NS, 'collected-child', { metadata }));
    await kubectlDelete('deleted-parent', '--cascade=background', '--wait=false');
    await eventually(async () => {
      const child = await cluster.get(Model, NS, 'collected-child');
      assert.notEqual(child?.metadata.deletionTimestamp, undefined, 'the child is not being deleted yet');
      assert.deepEqual(child?.metadata.finalizers, [hold]);
    });
    await endedOnce('deleted-parent');
    assert.equal(await cluster.get(Model, NS, 'deleted-parent'), undefined);
    await cluster.patch(Model, NS, 'collected-child', { metadata: { finalizers: null } });
    await gone('collected-child');
    await endedOnce('collected-child');
  });

  it('34: an evicted owner leaves its children, and they lose nothing', async () => {
    const uid = await create('evicted-parent');
    const owner = { apiVersion: 'michelangelo.api/v2', kind: 'Model', name: 'evicted-parent', uid };
    await create('kept-child', { ownerReferences: [owner] });
    const body = { metadata: { annotations: { 'michelangelo/Immutable': 'true' } } };
    const path = pathOf(Model, NS, 'evicted-parent');
    await api.must({ method: 'PATCH', path, body, contentType: contentTypes.merge });
    await gone('evicted-parent');
    const row = await cluster.row(Model, NS, 'evicted-parent');
    assert.equal(row['delete_time'], null);
    assert.notEqual(row['evict_time'], null);
    const child = await cluster.get(Model, NS, 'kept-child');
    assert.deepEqual(child?.metadata.finalizers, [FINALIZER]);
    assert.equal(child.metadata.deletionTimestamp, undefined);
  });
});
