// Upgrades that fail, and the way back from them, as one story on real servers: by itself to the version before, as long as
// nothing was migrated, and by hand to the snapshot, once something was.
import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import type { IngesterStatus } from '../../src/api/ingester/status.ts';
import { eventually } from '../support/eventually.ts';
import { makeNextVersion } from '../support/next-version.ts';
import { aSpec, INGESTER, isSettled, type LifecycleCluster, SYSTEM, useLifecycle } from '../support/use-lifecycle.ts';

const HOLDER = `lifecycle/${SYSTEM}/${INGESTER}`;
const A_MINUTE = 60_000;

function condition({ conditions }: IngesterStatus, type: string): string {
  const found = conditions?.find((each) => each.type === type);
  return `${found?.status ?? '-'} ${found?.reason ?? '-'}: ${found?.message ?? ''}`;
}

/** The phases that it went through since `count` transitions were there. */
function waySince({ transitions = [] }: IngesterStatus, count: number): readonly string[] {
  return transitions.slice(count).map(({ to, reason }) => `${to} ${reason}`);
}

async function rowsOf(cluster: LifecycleCluster): Promise<readonly string[]> {
  const rows = await cluster.bundle.database.query('SELECT name, row_state FROM model ORDER BY name');
  return rows.map((row) => `${String(row['name'])} ${String(row['row_state'])}`);
}

async function gate(cluster: LifecycleCluster): Promise<object | undefined> {
  const [row] = await cluster.bundle.database.query('SELECT closed_by, schema_version FROM ingester_gate');
  return row;
}

async function createModel(cluster: LifecycleCluster, name: string): Promise<void> {
  const metadata = { namespace: SYSTEM, name };
  const model = { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata, spec: { algorithm: 'xgboost' } };
  await cluster.bundle.controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(model) });
}

async function metricsOf(cluster: LifecycleCluster): Promise<string> {
  const { host, port } = cluster.bundle.network.resolve(`ingester-lifecycle-metrics.${SYSTEM}.svc`, 8081);
  return new Promise((resolve, reject) => {
    request({ host, port, path: '/metrics', agent: false }, (response) => void text(response).then(resolve, reject))
      .once('error', reject)
      .end();
  });
}

describe('an upgrade that fails', () => {
  const next = makeNextVersion();
  after(() => next.remove());
  const use = useLifecycle({ images: [next.image] });
  let schema: object | undefined;
  before(async () => {
    const cluster = use();
    const snapshots = { database: `${cluster.bundle.database.name}_snapshots` };
    await cluster.apply({ ...aSpec, lifecycle: { ...aSpec.lifecycle, stateMode: 'Savepoint', snapshots } });
    await cluster.settled('1.0.0');
    await createModel(cluster, 'stays');
    await createModel(cluster, 'only-in-mysql');
    await eventually(async () => assert.deepEqual(await rowsOf(cluster), ['only-in-mysql 0', 'stays 0']), A_MINUTE);
    await cluster.kubectl('delete', 'model', 'only-in-mysql', '--timeout=60s');
    await eventually(async () => assert.deepEqual(await rowsOf(cluster), ['only-in-mysql 2', 'stays 0']), A_MINUTE);
    schema = await gate(cluster);
  });

  it('before it has changed the database goes back to the version before by itself, and is not tried again', async () => {
    const cluster = use();
    const known = (await cluster.status()).transitions?.length ?? 0;
    const init = { command: ['sh', '-c', 'echo no answer from the bucket; exit 2'] };
    await cluster.patch({ version: '1.1.0', lifecycle: { init } });
    const back = await cluster.until('back', (status) => {
      return status.phase === 'Blocked' && status.lifecycle?.pipeline === 'Settled' && status.ready === '2/2';
    });
    assert.equal(back.target?.spec.version, '1.0.0');
    assert.match(
      condition(back, 'LifecycleComplete'),
      /^False RolledBack: 1\.1\.0 failed: init: no answer from the bucket/,
    );
    assert.match(condition(back, 'Available'), /^True Serving/);
    assert.deepEqual(waySince(back, known), ['Upgrading Quiescing', 'Failed TaskFailed', 'Blocked RolledBack']);
    assert.deepEqual(await gate(cluster), schema);
    const images = ['get', 'deployment', `${INGESTER}-sync`, '-o', 'jsonpath={..image}'];
    assert.equal(await cluster.kubectl(...images), 'michelangelo-ingester:1.0.0');
    // Another specification is tried, however it differs.
    await cluster.patch({ lifecycle: { quiesceTimeout: '6m' } });
    await cluster.until('tried again', ({ target, lifecycle }) => {
      return target?.spec.version === '1.1.0' && (lifecycle?.runs ?? 0) > (back.lifecycle?.runs ?? 0);
    });
    await cluster.patch({ version: '1.0.0', lifecycle: { quiesceTimeout: null, init: { command: null } } });
    await cluster.settled('1.0.0');
    const metrics = await metricsOf(cluster);
    assert.match(metrics, /ingester_lifecycle_change_duration_seconds_count\{kind="Upgrade",outcome="failed"\} [1-9]/);
    assert.match(metrics, /ingester_lifecycle_change_duration_seconds_count\{kind="Install",outcome="succeeded"\} 1/);
    assert.match(metrics, /ingester_lifecycle_task_duration_seconds_count\{task="init",outcome="failed"\} [1-9]/);
    assert.match(metrics, /ingester_lifecycle_quiesce_duration_seconds_count [1-9]/);
  });

  it('after it has changed the database stays down, with the snapshot of before and no way back by itself', async () => {
    const cluster = use();
    const known = (await cluster.status()).transitions?.length ?? 0;
    const real = `ingester task migrate --gate-holder ${HOLDER} -o json`;
    const command = ['sh', '-c', `${real} && exit 1`];
    const migrate = { command, maxAttempts: 2, backoff: { duration: '1s' } };
    await cluster.patch({ version: '2.0.0', image: 'michelangelo-ingester:next', lifecycle: { migrate } });
    const failed = await cluster.inPhase('Failed');
    assert.equal(failed.lifecycle?.steps.migrate?.attempts, 2);
    assert.match(
      condition(failed, 'LifecycleComplete'),
      /^False TaskFailed: migrate: .*Correct the cause, then change/,
    );
    assert.deepEqual(waySince(failed, known), ['Upgrading Quiescing', 'Failed TaskFailed']);
    assert.notEqual(failed.lifecycle.restorePoint, undefined);
    assert.deepEqual(await gate(cluster), { closed_by: HOLDER, schema_version: next.schema });
    const explained = await cluster.plugin('explain', INGESTER);
    assert.match(explained, /Way back: {3}not possible: a task that changes the database has begun/);
    // What a broken migration may do to what no other place has.
    await cluster.bundle.database.query('DELETE FROM model');
  });

  it('goes back from there to that snapshot and the version before, with what only MySQL had', async () => {
    const cluster = use();
    const { restorePoint = '' } = (await cluster.status()).lifecycle ?? {};
    const restore = { snapshot: restorePoint, nonce: 'back', replaceDataOf: cluster.bundle.database.name };
    await cluster.patch({ version: '1.0.0', image: null, lifecycle: { migrate: null, restore } });
    const status = await cluster.until('restored', (each) => {
      return isSettled(each, '1.0.0') && each.lifecycle?.steps.restore?.state === 'Complete';
    });
    assert.deepEqual(await rowsOf(cluster), ['only-in-mysql 2', 'stays 0']);
    assert.deepEqual(await gate(cluster), schema);
    assert.equal(status.migratedVersion, '1.0.0');
    assert.equal(status.lifecycle?.restorePoint, undefined);
    assert.ok((await cluster.reasons()).includes('RestoreAccepted'));
    const images = ['get', 'deployment', '-l', `michelangelo/ingester=${INGESTER}`, '-o', 'jsonpath={..image}'];
    assert.doesNotMatch(await cluster.kubectl(...images), /next/);
    // It works: what is created is stored.
    await createModel(cluster, 'afterwards');
    const rows = ['afterwards 0', 'only-in-mysql 2', 'stays 0'];
    await eventually(async () => assert.deepEqual(await rowsOf(cluster), rows), A_MINUTE);
  });
});
