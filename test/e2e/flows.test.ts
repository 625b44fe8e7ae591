// The specification's scenarios on the real parts: kubectl, API server, webhook, reconciler, MySQL.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { canonicalJson } from '../../src/base/json.ts';
import { allKinds, defaultKinds } from '../../src/kinds/kinds.ts';
import { decodeObject } from '../../src/proto/decode.ts';
import { aManifest, Cluster, kind, type Row } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { leaks, saidBy, secretsOf } from '../support/leaks.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'ingester-test';
const sampleName: Readonly<Record<string, string>> = {
  Project: 'ingester-test',
  ModelFamily: 'ingester-test-model-family',
};
const nameOf = (kindName: string): string => sampleName[kindName] ?? `ingester-test-${kindName.toLowerCase()}`;

describe('the bundle', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.kubectl('apply', '-k', 'config/samples');
  });

  const liveRow = (kindName: string) => cluster.row(kind(kindName), NS, nameOf(kindName));

  it('S1: has one row for each of the 13 sample objects', async () => {
    await eventually(async () => {
      for (const { kind: kindName } of defaultKinds) await liveRow(kindName);
    });
  });

  it('guards every kind although kubectl created the objects', async () => {
    for (const { kind: kindName } of defaultKinds) {
      const object = await cluster.get(kind(kindName), NS, nameOf(kindName));
      assert.deepEqual(object?.metadata.finalizers, ['michelangelo/Ingester'], kindName);
    }
  });

  it('stores the object, its labels, its annotations, its times and its protobuf form', async () => {
    const model = await cluster.get(kind('Model'), NS, nameOf('Model'));
    assert.ok(model !== undefined);
    const row = await liveRow('Model');
    const { managedFields: _, annotations: _annotations, ...metadata } = model.metadata;
    assert.equal(canonicalJson(asJson(row['json'])), canonicalJson({ ...model, metadata }));
    assert.equal(row['uid'], model.metadata.uid);
    assert.equal(row['res_version'], model.metadata.resourceVersion);
    assert.equal(row['group_ver'], 'michelangelo.api/v2');
    assert.equal(
      row['create_time'],
      `${(model.metadata.creationTimestamp ?? '').replace('T', ' ').replace('Z', '')}.000000`,
    );
    assert.equal(row['delete_time'], null);
    const decoded = decodeObject('Model', new Uint8Array(row['proto'] as Buffer));
    assert.deepEqual(decoded['spec'], model['spec']);
    const labels = await bundle().database.query('SELECT `key`, `value` FROM model_labels WHERE obj_uid = ?', [
      model.metadata.uid,
    ]);
    assert.deepEqual(Object.fromEntries(labels.map((label) => [label['key'], label['value']])), model.metadata.labels);
  });

  it('fills the indexed columns', async () => {
    const model = await liveRow('Model');
    assert.deepEqual(
      [
        model['algorithm'],
        model['owner'],
        model['model_kind'],
        model['model_family_name'],
        model['explainability_report_name'],
      ],
      ['xgboost', 'ingester-test-owner', 'MODEL_KIND_REGRESSION', 'ingester-test-model-family', null],
    );
    const run = await liveRow('PipelineRun');
    assert.deepEqual(
      [run['pipeline_name'], run['state'], run['end_time']],
      [nameOf('Pipeline'), 'PIPELINE_RUN_STATE_INVALID', null],
    );
    assert.equal((await liveRow('Project'))['tier'], 4);
  });

  it('keeps keys inside a Struct and an explicit false as they were written', async () => {
    const run = asJson((await liveRow('PipelineRun'))['json']) as { spec: { input: unknown } };
    assert.deepEqual(run.spec.input, { kw_args: { path: 'glue', name: 'sst2' } });
    const server = asJson((await liveRow('InferenceServer'))['json']) as { spec: { decomSpec: unknown } };
    assert.deepEqual(server.spec.decomSpec, { decommission: false });
  });

  it('S2: a patch arrives in the column, the version and the update time', async () => {
    const before = await liveRow('Model');
    await cluster.patch(kind('Model'), NS, nameOf('Model'), { spec: { algorithm: 'lightgbm' } });
    await eventually(async () => {
      const after = await liveRow('Model');
      assert.equal(after['algorithm'], 'lightgbm');
      assert.ok(Number(after['res_version']) > Number(before['res_version']));
      assert.ok(String(after['update_time']) > String(before['update_time']));
      assert.equal(after['create_time'], before['create_time']);
    });
  });

  const updates: readonly { kindName: string; patch: object; path: readonly string[]; value: unknown }[] = [
    { kindName: 'Project', patch: { spec: { description: 'v2', tier: 3 } }, path: ['spec', 'tier'], value: 3 },
    { kindName: 'ModelFamily', patch: { spec: { description: 'v2' } }, path: ['spec', 'description'], value: 'v2' },
    { kindName: 'Model', patch: { spec: { description: 'v2' } }, path: ['spec', 'description'], value: 'v2' },
    { kindName: 'Pipeline', patch: { spec: { description: 'v2' } }, path: ['spec', 'description'], value: 'v2' },
    {
      kindName: 'PipelineRun',
      patch: { spec: { input: { kw_args: { path: 'updated-glue' } } } },
      path: ['spec', 'input', 'kw_args', 'path'],
      value: 'updated-glue',
    },
    {
      kindName: 'InferenceServer',
      patch: { spec: { decomSpec: { decommission: true } } },
      path: ['spec', 'decomSpec', 'decommission'],
      value: true,
    },
    {
      kindName: 'Revision',
      patch: { spec: { owner: { name: 'new' } } },
      path: ['spec', 'owner', 'name'],
      value: 'new',
    },
    { kindName: 'Cluster', patch: { spec: { region: 'eu-1' } }, path: ['spec', 'region'], value: 'eu-1' },
    {
      kindName: 'RayCluster',
      patch: { spec: { rayVersion: '2.10.0' } },
      path: ['spec', 'rayVersion'],
      value: '2.10.0',
    },
    {
      kindName: 'RayJob',
      patch: { spec: { entrypoint: 'python train_v2.py' } },
      path: ['spec', 'entrypoint'],
      value: 'python train_v2.py',
    },
    {
      kindName: 'SparkJob',
      patch: { spec: { sparkVersion: '3.5.0' } },
      path: ['spec', 'sparkVersion'],
      value: '3.5.0',
    },
    { kindName: 'TriggerRun', patch: { spec: { autoFlip: true } }, path: ['spec', 'autoFlip'], value: true },
    {
      kindName: 'Deployment',
      patch: { metadata: { labels: { updated: 'true' } } },
      path: ['metadata', 'labels', 'updated'],
      value: 'true',
    },
  ];

  for (const { kindName, patch, path, value } of updates) {
    it(`brings an update of a ${kindName} to MySQL`, async () => {
      const before = await liveRow(kindName);
      await cluster.patch(kind(kindName), NS, nameOf(kindName), patch);
      await eventually(async () => {
        const after = await liveRow(kindName);
        assert.equal(dig(asJson(after['json']), path), value);
        assert.ok(Number(after['res_version']) > Number(before['res_version']));
        assert.ok(String(after['update_time']) > String(before['update_time']));
      });
    });
  }

  it('updates every default kind in this test', () => {
    assert.deepEqual(updates.map(({ kindName }) => kindName).sort(), defaultKinds.map((each) => each.kind).sort());
  });

  it('stores a status written through the subresource, times included', async () => {
    const status = { status: { state: 'PIPELINE_RUN_STATE_SUCCEEDED', endTime: '2026-02-03T04:05:06.789Z' } };
    const args = [
      '-n',
      NS,
      nameOf('PipelineRun'),
      '--subresource=status',
      '--type=merge',
      '-p',
      JSON.stringify(status),
    ];
    await cluster.kubectl('patch', 'pipelineruns.michelangelo.api', ...args);
    await eventually(async () => {
      const row = await liveRow('PipelineRun');
      assert.deepEqual([row['state'], row['end_time']], ['PIPELINE_RUN_STATE_SUCCEEDED', '2026-02-03 04:05:06.789000']);
    });
  });

  it('S3: the finalizer holds a deletion until MySQL has the final state, for every kind', async () => {
    const namespace = 's3';
    await cluster.namespace(namespace);
    for (const { kind: kindName } of defaultKinds)
      await cluster.apply(aManifest(kindName, namespace, 'doomed', { spec: {} }));
    await cluster.kubectl('delete', 'namespace', namespace, '--timeout=60s');
    for (const each of defaultKinds) {
      const row = await cluster.row(each, namespace, 'doomed');
      assert.notEqual(row['delete_time'], null, each.kind);
      const json = asJson(row['json']) as { metadata: { deletionTimestamp?: string } };
      assert.ok(json.metadata.deletionTimestamp !== undefined, `the final state of ${each.kind} is stored`);
    }
  });

  it('S4: an annotation deletes without the caller waiting', async () => {
    await cluster.apply(aManifest('Pipeline', NS, 'marked', { spec: { description: 'marked' } }));
    await eventually(() => cluster.row(kind('Pipeline'), NS, 'marked'));
    await cluster.patch(kind('Pipeline'), NS, 'marked', {
      metadata: { annotations: { 'michelangelo/Deleting': 'true' } },
    });
    await cluster.gone(kind('Pipeline'), NS, 'marked');
    assert.notEqual((await cluster.row(kind('Pipeline'), NS, 'marked'))['delete_time'], null);
    assert.match(cluster.reconcilerLog(), /Object marked for deletion via annotation/);
  });

  it('S5: an immutable object leaves etcd and stays in MySQL, not deleted', async () => {
    await cluster.apply(aManifest('Revision', NS, 'archived', { spec: { revisionId: '7' } }));
    await eventually(() => cluster.row(kind('Revision'), NS, 'archived'));
    await cluster.patch(kind('Revision'), NS, 'archived', {
      metadata: { annotations: { 'michelangelo/Immutable': 'true' } },
    });
    await cluster.gone(kind('Revision'), NS, 'archived');
    const row = await cluster.row(kind('Revision'), NS, 'archived');
    assert.equal(row['delete_time'], null);
    assert.notEqual(row['evict_time'], null);
  });

  it('archives an object of GitOps in etcd, keeps it archived when it is pruned, and warns of the mark for deletion', async () => {
    const [name, model] = ['owned', kind('Model')];
    const annotations = { 'argocd.argoproj.io/tracking-id': `shop:michelangelo.api/Model:${NS}/${name}` };
    await cluster.apply(aManifest('Model', NS, name, { metadata: { namespace: NS, name, annotations } }));
    await cluster.patch(model, NS, name, { metadata: { annotations: { 'michelangelo/Immutable': 'true' } } });
    await eventually(async () => {
      const reasons = 'jsonpath={.items[*].reason}';
      const about = `regarding.name=${name}`;
      const said = await cluster.kubectl(
        'get',
        'events.events.k8s.io',
        '-n',
        NS,
        '--field-selector',
        about,
        '-o',
        reasons,
      );
      assert.match(said, /Retained/);
    });
    const marked = ['annotate', 'models.michelangelo.api', '-n', NS, name, 'michelangelo/Deleting=true'];
    const { code, stderr } = await cluster.tryKubectl(...marked, '--dry-run=server');
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Warning: Argo CD application "shop" would create this object again/);
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, name, '--timeout=60s');
    const row = await cluster.row(model, NS, name);
    assert.equal(row['delete_time'], null);
    assert.notEqual(row['evict_time'], null);
  });

  it('evicting an owner leaves its dependants in the cluster', async () => {
    await cluster.apply(aManifest('Pipeline', NS, 'owner', { spec: {} }));
    const owner = await cluster.get(kind('Pipeline'), NS, 'owner');
    const ownerReferences = [
      { apiVersion: 'michelangelo.api/v2', kind: 'Pipeline', name: 'owner', uid: owner?.metadata.uid },
    ];
    await cluster.apply({
      ...aManifest('PipelineRun', NS, 'dependant', { spec: {} }),
      metadata: { namespace: NS, name: 'dependant', ownerReferences },
    });
    await cluster.patch(kind('Pipeline'), NS, 'owner', {
      metadata: { annotations: { 'michelangelo/Immutable': 'true' } },
    });
    await cluster.gone(kind('Pipeline'), NS, 'owner');
    const dependant = await cluster.get(kind('PipelineRun'), NS, 'dependant');
    assert.equal(dependant?.metadata.deletionTimestamp, undefined);
    assert.deepEqual(dependant?.metadata['ownerReferences'] ?? [], []);
  });

  it('keeps a row for each incarnation of a name', async () => {
    for (const description of ['first', 'second']) {
      await cluster.apply(aManifest('ModelFamily', NS, 'reborn', { spec: { description } }));
      if (description === 'first') await cluster.kubectl('delete', 'modelfamilys.michelangelo.api', '-n', NS, 'reborn');
    }
    await eventually(async () => {
      const rows = await cluster.rows(kind('ModelFamily'), NS, 'reborn');
      assert.deepEqual(
        rows.map((row) => row['delete_time'] === null),
        [false, true],
      );
      assert.deepEqual(
        rows.map((row) => dig(asJson(row['json']), ['spec', 'description'])),
        ['first', 'second'],
      );
    });
  });

  it('waits for finalizers of others and keeps storing the changes that they still make', async () => {
    const name = 'held';
    await cluster.apply({
      ...aManifest('Cluster', NS, name, { spec: { region: 'one' } }),
      metadata: { namespace: NS, name, finalizers: ['example.com/other'] },
    });
    await cluster.kubectl('delete', 'clusters.michelangelo.api', '-n', NS, name, '--wait=false');
    await eventually(async () => {
      const held = await cluster.get(kind('Cluster'), NS, name);
      assert.deepEqual(held?.metadata.finalizers, ['example.com/other']);
    });
    await cluster.patch(kind('Cluster'), NS, name, { spec: { region: 'two' } });
    await eventually(async () => {
      const row = await cluster.row(kind('Cluster'), NS, name);
      assert.equal(dig(asJson(row['json']), ['spec', 'region']), 'two');
      assert.notEqual(row['delete_time'], null);
    });
    await cluster.patch(kind('Cluster'), NS, name, { metadata: { finalizers: null } });
    await cluster.gone(kind('Cluster'), NS, name);
  });

  it('guards and then evicts an object that was created without the finalizer', async () => {
    const name = 'unguarded';
    await cluster.kubectl('delete', 'mutatingwebhookconfiguration', 'ingester-finalizer');
    await cluster.apply(aManifest('RayJob', NS, name, { spec: { entrypoint: 'x' } }));
    await cluster.patch(kind('RayJob'), NS, name, { metadata: { annotations: { 'michelangelo/Immutable': 'true' } } });
    await cluster.gone(kind('RayJob'), NS, name);
    const row = await cluster.row(kind('RayJob'), NS, name);
    assert.notEqual(row['evict_time'], null);
    assert.equal(row['delete_time'], null);
  });

  it('never logs an object, and logs no error over all these flows', () => {
    const log = cluster.reconcilerLog();
    assert.doesNotMatch(log, /"level":"error"/);
    assert.doesNotMatch(log, /lightgbm|updated-glue/);
  });

  it('says no secret in logs, metrics, events and ConfigMaps, and writes none into its rows', async () => {
    const token = 'hdfs-token-of-the-test-0123456789';
    const pod = { hdfsDelegationToken: token };
    const spec = { driver: { pod }, executor: { instances: 1, pod } };
    await cluster.apply(aManifest('SparkJob', NS, 'with-a-token', { spec }));
    const row = await eventually(() => cluster.row(kind('SparkJob'), NS, 'with-a-token'));
    assert.match(JSON.stringify(row), /with-a-token/);
    const proto = Buffer.from(row['proto'] as Uint8Array).toString('latin1');
    assert.deepEqual(leaks({ row: JSON.stringify(row), proto }, { token }), []);
    const annotations = await bundle().database.query('SELECT * FROM sparkjob_annotations');
    assert.deepEqual(leaks({ annotations: JSON.stringify(annotations) }, { token }), []);
    assert.deepEqual(leaks(await saidBy(bundle()), { ...secretsOf(bundle()), token }), []);
  });

  it('has tables for the 13 kinds and for the optional ones only where they are switched on', async () => {
    const tables = await bundle().database.query('SHOW TABLES');
    const names = tables.flatMap((row) => Object.values(row)).map(String);
    assert.equal(names.filter((name) => !name.startsWith('ingester_')).length, 39);
    for (const optional of allKinds.filter((each) => each.optional)) assert.ok(!names.includes(optional.table));
  });
});

function asJson(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value;
}

function dig(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((current, step) => (current as Row | undefined)?.[step], value);
}
