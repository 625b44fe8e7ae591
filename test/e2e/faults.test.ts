// What happens when parts die: MySQL, the reconciler, the API server, the webhook.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { probe } from '../../hack/local/role-process.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually, throughout } from '../support/eventually.ts';
import { leaks, saidBy, secretsOf } from '../support/leaks.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'faults';
const Model = kind('Model');

describe('the bundle under faults', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
  });

  const create = (name: string, spec: object = {}) => cluster.apply(aManifest('Model', NS, name, { spec }));
  const stored = (name: string) => eventually(() => cluster.row(Model, NS, name));
  const deleteSoon = (name: string) =>
    cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, name, '--wait=false');
  const gone = (name: string) => cluster.gone(Model, NS, name);

  it('S5: a deletion is held while MySQL is down and completes within the requeue period when it is back', async () => {
    await create('held');
    await create('held-by-annotation');
    await stored('held');
    await stored('held-by-annotation');
    await bundle().server.kill();
    await deleteSoon('held');
    await cluster.patch(Model, NS, 'held-by-annotation', {
      metadata: { annotations: { 'michelangelo/Deleting': 'true' } },
    });
    await throughout(4000, async () => {
      const held = await cluster.get(Model, NS, 'held');
      assert.ok(held !== undefined);
      assert.deepEqual(held.metadata.finalizers, ['michelangelo/Ingester']);
      assert.notEqual(held.metadata.deletionTimestamp, undefined);
      const marked = await cluster.get(Model, NS, 'held-by-annotation');
      assert.equal(marked?.metadata.deletionTimestamp, undefined);
    });
    assert.match(cluster.reconcilerLog(), /STORAGE_UNAVAILABLE/);
    await bundle().server.start();
    await gone('held');
    await gone('held-by-annotation');
    for (const name of ['held', 'held-by-annotation']) {
      assert.notEqual((await cluster.row(Model, NS, name))['delete_time'], null);
    }
  });

  it('says in /readyz that MySQL is down, and that it is back', async () => {
    const ready = () => probe(bundle().reconcilerHealthPort, '/readyz');
    await bundle().server.stop();
    await eventually(async () => {
      const { status, body } = await ready();
      assert.equal(status, 503);
      assert.match(body, /\[-\] storage: MySQL is not available/);
      assert.match(body, /\[\+\] watch-models ok/);
    });
    assert.equal((await probe(bundle().reconcilerHealthPort, '/healthz')).status, 200);
    await bundle().server.start();
    await eventually(async () => assert.equal((await ready()).status, 200));
  });

  it('counts its work in /metrics, under the names of controller-runtime', async () => {
    await create('too-long-for-a-column', { algorithm: 'x'.repeat(300) });
    const unfit = /ingester_column_values_unfit_total\{kind="Model",column="algorithm"\} [1-9]/;
    await eventually(async () => assert.match((await probe(bundle().reconcilerHealthPort, '/metrics')).body, unfit));
    const { status, body } = await probe(bundle().reconcilerHealthPort, '/metrics');
    assert.equal(status, 200);
    assert.match(body, /controller_runtime_reconcile_total\{controller="ingester_Model",result="success"\} [1-9]/);
    assert.match(body, /controller_runtime_reconcile_errors_total\{controller="ingester_RayJob"\} 0/);
    assert.match(body, /ingester_change_lag_seconds_count\{kind="Model"\} [1-9]/);
    assert.match(body, /ingester_unstored_changes\{kind="RayJob"\} 0/);
    assert.match(body, /ingester_objects\{kind="Model"\} [1-9]/);
    assert.match(body, /ingester_storage_available 1/);
    assert.match(body, /ingester_commits_total\{outcome="committed"\} [1-9]/);
    assert.match(body, /ingester_build_info\{version="[\d.]+",commit="",node="v[\d.]+"\} 1/);
    assert.match(body, /process_resident_memory_bytes [1-9]/);
    assert.match(body, /workqueue_adds_total\{name="ingester_Model",controller="ingester_Model"\} [1-9]/);
    assert.match(body, /rest_client_requests_total\{code="200",method="GET",host="127\.0\.0\.1:\d+"\} [1-9]/);
  });

  it('stores every object that was created or changed while MySQL was down', async () => {
    await bundle().server.kill();
    for (let index = 0; index < 20; index += 1) await create(`outage-${index}`, { algorithm: 'first' });
    for (let index = 0; index < 20; index += 2) await create(`outage-${index}`, { algorithm: 'second' });
    await bundle().server.start();
    await eventually(async () => {
      for (let index = 0; index < 20; index += 1) {
        const row = await cluster.row(Model, NS, `outage-${index}`);
        assert.equal(row['algorithm'], index % 2 === 0 ? 'second' : 'first');
      }
    });
  });

  it('has the final state of objects whose finalizer a user takes off, or replaces away, while MySQL is down', async () => {
    await create('freed', { algorithm: 'first' });
    await stored('freed');
    await bundle().server.kill();
    const names = ['freed', 'freed-new', 'replaced'];
    for (const name of names) await create(name, { algorithm: 'second' });
    for (const name of names) await deleteSoon(name);
    for (const name of ['freed', 'freed-new']) await cluster.patch(Model, NS, name, { metadata: { finalizers: null } });
    const manifest = JSON.stringify(aManifest('Model', NS, 'replaced', { spec: { algorithm: 'third' } }));
    await bundle().controlPlane.kubectlRun(['replace', '-f', '-'], { input: manifest });
    for (const name of names) await gone(name);
    await bundle().server.start();
    await eventually(async () => {
      for (const name of names) {
        const row = await cluster.row(Model, NS, name);
        assert.notEqual(row['delete_time'], null, name);
        // The API server deletes the object in place of storing the replacement.
        assert.equal(row['algorithm'], 'second', name);
      }
    });
  });

  it('gives up on a MySQL server that hangs, and goes on when it answers again', async () => {
    bundle().server.pause();
    await create('while-frozen');
    await new Promise((resolve) => setTimeout(resolve, 3000));
    bundle().server.resume();
    await stored('while-frozen');
  });

  it('S6: after kill -9 and restart every object is in MySQL, also what changed in between', async () => {
    await create('before', { algorithm: 'old' });
    await create('to-delete');
    await stored('before');
    await stored('to-delete');
    bundle().reconciler.kill('SIGKILL');
    await bundle().reconciler.exited();
    await create('before', { algorithm: 'new' });
    await create('in-between');
    await deleteSoon('to-delete');
    await bundle().reconciler.start();
    await stored('in-between');
    await gone('to-delete');
    await eventually(async () => assert.equal((await cluster.row(Model, NS, 'before'))['algorithm'], 'new'));
    assert.notEqual((await cluster.row(Model, NS, 'to-delete'))['delete_time'], null);
  });

  it('refills an emptied database after a restart', async () => {
    await create('refilled');
    await stored('refilled');
    await bundle().reconciler.stop();
    await bundle().database.query('DELETE FROM model');
    await bundle().reconciler.start();
    await stored('refilled');
  });

  it('stops cleanly on SIGTERM within seconds', async () => {
    await bundle().reconciler.stop();
    assert.match(cluster.reconcilerLog(), /Reconciler stopped/);
    await bundle().reconciler.start();
  });

  it('goes on watching after the API server was killed and restarted', async () => {
    bundle().controlPlane.apiServer.kill('SIGKILL');
    await bundle().controlPlane.apiServer.exited();
    await bundle().controlPlane.apiServer.start();
    await create('after-restart');
    await stored('after-restart');
  });

  it('survives a frozen API server', async () => {
    bundle().controlPlane.apiServer.kill('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 5000));
    bundle().controlPlane.apiServer.kill('SIGCONT');
    await create('after-freeze');
    await stored('after-freeze');
  });

  it('waits for a CRD that is taken away, and starts again when it is back', async () => {
    await cluster.kubectl('annotate', 'crd', 'rayjobs.michelangelo.api', 'michelangelo/allow-crd-delete=true');
    await cluster.kubectl('delete', 'crd', 'rayjobs.michelangelo.api');
    await eventually(() => assert.match(cluster.reconcilerLog(), /CRD rayjobs\.michelangelo\.api is not installed/));
    const { body } = await probe(bundle().reconcilerHealthPort, '/readyz');
    assert.match(body, /\[-\] watch-rayjobs: the CRD is not installed/);
    // The webhook is asked what the CRD was before, and connects for it.
    await eventually(() => cluster.kubectl('apply', '-f', 'crds/rayjobs.michelangelo.api.yaml'));
    await cluster.kubectl('wait', '--for=condition=Established', 'crd/rayjobs.michelangelo.api');
    await eventually(() => cluster.apply(aManifest('RayJob', NS, 'back', { spec: {} })));
    await eventually(() => cluster.row(kind('RayJob'), NS, 'back'));
  });

  it('refuses creates while the webhook is down, says why, and lets everything else pass', async () => {
    await create('existing');
    await stored('existing');
    await bundle().webhook.stop();
    const refused = await cluster.create(aManifest('Model', NS, 'refused'));
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /finalizer\.ingester\.michelangelo\.api/);
    assert.equal(
      (await cluster.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: NS } })).code,
      0,
    );
    await create('existing', { algorithm: 'updated' });
    await deleteSoon('existing');
    await gone('existing');
    await bundle().webhook.start();
    assert.equal((await cluster.create(aManifest('Model', NS, 'accepted'))).code, 0);
  });

  it('shows no secret in logs, metrics and events over all these faults', async () => {
    assert.deepEqual(leaks(await saidBy(bundle()), secretsOf(bundle())), []);
  });

  it('loses no row and wedges no object over all these faults', async () => {
    await cluster.kubectl('delete', 'namespace', NS, '--timeout=60s');
    const live = await bundle().database.query('SELECT name FROM model WHERE namespace = ? AND delete_time IS NULL', [
      NS,
    ]);
    assert.deepEqual(live, []);
  });
});
