// Uninstalling on real parts: the deletion protection holds the bundle, the uninstall removes every finalizer, and a new start goes on.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { kubeconfigText } from '../../hack/local/kubeconfig.ts';
import { FINALIZER } from '../../src/api/names.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { crdName } from '../../src/kinds/kind-names.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually, throughout } from '../support/eventually.ts';
import { runIngester } from '../support/ingester.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'uninstall';
const COUNT = 1000;
const model = kind('Model');
const project = kind('Project');

function anIngester(name: string, labels: Readonly<Record<string, string>> = {}): object {
  const spec = {
    version: '1.0.0',
    image: 'example.com/ingester:1.0.0',
    database: { credentialsSecret: 'ingester-mysql' },
  };
  return {
    apiVersion: 'ingester.michelangelo.api/v1',
    kind: 'Ingester',
    metadata: { name, namespace: 'ingester-system', labels },
    spec,
  };
}

describe('ingester uninstall', () => {
  // So many objects are guarded anew here that the pace of the product would be most of the time.
  const bundle = useBundle({ configuration: { finalizerSweep: { rate: 1000 }, leaderElection: { enabled: true } } });
  let cluster: Cluster;
  const phase = () =>
    cluster.kubectl('get', 'configmap', 'ingester-uninstall', '-n', 'ingester-system', '-o', 'jsonpath={.data.phase}');
  const guarded = async () => {
    const path = 'jsonpath={range .items[*]}{.metadata.finalizers}{"\\n"}{end}';
    const list = await cluster.kubectl('get', `${crdName(model)},${crdName(project)}`, '-A', '-o', path);
    return list.split('\n').filter((line) => line.includes(FINALIZER)).length;
  };
  const applyBundle = () => cluster.kubectl('apply', '-k', join(bundle().directory, 'config/overlays/local'));
  const protectedObjects: readonly (readonly string[])[] = [
    ['crd', crdName(model)],
    ['crd', 'ingesters.ingester.michelangelo.api'],
    ['ingester', 'main', '-n', 'ingester-system'],
    ['namespace', 'ingester-system'],
    ['serviceaccount', 'ingester-reconciler', '-n', 'ingester-system'],
    ['clusterrole', 'ingester-reconciler'],
    ['clusterrolebinding', 'ingester-reconciler'],
    ...['uninstall', 'control', 'status', 'admission-record'].map((name) => [
      'configmap',
      `ingester-${name}`,
      '-n',
      'ingester-system',
    ]),
    ...['control', 'leader-election', 'uninstall-marker'].flatMap((name) =>
      ['role', 'rolebinding'].map((kind) => [kind, `ingester-${name}`, '-n', 'ingester-system']),
    ),
    ['lease', 'ingester-reconciler', '-n', 'ingester-system'],
  ];
  const tryDelete = (what: readonly string[]) => cluster.tryKubectl('delete', ...what, '--dry-run=server');

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    await cluster.kubectl('apply', '-k', join(bundle().directory, 'config/components/deletion-protection'));
    await cluster.kubectl('apply', '--server-side', '-k', join(bundle().directory, 'crds/ingester'));
    await cluster.kubectl('wait', '--for=condition=Established', 'crd/ingesters.ingester.michelangelo.api');
    await cluster.apply(anIngester('main'));
    await cluster.apply(anIngester('canary', { 'michelangelo/canary': 'true' }));
    const items = Array.from({ length: COUNT }, (_, index) => aManifest('Model', NS, `model-${index}`));
    await cluster.apply({ apiVersion: 'v1', kind: 'List', items }, '--server-side');
    await cluster.create(aManifest('Project', NS, NS));
    await eventually(async () => assert.equal((await cluster.rows(model, NS)).length, COUNT), 120_000);
  });

  it('is asked for by the deletion protection before anything of the bundle may be deleted', async () => {
    for (const what of protectedObjects) {
      await eventually(async () => {
        const { code, stderr } = await tryDelete(what);
        assert.equal(code, 1, what.join(' '));
        assert.match(stderr, /run "ingester uninstall" first/);
      });
    }
    assert.equal((await tryDelete(['crd', '--all'])).code, 1);
    await cluster.kubectl('create', 'namespace', 'unrelated');
    assert.equal((await tryDelete(['namespace', 'unrelated'])).code, 0);
    assert.equal((await tryDelete(['ingester', 'canary', '-n', 'ingester-system'])).code, 0);
  });

  it('can be broken off at any time, and nothing may be deleted until it has ended', async () => {
    const { code, stderr } = await runIngester(bundle(), ['uninstall'], {
      stopAt: /Deleted mutatingwebhookconfigurations/,
    });
    assert.equal(code, 1);
    assert.match(stderr, /UNINSTALL_STOPPED/);
    assert.equal(await phase(), 'uninstalling');
    assert.equal((await tryDelete(['crd', crdName(model)])).code, 1);
  });

  it('goes on when it is run again, without MySQL, and removes every finalizer while the reconciler runs', async () => {
    await bundle().server.kill();
    const { code, stdout, stderr } = await runIngester(bundle(), ['uninstall', '-o', 'json']);
    assert.equal(code, 0, stderr);
    const result = JSON.parse(stdout) as {
      readonly phase: string;
      readonly finalizersRemoved: Readonly<Record<string, number>>;
    };
    assert.equal(result.phase, 'removable');
    assert.ok((result.finalizersRemoved['Model'] ?? 0) <= COUNT);
    assert.equal(result.finalizersRemoved['Project'], 1);
    assert.equal(await phase(), 'removable');
    await throughout(3000, async () => assert.equal(await guarded(), 0));
    await bundle().server.start();
  });

  it('touched no row', async () => {
    const rows = await cluster.rows(model, NS);
    assert.equal(rows.filter((row) => row['delete_time'] === null && row['evict_time'] === null).length, COUNT);
  });

  it('left no admission behind, and lets the deletion protection go', async () => {
    const left = await cluster.kubectl(
      'get',
      'mutatingwebhookconfigurations,validatingwebhookconfigurations',
      '-o',
      'name',
    );
    assert.equal(left.trim(), '');
    for (const what of protectedObjects) {
      await eventually(async () => assert.equal((await tryDelete(what)).code, 0, what.join(' ')));
    }
  });

  it('keeps the rows of objects that are deleted while it is in force', async () => {
    await cluster.kubectl('delete', crdName(model), '-n', NS, 'model-0');
    await throughout(1500, async () => assert.equal((await cluster.row(model, NS, 'model-0'))['delete_time'], null));
    await bundle().reconciler.stop();
  });

  it('is over when the bundle is installed again: objects are guarded, and the missed deletion is found', async () => {
    await applyBundle();
    assert.equal(await phase(), 'active');
    await bundle().reconciler.start();
    await eventually(async () => assert.equal(await guarded(), COUNT), 120_000);
    await eventually(async () => {
      const row = await cluster.row(model, NS, 'model-0');
      assert.equal(row['delete_reason'], 'missing from the API server at the start');
    });
    assert.equal((await tryDelete(['crd', crdName(model)])).code, 1);
  });

  it('loses nothing when a new database is empty: everything is stored anew, after a warning', async () => {
    await bundle().reconciler.stop();
    for (const table of ['model', 'model_labels', 'model_annotations'])
      await bundle().database.query(`TRUNCATE ${table}`);
    await bundle().reconciler.start();
    await eventually(async () => assert.equal((await cluster.rows(model, NS)).length, COUNT - 1), 120_000);
    assert.match(cluster.reconcilerLog(), /MySQL has no Model and the cluster has some: storing all of them/);
  });

  it('can be undone by a command', async () => {
    assert.equal((await runIngester(bundle(), ['uninstall'])).code, 0);
    assert.equal((await runIngester(bundle(), ['uninstall', '--undo'])).code, 0);
    await eventually(async () => assert.equal(await guarded(), COUNT), 120_000);
  });

  it('lets a namespace with a thousand guarded objects go, with the final state of each in MySQL', async () => {
    await applyBundle();
    await cluster.kubectl('delete', 'namespace', NS, '--timeout=240s');
    const rows = await cluster.rows(model, NS);
    assert.ok(rows.length >= COUNT - 1, `${rows.length} rows`);
    for (const row of rows) {
      assert.notEqual(row['delete_time'], null);
      const { metadata } = JSON.parse(JSON.stringify(row['json'])) as KubernetesObject;
      assert.notEqual(metadata.deletionTimestamp, undefined, 'the row has the state in which the object left');
    }
  });

  it('removes and installs all of the bundle, CRDs included: what went with them is archived', async () => {
    const other = 'after-uninstall';
    const survivors = ['first-survivor', 'second-survivor'];
    await cluster.namespace(other);
    for (const name of survivors) {
      await cluster.apply(aManifest('Model', other, name, { spec: { algorithm: name } }));
      await eventually(() => cluster.row(model, other, name));
    }
    assert.equal((await runIngester(bundle(), ['uninstall'])).code, 0);
    await bundle().reconciler.stop();
    // The uninstall has taken the webhook configurations away already.
    const removal = ['--ignore-not-found', '--timeout=240s'];
    await cluster.kubectl('delete', '-k', join(bundle().directory, 'config/components/deletion-protection'));
    await cluster.kubectl('delete', '-k', join(bundle().directory, 'config/overlays/local'), ...removal);
    assert.equal((await cluster.tryKubectl('get', 'crd', crdName(model))).code, 1);
    for (const name of survivors) assert.equal((await cluster.row(model, other, name))['delete_time'], null);
    await applyBundle();
    await cluster.kubectl('wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all');
    await renewToken();
    await bundle().reconciler.start();
    await eventually(() => cluster.apply(aManifest('Model', other, 'newcomer')));
    await eventually(() => cluster.row(model, other, 'newcomer'));
    assert.deepEqual((await cluster.get(model, other, 'newcomer'))?.metadata.finalizers, [FINALIZER]);
    // Their objects went with the definition. The start does not end rows where all of them are missing.
    const audited = await runIngester(bundle(), ['audit', '--kind', 'Model', '--repair']);
    assert.equal(audited.code, 0, `${audited.stdout}${audited.stderr}`);
    for (const name of survivors) {
      const row = await cluster.row(model, other, name);
      assert.match(String(row['delete_reason']), /^missing from the API server/);
      assert.equal(row['delete_time'], null);
      assert.notEqual(row['evict_time'], null, 'no user asked for it to be deleted');
    }
    const [name = ''] = survivors;
    const { code, stderr } = await runIngester(bundle(), ['restore', 'Model', `${other}/${name}`]);
    assert.equal(code, 0, stderr);
    const restored = await cluster.get(model, other, name);
    assert.deepEqual(restored?.['spec'], { algorithm: name });
    assert.deepEqual(restored.metadata.finalizers, [FINALIZER]);
  });

  it('frees every object after the namespace of the bundle was deleted at once, when status says that admission refuses', async () => {
    await bundle().reconciler.stop();
    await bundle().webhook.stop();
    await cluster.kubectl('delete', 'namespace', 'ingester-system', '--timeout=120s');
    assert.ok((await guarded()) > 0);
    const { code, stdout, stderr } = await runIngester(bundle(), ['status']);
    assert.equal(code, 1);
    assert.match(stdout, /^reconciler +FAILS .*\nMySQL +unknown .*\nadmission +FAILS .*\nquery API +absent /m, stderr);
    const uninstalled = await runIngester(bundle(), ['uninstall']);
    assert.equal(uninstalled.code, 0, uninstalled.stderr);
    assert.match(uninstalled.stderr, /The namespace ingester-system is deleted/);
    assert.equal(await guarded(), 0);
    await cluster.apply(aManifest('Model', 'after-uninstall', 'unguarded'));
  });

  /** The service account is another one now. */
  async function renewToken(): Promise<void> {
    const token = await cluster.kubectl('create', 'token', 'ingester-reconciler', '-n', 'ingester-system');
    const { url, caPem } = bundle().controlPlane;
    const user = { name: 'ingester-reconciler', token: token.trim() };
    writeFileSync(join(bundle().directory, 'ingester-reconciler.kubeconfig'), kubeconfigText({ url, caPem, user }));
  }
});
