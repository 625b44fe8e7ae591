// Upgrades that are disturbed, on real servers. A migration waits for a file, so that whatever is done to it is done in
// the middle of it, however slow the machine is.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { IngesterStatus } from '../../src/api/ingester/status.ts';
import { APPROVE_UPGRADE_ANNOTATION } from '../../src/api/names.ts';
import { eventually } from '../support/eventually.ts';
import { makeNextVersion } from '../support/next-version.ts';
import { aSpec, INGESTER, type LifecycleCluster, SYSTEM, useLifecycle } from '../support/use-lifecycle.ts';

const HOLDER = `lifecycle/${SYSTEM}/${INGESTER}`;

/** The real migration, but not before `goOn`. */
interface Held {
  readonly command: readonly string[];
  readonly goOn: () => void;
}

function held(cluster: LifecycleCluster, name: string): Held {
  const file = join(cluster.bundle.controlPlane.directory, `go-on-${name}`);
  const wait = `until [ -e '${file}' ]; do sleep 0.2; done`;
  const command = ['sh', '-c', `${wait}; exec ingester task migrate --gate-holder ${HOLDER} -o json`];
  return { command, goOn: () => writeFileSync(file, '') };
}

function migrates(cluster: LifecycleCluster): Promise<IngesterStatus> {
  return cluster.until('in its migration', ({ lifecycle }) => {
    return lifecycle?.pipeline === 'Tasks' && lifecycle.steps.migrate?.state === 'Running';
  });
}

/** Waits for a reconcile that began after this. */
async function nextReconcile(cluster: LifecycleCluster, quiesceTimeout: string): Promise<IngesterStatus> {
  await cluster.patch({ lifecycle: { quiesceTimeout } });
  const { generation = 0 } = (await cluster.read('ingesters', INGESTER)).metadata;
  return cluster.until('looked at', ({ observedGeneration = 0 }) => observedGeneration >= generation);
}

function tokenOf({ lifecycle }: IngesterStatus): string {
  return lifecycle?.upgrade?.token ?? '';
}

function condition({ conditions }: IngesterStatus, type: string): string {
  const found = conditions?.find((each) => each.type === type);
  return `${found?.status ?? '-'} ${found?.reason ?? '-'}: ${found?.message ?? ''}`;
}

async function gateHolder(cluster: LifecycleCluster): Promise<unknown> {
  const [gate] = await cluster.bundle.database.query('SELECT closed_by FROM ingester_gate');
  return gate?.['closed_by'];
}

describe('an upgrade', () => {
  const next = makeNextVersion();
  after(() => next.remove());
  const use = useLifecycle({ images: [next.image] });
  before(async () => {
    const cluster = use();
    await cluster.apply({ ...aSpec, lifecycle: { ...aSpec.lifecycle, init: { disabled: true } } });
    await cluster.settled('1.0.0');
  });

  it('continues after its controller was killed: as it begins, in the migration and after it', async () => {
    const cluster = use();
    const kill = (): Promise<string> =>
      cluster.kubectl('delete', 'pod', '-l', 'app.kubernetes.io/component=lifecycle', '--force', '--grace-period=0');
    const runs = (await cluster.status()).lifecycle?.runs ?? 0;
    const { command, goOn } = held(cluster, 'killed');
    await cluster.patch({ version: '1.1.0', lifecycle: { migrate: { command } } });
    await cluster.until('under way', ({ lifecycle }) => lifecycle?.attempt !== undefined);
    await kill();
    const { lifecycle } = await migrates(cluster);
    await eventually(() => cluster.read('jobs', `${INGESTER}-migrate`), 120_000);
    await kill();
    goOn();
    await cluster.until('migrated', (status) => status.migratedVersion === '1.1.0');
    await kill();
    const status = await cluster.settled('1.1.0');
    // Quiesce, migrate and release, each of them once.
    assert.equal(status.lifecycle?.runs, runs + 3);
    assert.equal(status.lifecycle.steps.migrate?.run, lifecycle?.steps.migrate?.run);
    assert.equal(await gateHolder(cluster), null);
  });

  it('that is suspended in its migration changes nothing when that ends, and goes on afterwards', async () => {
    const cluster = use();
    const { command, goOn } = held(cluster, 'suspended');
    await cluster.patch({ version: '1.2.0', lifecycle: { migrate: { command } } });
    await migrates(cluster);
    await eventually(() => cluster.read('jobs', `${INGESTER}-migrate`), 120_000);
    await cluster.patch({ suspend: true });
    assert.match(condition(await cluster.inPhase('Suspended'), 'Suspended'), /at Migrating; still running: migrate-/);
    goOn();
    await cluster.kubectl('wait', 'job', `${INGESTER}-migrate`, '--for=condition=Complete', '--timeout=300s');
    const status = await nextReconcile(cluster, '6m');
    assert.equal(status.phase, 'Suspended');
    assert.equal(status.lifecycle?.steps.migrate?.state, 'Running');
    const deployments = await cluster.names('deployments', `michelangelo/ingester=${INGESTER}`);
    assert.deepEqual(deployments, [`${INGESTER}-maintenance-page`]);
    await cluster.patch({ suspend: false });
    assert.equal((await cluster.settled('1.2.0')).migratedVersion, '1.2.0');
  });

  it('waits for an approval, needs another one for another version, and uses it up', async () => {
    const cluster = use();
    const runs = (await cluster.status()).lifecycle?.runs ?? 0;
    await cluster.patch({ version: '1.3.0', lifecycle: { upgradeMode: 'Supervised' } });
    const first = tokenOf(await cluster.inPhase('AwaitingApproval'));
    await cluster.patch({ version: '1.4.0' });
    const asked = await cluster.until('asked again', ({ lifecycle }) => lifecycle?.upgrade?.toVersion === '1.4.0');
    const second = tokenOf(asked);
    assert.notEqual(first, second);
    const approve = (token: string): Promise<string> =>
      cluster.kubectl('annotate', '--overwrite', 'ingester', INGESTER, `${APPROVE_UPGRADE_ANNOTATION}=${token}`);
    await approve(first);
    const waiting = await nextReconcile(cluster, '7m');
    assert.deepEqual([waiting.phase, waiting.target?.spec.version], ['AwaitingApproval', '1.2.0']);
    assert.match(condition(waiting, 'Available'), /^True/);
    assert.match(await cluster.plugin('explain', INGESTER), new RegExp(`Waits for: {2}AwaitingApproval: .*=${second}`));
    await approve(second);
    const status = await cluster.settled('1.4.0');
    const annotations = await cluster.kubectl('get', 'ingester', INGESTER, '-o', 'jsonpath={.metadata.annotations}');
    assert.doesNotMatch(annotations, new RegExp(second));
    assert.equal(status.lifecycle?.runs, runs + 3);
    const user = await cluster.kubectl('auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}');
    const { decision, decidedBy, decidedAt = '', requestedAt = '' } = status.lifecycle.upgrade ?? {};
    assert.deepEqual([decision, decidedBy, decidedAt > requestedAt], ['Consumed', user, true]);
    await cluster.patch({ lifecycle: { upgradeMode: 'Automatic' } });
  });

  it('whose init failed goes on serving, and is no way back to the image that the schema does not suit', async () => {
    const cluster = use();
    const init = { disabled: false, command: ['sh', '-c', 'echo no answer from the bucket; exit 2'] };
    await cluster.patch({ version: '2.0.0', image: 'michelangelo-ingester:next', lifecycle: { init } });
    const failed = await cluster.until('served', (status) => {
      return status.phase === 'Failed' && status.ready === '2/2' && condition(status, 'Available').startsWith('True');
    });
    assert.match(condition(failed, 'LifecycleComplete'), /init: no answer from the bucket.*components run without it/);
    const schema = 'SELECT schema_version FROM ingester_gate';
    assert.deepEqual(await cluster.bundle.database.query(schema), [{ schema_version: next.schema }]);
    await cluster.kubectl('delete', 'validatingwebhookconfiguration', 'ingester-rules');
    await cluster.patch({ version: '1.4.0', image: null });
    const blocked = await cluster.inPhase('Blocked');
    assert.equal(blocked.target?.spec.version, '2.0.0');
    const images = ['get', 'deployment', `${INGESTER}-sync`, '-o', 'jsonpath={..image}'];
    assert.equal(await cluster.kubectl(...images), 'michelangelo-ingester:next');
    assert.match(condition(blocked, 'Available'), /^True/);
    const mended = { lifecycle: { init: { command: null } } };
    await cluster.patch({ version: '2.0.0', image: 'michelangelo-ingester:next', ...mended });
    const status = await cluster.settled('2.0.0');
    assert.equal(status.lifecycle?.steps.init?.state, 'Complete');
  });

  it('whose namespace is deleted goes with all that belongs to it, keeps its rows, and continues when everything is created again', async () => {
    const cluster = use();
    const { controlPlane, database, kubectl } = cluster.bundle;
    const metadata = { namespace: 'default', name: 'stays' };
    const model = { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata, spec: { algorithm: 'xgboost' } };
    await controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(model) });
    const rows = (): Promise<readonly object[]> => database.query('SELECT name, row_state FROM model');
    await eventually(async () => assert.deepEqual(await rows(), [{ name: 'stays', row_state: 0 }]), 60_000);
    const { command } = held(cluster, 'never');
    await cluster.patch({ version: '2.1.0', lifecycle: { migrate: { command } } });
    await migrates(cluster);
    await kubectl('delete', 'namespace', SYSTEM, '--timeout=300s');
    assert.equal(await gateHolder(cluster), HOLDER);
    assert.deepEqual(await rows(), [{ name: 'stays', row_state: 0 }]);
    await cluster.bundle.install();
    await cluster.apply({ ...aSpec, version: '2.1.0', image: 'michelangelo-ingester:next' });
    await cluster.settled('2.1.0');
    assert.equal(await gateHolder(cluster), null);
    assert.deepEqual(await rows(), [{ name: 'stays', row_state: 0 }]);
  });
});
