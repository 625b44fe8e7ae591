// Every way to create an object ends with the finalizer on it, for each of the 13 plurals.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { defaultKinds } from '../../src/api/kinds.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { aManifest, Cluster } from '../support/cluster.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'admission';
const FINALIZER = 'michelangelo/Ingester';

describe('admission on a real API server', () => {
  const bundle = useBundle({ startReconciler: false });
  let cluster: Cluster;
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
  });

  const finalizersOf = async (kindName: string, name: string): Promise<readonly string[] | undefined> => {
    const found = defaultKinds.find((each) => each.kind === kindName);
    assert.ok(found !== undefined);
    return (await cluster.get(found, NS, name))?.metadata.finalizers;
  };

  for (const { kind: kindName } of defaultKinds) {
    it(`guards a ${kindName} made by create, apply and server-side apply`, async () => {
      await cluster.create(aManifest(kindName, NS, 'created', { spec: {} }));
      await cluster.apply(aManifest(kindName, NS, 'applied', { spec: {} }));
      await cluster.apply(aManifest(kindName, NS, 'applied-by-server', { spec: {} }), '--server-side');
      for (const name of ['created', 'applied', 'applied-by-server']) {
        assert.deepEqual(await finalizersOf(kindName, name), [FINALIZER], name);
      }
    });
  }

  it('keeps the finalizers of others and adds ours once', async () => {
    const metadata = (name: string, finalizers: readonly string[] | null): object => ({
      name,
      namespace: NS,
      finalizers,
    });
    const model = { apiVersion: 'michelangelo.api/v2', kind: 'Model' };
    await cluster.create({ ...model, metadata: metadata('others', ['example.com/a', 'example.com/b']) });
    await cluster.create({ ...model, metadata: metadata('ours', [FINALIZER]) });
    await cluster.create({ ...model, metadata: metadata('empty', []) });
    await cluster.create({ ...model, metadata: metadata('null', null) });
    assert.deepEqual(await finalizersOf('Model', 'others'), ['example.com/a', 'example.com/b', FINALIZER]);
    for (const name of ['ours', 'empty', 'null']) assert.deepEqual(await finalizersOf('Model', name), [FINALIZER]);
  });

  it('guards objects with generated names', async () => {
    const manifest = {
      apiVersion: 'michelangelo.api/v2',
      kind: 'Model',
      metadata: { generateName: 'gen-', namespace: NS },
    };
    const { stdout } = await cluster.create(manifest, '-o', 'json');
    assert.deepEqual((JSON.parse(stdout) as KubernetesObject).metadata.finalizers, [FINALIZER]);
  });

  it('shows the finalizer in a server-side dry run, and persists nothing', async () => {
    const { stdout } = await cluster.create(aManifest('Model', NS, 'dry'), '--dry-run=server', '-o', 'json');
    assert.deepEqual((JSON.parse(stdout) as KubernetesObject).metadata.finalizers, [FINALIZER]);
    assert.equal(await finalizersOf('Model', 'dry'), undefined);
  });

  it('guards an object that kubectl replaces by force', async () => {
    const input = JSON.stringify(aManifest('Model', NS, 'created', { spec: { algorithm: 'replaced' } }));
    // The reconciler does not run here, so the old object must let go by itself.
    await cluster.kubectl(
      'patch',
      'models.michelangelo.api',
      '-n',
      NS,
      'created',
      '--type=merge',
      '-p',
      '{"metadata":{"finalizers":null}}',
    );
    await bundle().controlPlane.kubectlRun(['replace', '--force', '-f', '-'], { input });
    assert.deepEqual(await finalizersOf('Model', 'created'), [FINALIZER]);
  });

  it('is not called for updates, deletes, status writes or objects of other groups', async () => {
    const calls = (): number => readFileSync(bundle().webhook.logFile, 'utf8').split('"Reviewed"').length;
    const before = calls();
    const args = ['models.michelangelo.api', '-n', NS, 'applied', '--type=merge'];
    await cluster.kubectl('patch', ...args, '-p', '{"spec":{"algorithm":"x"}}');
    await cluster.kubectl('patch', ...args, '--subresource=status', '-p', '{"status":{}}');
    await cluster.kubectl('patch', ...args, '-p', '{"metadata":{"finalizers":null}}');
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'applied');
    await cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other', namespace: NS } });
    assert.equal(calls(), before);
  });

  it('leaves the finalizer without an owner, so that a later server-side apply does not take it away', async () => {
    await cluster.apply(aManifest('Model', NS, 'applied-by-server', { spec: { algorithm: 'again' } }), '--server-side');
    assert.deepEqual(await finalizersOf('Model', 'applied-by-server'), [FINALIZER]);
  });

  it('refuses what the schema does not allow, before anything is stored', async () => {
    const wrong = await cluster.create(
      aManifest('Model', NS, 'wrong', { spec: { kind: 'NO_SUCH_KIND', revisionId: 'x' } }),
    );
    assert.notEqual(wrong.code, 0);
    assert.match(wrong.stderr, /spec\.kind.*Unsupported value/s);
    assert.match(wrong.stderr, /spec\.revisionId.*must be of type integer/s);
  });

  it('gives the reconciler exactly the rights it needs', async () => {
    const user = '--as=system:serviceaccount:ingester-system:ingester-reconciler';
    const can = async (verb: string, resource: string): Promise<boolean> =>
      (await cluster.tryKubectl('auth', 'can-i', verb, resource, user, '-n', NS)).stdout.trim() === 'yes';
    for (const { plural } of defaultKinds) {
      for (const verb of ['get', 'list', 'watch', 'patch', 'delete']) {
        assert.ok(await can(verb, `${plural}.michelangelo.api`), `${verb} ${plural}`);
      }
    }
    for (const verb of ['create', 'update', 'deletecollection'])
      assert.ok(!(await can(verb, 'models.michelangelo.api')), verb);
    for (const resource of ['secrets', 'configmaps', 'deployments.apps', 'cachedoutputs.michelangelo.api']) {
      assert.ok(!(await can('get', resource)), resource);
    }
  });
});
