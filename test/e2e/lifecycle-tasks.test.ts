// What the tasks of an Ingester resource do, as Jobs of its controller, on real servers.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { BundleDatabase } from '../../hack/local/bundle-database.ts';
import type { IngesterStatus } from '../../src/api/ingester/status.ts';
import { eventually } from '../support/eventually.ts';
import { addToSource, applyCredentials, applySecret, aSource } from '../support/lifecycle-database.ts';
import { aSpec, INGESTER, isSettled, type LifecycleCluster, SYSTEM, useLifecycle } from '../support/use-lifecycle.ts';

const YEARLY = '0 0 1 1 *';
const PAST = '2026-01-01T00:00:00.000Z';

const aModel = (name: string): object => ({
  apiVersion: 'michelangelo.api/v2',
  kind: 'Model',
  metadata: { namespace: SYSTEM, name },
  spec: { algorithm: 'xgboost' },
});

async function storedModels(cluster: LifecycleCluster): Promise<readonly string[]> {
  const rows = await cluster.bundle.database.query('SELECT name, row_state FROM model ORDER BY name');
  return rows.map((row) => `${String(row['name'])} ${String(row['row_state'])}`);
}

async function storedNames(cluster: LifecycleCluster): Promise<readonly string[]> {
  return (await storedModels(cluster)).map((line) => line.split(' ')[0] ?? '');
}

function wasRestored(status: IngesterStatus): boolean {
  const { restores = [], steps } = status.lifecycle ?? {};
  return restores.includes('one') && steps?.restore?.state === 'Complete' && isSettled(status, '1.0.0');
}

describe('the tasks of an Ingester resource', () => {
  const use = useLifecycle();
  let source: BundleDatabase;
  before(async () => {
    const cluster = use();
    source = await aSource(cluster, 'the-source', ['kept', 'left-out']);
    assert.ok(await cluster.create('models', aModel('here-first')));
    const clone = { sourceSecret: 'the-source', postSQL: ["DELETE FROM model WHERE name = 'left-out'"] };
    await cluster.apply({ ...aSpec, environment: 'Staging', lifecycle: { ...aSpec.lifecycle, clone } });
  });

  it('install a copy in Staging: clone, migrate and init, so that objects of the cluster are stored and guarded', async () => {
    const cluster = use();
    const { lifecycle } = await cluster.settled('1.0.0');
    const states = (['clone', 'migrate', 'init'] as const).map((step) => lifecycle?.steps[step]?.state);
    assert.deepEqual(states, ['Complete', 'Complete', 'Complete']);
    assert.deepEqual(await storedNames(cluster), ['here-first', 'kept']);
    const guarded = await cluster.kubectl('get', 'model', 'here-first', '-o', 'jsonpath={.metadata.finalizers}');
    assert.match(guarded, /michelangelo\/Ingester/);
  });

  it('replace the data of a database at a tick of the schedule only where the resource names that data', async () => {
    const cluster = use();
    const { name } = cluster.bundle.database;
    await addToSource(cluster, source, ['later']);
    await cluster.patch({ lifecycle: { clone: { replaceDataOf: 'another', schedule: YEARLY, maxAttempts: 1 } } });
    await cluster.until('scheduled', ({ lifecycle }) => lifecycle?.nextScheduleAt !== undefined);
    await cluster.tick({ nextScheduleAt: PAST });
    const refused = await cluster.inPhase('Failed');
    assert.match(refused.lifecycle?.steps.clone?.message ?? '', /--replace-data-of names another/);
    assert.equal(refused.lifecycle?.lastScheduledAt, PAST);
    assert.deepEqual(await storedNames(cluster), ['here-first', 'kept']);
    await cluster.patch({ lifecycle: { clone: { replaceDataOf: name } } });
    await cluster.settled('1.0.0');
    assert.deepEqual(await storedNames(cluster), ['here-first', 'kept', 'later']);
    await cluster.patch({ lifecycle: { clone: null } });
    await cluster.settled('1.0.0');
  });

  it('take a snapshot by schedule beside what runs, and go back to it, once', async () => {
    const cluster = use();
    const { database } = cluster.bundle;
    const pods = await cluster.podNames();
    await cluster.patch({ lifecycle: { snapshots: { database: `${database.name}_snapshots`, schedule: YEARLY } } });
    await cluster.until('scheduled', ({ lifecycle }) => lifecycle?.snapshotSchedule?.next !== undefined);
    await cluster.tick({ snapshotSchedule: { next: PAST } });
    const { lifecycle: taken } = await cluster.until('taken', (status) => {
      return status.lifecycle?.snapshotAt !== undefined && isSettled(status, '1.0.0');
    });
    assert.deepEqual(await cluster.podNames(), pods);
    await database.query("DELETE FROM model WHERE name IN ('kept', 'later')");
    assert.ok(await cluster.create('models', aModel('after-it')));
    const restore = { snapshot: taken?.snapshots.at(-1) ?? '', nonce: 'one', replaceDataOf: database.name };
    await cluster.patch({ lifecycle: { restore } });
    const { lifecycle } = await cluster.until('restored', (status) => wasRestored(status));
    // What the cluster has came back by init, and what only MySQL had by the snapshot.
    assert.deepEqual(await storedNames(cluster), ['after-it', 'here-first', 'kept', 'later']);
    assert.deepEqual(await database.query('SELECT closed_by FROM ingester_gate'), [{ closed_by: null }]);
    assert.equal(lifecycle?.snapshots.length, 2, 'what was there before it is kept');
    await cluster.patch({ lifecycle: { restore: null } });
    await cluster.patch({ lifecycle: { restore } });
    const { generation } = (await cluster.read('ingesters', INGESTER)).metadata;
    const again = await cluster.until('looked at', (status) => {
      return status.observedGeneration === generation && isSettled(status, '1.0.0');
    });
    assert.deepEqual([again.lifecycle?.runs, again.lifecycle?.restore], [lifecycle.runs, undefined]);
  });

  it('change credentials while others write, without a write that fails, and end those before', async () => {
    const cluster = use();
    const { database, server } = cluster.bundle;
    const next = { user: database.writer.user, password: 'the next one' };
    await applyCredentials(cluster, 'next', next);
    await applySecret(cluster, 'admin', { user: server.rootUser, password: server.rootPassword });
    const writer = startWriter(cluster);
    await cluster.patch({ database: { rotation: { credentialsSecret: 'next', adminSecret: 'admin' } } });
    const done = await cluster.until(
      'the old credentials ended',
      (status) => status.lifecycle?.credentials?.state === 'Ended' && isSettled(status, '1.0.0'),
    );
    assert.equal(done.lifecycle?.credentials?.previous, 'ingester-mysql');
    const { names, complaints } = await writer.stop();
    assert.deepEqual(complaints, []);
    assert.notEqual(names.length, 0);
    await eventually(async () => {
      const stored = await storedNames(cluster);
      assert.deepEqual(
        names.filter((name) => !stored.includes(name)),
        [],
      );
    });
    const old = await cluster.bundle.database.query('SELECT User_attributes AS had FROM mysql.user WHERE User = ?', [
      next.user,
    ]);
    assert.deepEqual(old, [{ had: null }]);
  });

  it('leave the pods alone when the manifest names the new Secret at last', async () => {
    const cluster = use();
    const before = await cluster.podNames();
    await cluster.patch({ database: { credentialsSecret: 'next', rotation: null } });
    const { lifecycle } = await cluster.until(
      'over',
      (status) => status.lifecycle?.credentials === undefined && isSettled(status, '1.0.0'),
    );
    assert.equal(lifecycle?.attempt, undefined);
    assert.deepEqual(await cluster.podNames(), before);
  });
});

/** Between two objects: no part has a rest, and none is busy with nothing else. */
const WRITE_MS = 200;

interface Writer {
  stop(): Promise<{ readonly names: readonly string[]; readonly complaints: readonly string[] }>;
}

/** Creates objects all the time, and reads what every pod of sync logs meanwhile. */
function startWriter(cluster: LifecycleCluster): Writer {
  const names: string[] = [];
  const logs = new Map<string, Promise<string>>();
  const loop = { runs: true };
  let count = 0;
  const writing = (async () => {
    while (loop.runs) {
      const name = `written-${count}`;
      count += 1;
      // What the API server did not take was not written.
      if (await cluster.create('models', aModel(name))) names.push(name);
      for (const pod of await cluster.names('pods', 'app.kubernetes.io/component=sync'))
        logs.set(pod, logOf(cluster, pod, logs.get(pod)));
      await delay(WRITE_MS);
    }
  })();
  return {
    stop: async () => {
      loop.runs = false;
      await writing;
      const lines = (await Promise.all(logs.values())).flatMap((text) => text.split('\n'));
      return { names, complaints: lines.filter((line) => /ACCESS_DENIED|access denied/i.test(line)) };
    },
  };
}

/** What a pod has logged, or what it had when it was there last. */
async function logOf(cluster: LifecycleCluster, pod: string, last: Promise<string> | undefined): Promise<string> {
  return (await cluster.logOf(pod)) ?? (await last) ?? '';
}
