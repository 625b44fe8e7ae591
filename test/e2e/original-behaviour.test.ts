// What newer releases of the original do, on the real parts: cascades that keep runs readable, objects that are born to be
// evicted, and controllers that mark what is old.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'newer';
const IMMUTABLE = { 'michelangelo/Immutable': 'true' };

describe('beside a newer original', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
  });

  const create = async (type: string, name: string, metadata: object = {}): Promise<string> => {
    const manifest = aManifest(type, NS, name, { metadata: { name, namespace: NS, ...metadata }, spec: {} });
    await eventually(async () => {
      const { code, stderr } = await cluster.create(manifest);
      assert.ok(code === 0 || stderr.includes('AlreadyExists'), stderr);
    });
    const object = await cluster.get(kind(type), NS, name);
    return object?.metadata.uid ?? assert.fail(`${name} is not there`);
  };
  const stateOf = async (type: string, name: string): Promise<readonly [unknown, boolean]> => {
    const row = await cluster.row(kind(type), NS, name);
    return [row['row_state'], row['delete_time'] === null];
  };
  const ownedBy = (uid: string, name: string): object => ({
    ownerReferences: [
      { apiVersion: 'michelangelo.api/v2', kind: 'Pipeline', name, uid, controller: true, blockOwnerDeletion: true },
    ],
  });

  for (const propagation of ['Foreground', 'Background']) {
    it(`keeps the runs of a pipeline readable that is deleted ${propagation}, by the annotation or at once`, async () => {
      for (const how of ['annotated', 'deleted']) {
        const name = `${propagation}-${how}`.toLowerCase();
        const uid = await create('Pipeline', name);
        for (const type of ['PipelineRun', 'TriggerRun']) await create(type, name, ownedBy(uid, name));
        await create('RayJob', name, ownedBy(uid, name));
        if (how === 'annotated') {
          const annotations = { 'michelangelo/Deleting': 'true', 'michelangelo/DeletePropagation': propagation };
          await cluster.patch(kind('Pipeline'), NS, name, { metadata: { annotations } });
        } else {
          const cascade = `--cascade=${propagation.toLowerCase()}`;
          await cluster.kubectl('delete', 'pipelines.michelangelo.api', name, '-n', NS, cascade, '--wait=false');
        }
        for (const type of ['Pipeline', 'PipelineRun', 'TriggerRun', 'RayJob'])
          await cluster.gone(kind(type), NS, name);
        for (const type of ['PipelineRun', 'TriggerRun']) assert.deepEqual(await stateOf(type, name), [3, true], type);
        for (const type of ['Pipeline', 'RayJob']) assert.deepEqual(await stateOf(type, name), [2, false], type);
      }
    });
  }

  it('lets runs go whose owners no client could ask for: names that none can have, and kinds that are out of sight', async () => {
    const owners = ['50%', '..', 'a/status'].map((name) => ownedBy('11111111-0000-4000-8000-000000000001', name));
    const unseen = { apiVersion: 'michelangelo.api/v2', kind: 'CachedOutput', name: 'c', uid: '2' };
    for (const [index, owner] of [...owners, { ownerReferences: [unseen] }].entries()) {
      await create('PipelineRun', `odd-${index}`, owner);
      await cluster.kubectl(
        'delete',
        'pipelineruns.michelangelo.api',
        `odd-${index}`,
        '-n',
        NS,
        '--wait=false',
        '--ignore-not-found',
      );
    }
    for (const index of [0, 1, 2, 3]) await cluster.gone(kind('PipelineRun'), NS, `odd-${index}`);
    for (const index of [0, 1, 2]) assert.deepEqual(await stateOf('PipelineRun', `odd-${index}`), [3, true]);
  });

  it('deletes the row of a run that a user deletes while its pipeline lives', async () => {
    const uid = await create('Pipeline', 'lives');
    await create('PipelineRun', 'single', ownedBy(uid, 'lives'));
    await cluster.kubectl('delete', 'pipelineruns.michelangelo.api', 'single', '-n', NS, '--wait=false');
    await cluster.gone(kind('PipelineRun'), NS, 'single');
    assert.deepEqual(await stateOf('PipelineRun', 'single'), [2, false]);
  });

  it('evicts an object that is created with the eviction annotation', async () => {
    const manifest = aManifest('PipelineRun', NS, 'born', {
      metadata: { name: 'born', namespace: NS, annotations: IMMUTABLE },
      spec: { pipeline: { namespace: NS, name: 'lives' } },
    });
    await eventually(async () => assert.equal((await cluster.create(manifest)).code, 0));
    await cluster.gone(kind('PipelineRun'), NS, 'born');
    assert.deepEqual(await stateOf('PipelineRun', 'born'), [3, true]);
    assert.equal((await cluster.row(kind('PipelineRun'), NS, 'born'))['pipeline_name'], 'lives');
  });

  it('evicts what a controller of the original marks when its time is over', async () => {
    await create('PipelineRun', 'old');
    const role = { apiGroups: ['michelangelo.api'], resources: ['*'], verbs: ['*'] };
    const rights = {
      kind: 'ClusterRole',
      apiVersion: 'rbac.authorization.k8s.io/v1',
      metadata: { name: 'controllermgr' },
    };
    await cluster.apply({ ...rights, rules: [role] });
    const account = `system:serviceaccount:${NS}:controllermgr`;
    await cluster.kubectl(
      'create',
      'clusterrolebinding',
      'controllermgr',
      '--clusterrole=controllermgr',
      `--user=${account}`,
    );
    const patch = JSON.stringify({ metadata: { annotations: IMMUTABLE } });
    const marking = ['patch', 'pipelineruns.michelangelo.api', 'old', '-n', NS, '--type=merge', '-p', patch];
    await eventually(() => cluster.kubectl(...marking, '--as', account));
    await cluster.gone(kind('PipelineRun'), NS, 'old');
    assert.deepEqual(await stateOf('PipelineRun', 'old'), [3, true]);
  });

  describe('and objects that were moved here from another cluster', () => {
    const KEY = 'uid-in-the-cluster-before';
    const { table } = kind('PipelineRun');
    const keyed = { annotations: { 'michelangelo/MetadataStoragePrimaryKey': KEY } };
    const rowsOf = (name: string) =>
      bundle().database.query(
        `SELECT uid, object_uid, res_version, delete_time FROM ${table} WHERE namespace = ? AND name = ?`,
        [NS, name],
      );

    before(async () => {
      const json = JSON.stringify({
        metadata: { name: 'moved', namespace: NS, uid: KEY, resourceVersion: '900000000' },
      });
      await bundle().database.query(
        `INSERT INTO ${table} (uid, group_ver, namespace, name, res_version, create_time, update_time, proto, json) ` +
          "VALUES (?, 'michelangelo.api/v2', ?, 'moved', 900000000, '2026-05-01 08:00:00', '2026-05-01 08:00:00', '', ?)",
        [KEY, NS, json],
      );
    });

    it('keeps their rows, to which lower versions are written until they are deleted', async () => {
      const uid = await create('PipelineRun', 'moved', keyed);
      const isAt = async (version: string): Promise<void> => {
        const [row, ...others] = await rowsOf('moved');
        assert.deepEqual([others, row?.['uid'], row?.['object_uid']], [[], KEY, uid]);
        assert.deepEqual([String(row?.['res_version']), row?.['delete_time']], [version, null]);
      };
      const version = async () => (await cluster.get(kind('PipelineRun'), NS, 'moved'))?.metadata.resourceVersion ?? '';
      await eventually(async () => isAt(await version()));
      await cluster.patch(kind('PipelineRun'), NS, 'moved', { metadata: { labels: { changed: 'here' } } });
      await eventually(async () => isAt(await version()));
      const labels = await bundle().database.query(`SELECT \`key\` FROM ${table}_labels WHERE obj_uid = ?`, [KEY]);
      assert.deepEqual(labels, [{ key: 'changed' }]);
      await cluster.kubectl('delete', 'pipelineruns.michelangelo.api', 'moved', '-n', NS, '--wait=false');
      await cluster.gone(kind('PipelineRun'), NS, 'moved');
      const [row, ...others] = await rowsOf('moved');
      assert.deepEqual([others, row?.['uid'], row?.['delete_time'] === null], [[], KEY, false]);
    });

    it('gives an object of another name with the same key a row of its own, and says so', async () => {
      const uid = await create('PipelineRun', 'copied', keyed);
      await eventually(async () =>
        assert.deepEqual(
          (await rowsOf('copied')).map((row) => row['uid']),
          [uid],
        ),
      );
      assert.match(cluster.reconcilerLog(), /"name":"copied".*that of another row/);
    });
  });
});
