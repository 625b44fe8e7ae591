// Objects that the webhook did not guard: the sweep finds them, and what it may not write to is not lost either.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { probe } from '../../hack/local/role-process.ts';
import { FINALIZER, UNGUARDED_ANNOTATION } from '../../src/api/names.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually, throughout } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'finalizer-sweep';
const model = kind('Model');

describe('the finalizer sweep', () => {
  const bundle = useBundle({ startReconciler: false });
  let cluster: Cluster;
  const finalizersOf = async (name: string) => (await cluster.get(model, NS, name))?.metadata.finalizers;
  const annotations = { [UNGUARDED_ANNOTATION]: 'true' };
  const metric = async (name: string) => {
    const { body } = await probe(bundle().reconcilerHealthPort, '/metrics');
    return Number(new RegExp(`^${name}\\{kind="Model"\\} (\\d+)`, 'm').exec(body)?.[1]);
  };

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.kubectl('delete', 'mutatingwebhookconfiguration', 'ingester-finalizer');
    await cluster.namespace(NS);
    for (const name of ['one', 'two', 'three']) await cluster.create(aManifest('Model', NS, name));
    await cluster.create(
      aManifest('Model', NS, 'opted-out', { metadata: { name: 'opted-out', namespace: NS, annotations } }),
    );
    const finalizers = ['example.com/other'];
    await cluster.create(aManifest('Model', NS, 'held', { metadata: { name: 'held', namespace: NS, finalizers } }));
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'held', '--wait=false');
    await bundle().reconciler.start();
  });

  it('guards objects that are older than the bundle, and is ready when every object is guarded', async () => {
    const names = ['one', 'two', 'three'];
    await eventually(async () => {
      for (const name of names) assert.deepEqual(await finalizersOf(name), [FINALIZER]);
    });
    const { status, body } = await probe(bundle().reconcilerHealthPort, '/readyz');
    assert.equal(status, 200);
    assert.match(body, /\[\+\] finalizers-models ok/);
    assert.equal(await metric('ingester_unguarded_objects'), 0);
    assert.equal(await metric('ingester_finalizer_sweep_objects_total'), names.length);
    await eventually(async () => {
      for (const name of names) assert.equal((await cluster.row(model, NS, name))['delete_time'], null);
    });
  });

  it('leaves alone objects that are being deleted and objects that a user opted out', async () => {
    assert.deepEqual(await finalizersOf('held'), ['example.com/other']);
    assert.equal(await finalizersOf('opted-out'), undefined);
    await cluster.patch(model, NS, 'held', { metadata: { finalizers: null } });
  });

  it('guards objects that come later, and objects whose finalizer a user removed by hand', async () => {
    await cluster.create(aManifest('Model', NS, 'late'));
    await eventually(async () => assert.deepEqual(await finalizersOf('late'), [FINALIZER]));
    await cluster.patch(model, NS, 'one', { metadata: { finalizers: null } });
    await eventually(async () => assert.deepEqual(await finalizersOf('one'), [FINALIZER]));
  });

  it('ends the row of an object that left unguarded, and says why', async () => {
    await eventually(async () => assert.equal((await cluster.row(model, NS, 'opted-out'))['delete_time'], null));
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'opted-out');
    await eventually(async () => {
      const row = await cluster.row(model, NS, 'opted-out');
      assert.notEqual(row['delete_time'], null);
      assert.equal(row['delete_reason'], 'deleted while it had no finalizer');
    });
  });

  it('ends no row twice: an ordinary deletion has no such reason', async () => {
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'two');
    await eventually(async () => assert.notEqual((await cluster.row(model, NS, 'two'))['delete_time'], null));
    assert.equal((await cluster.row(model, NS, 'two'))['delete_reason'], null);
  });

  it('guards nothing and ends no row while the marker says that an uninstall is under way, and goes on afterwards', async () => {
    const setPhase = (phase: string) =>
      cluster.kubectl(
        'patch',
        'configmap',
        'ingester-uninstall',
        '-n',
        'ingester-system',
        '--type=merge',
        '-p',
        `{"data":{"phase":"${phase}"}}`,
      );
    await setPhase('uninstalling');
    await eventually(() => assert.match(cluster.reconcilerLog(), /The bundle is being uninstalled/));
    for (const name of ['one', 'three']) await cluster.patch(model, NS, name, { metadata: { finalizers: null } });
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'three');
    await throughout(2000, async () => {
      assert.equal(await finalizersOf('one'), undefined);
      assert.equal((await cluster.row(model, NS, 'three'))['delete_time'], null);
    });
    assert.equal(await metric('ingester_unguarded_objects'), 1);
    await setPhase('active');
    await eventually(async () => assert.deepEqual(await finalizersOf('one'), [FINALIZER]));
  });
});
