// What an on-call engineer does: look, preview, evict, hold, resume, restore; and a definition that is removed.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { programFile } from '../../hack/local/program.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { crdName } from '../../src/kinds/kind-names.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'operations';
const PipelineRun = kind('PipelineRun');
const Model = kind('Model');
const rules = [
  { name: 'old-runs', kinds: ['PipelineRun'], keepLast: 1, when: 'object.spec.pipeline.name == "p"' },
  { name: 'aged', kinds: ['PipelineRun'], finishedFor: '24h', when: 'object.spec.pipeline.name == "aging"' },
];

describe('the program in operation', () => {
  // The reconciler asks its rules too rarely to be in the way; the command asks them now.
  const tombstones = { enabled: true };
  const configuration = { eviction: { rules, interval: '1h' }, deletionBreaker: { perMinute: 3 }, tombstones };
  const bundle = useBundle({ configuration, webhookConfiguration: { tombstones } });
  let cluster: Cluster;
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    await cluster.kubectl('apply', '-k', join(bundle().directory, 'config/components/tombstones'));
  });

  /** Runs the program as an operator with the administrator's kubeconfig would. */
  function ingester(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    return ingesterOn(bundle().database.name, ...args);
  }

  async function ingesterOn(
    database: string,
    ...args: readonly string[]
  ): Promise<{ code: number; stdout: string; stderr: string }> {
    const { directory, controlPlane, databaseLink, database: own } = bundle();
    const file = join(directory, 'operator.yaml');
    const mysql = { host: databaseLink.host, port: databaseLink.port, ...own.writer, database };
    const settings = {
      ...{ metadataStorage: { enableMetadataStorage: true }, mysql, eviction: { rules } },
      kubernetes: { kubeconfig: controlPlane.kubeconfig },
    };
    writeFileSync(file, JSON.stringify(settings), { mode: 0o600 });
    return runCommand(process.execPath, [programFile('main'), '-c', file, ...args], {
      cwd: directory,
      env: process.env,
    });
  }

  async function ok(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await ingester(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  }

  /** A run of the pipeline that has succeeded. */
  async function finished(name: string, pipeline: string, endTime: string): Promise<void> {
    await cluster.apply(aManifest('PipelineRun', NS, name, { spec: { pipeline: { namespace: NS, name: pipeline } } }));
    const status = { state: 'PIPELINE_RUN_STATE_SUCCEEDED', endTime };
    const args = ['-n', NS, name, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
    await cluster.kubectl('patch', crdName(PipelineRun), ...args);
  }

  it('shows in status how many objects there are, and that every one is stored', async () => {
    await cluster.apply(aManifest('Model', NS, 'known', { spec: { algorithm: 'a' } }));
    await eventually(async () => {
      const text = await ok('status');
      assert.match(text, /^MySQL +works +answers/m);
      assert.match(text, /Model +1 +0/);
      assert.match(text, /Every object is stored\./);
    });
  });

  it('lists in status the objects that cannot be dealt with, with the error and since when', async () => {
    const annotations = { 'michelangelo/Deleting': 'true', 'michelangelo/DeletePropagation': 'sideways' };
    await cluster.apply(aManifest('Model', NS, 'wrong', { spec: {} }));
    await cluster.patch(Model, NS, 'wrong', { metadata: { annotations } });
    await eventually(async () => {
      assert.match(await ok('status'), /Model operations\/wrong since 2\d{3}-.*SYNC_PROPAGATION_INVALID/);
    });
    await cluster.patch(Model, NS, 'wrong', {
      metadata: { annotations: { 'michelangelo/DeletePropagation': 'Orphan' } },
    });
    await cluster.gone(Model, NS, 'wrong');
  });

  it('previews the objects that the rules choose, evicts them, and puts them back', async () => {
    for (const [index, name] of ['oldest', 'older', 'newest'].entries())
      await finished(name, 'p', `2026-01-0${index + 1}T00:00:00Z`);
    const preview = await ok('evict', '--dry-run', '--kind', 'PipelineRun');
    assert.match(preview, /PipelineRun: the rules choose 2 objects\./);
    assert.match(preview, /operations\/oldest by the rule "old-runs"/);
    assert.notEqual(await cluster.get(PipelineRun, NS, 'oldest'), undefined, 'a preview changes nothing');
    assert.match(await ok('pause'), /Nothing is evicted/);
    assert.match((await ingester('evict')).stderr, /EVICTION_PAUSED/);
    await ok('resume', '--eviction');
    await ok('evict', '--kind', 'PipelineRun');
    for (const name of ['oldest', 'older']) {
      await cluster.gone(PipelineRun, NS, name);
      const row = await cluster.row(PipelineRun, NS, name);
      assert.equal(row['delete_time'], null);
      assert.notEqual(row['evict_time'], null);
    }
    assert.notEqual(await cluster.get(PipelineRun, NS, 'newest'), undefined);
    // The name was written down before the object left; the webhook follows it.
    const again = aManifest('PipelineRun', NS, 'oldest', { spec: { pipeline: { namespace: NS, name: 'p' } } });
    await eventually(async () => {
      const { code, stderr } = await cluster.create(again, '--dry-run=server');
      assert.notEqual(code, 0, 'was allowed');
      assert.match(stderr, /\(Forbidden\).*PipelineRun oldest is archived; remove it from Git or restore it/s);
    });
    assert.match(await ok('restore', 'PipelineRun', `${NS}/oldest`, '--dry-run'), /would be restored/);
    assert.equal(await cluster.get(PipelineRun, NS, 'oldest'), undefined);
    const { uid, restoredFrom } = JSON.parse(await ok('restore', 'PipelineRun', `${NS}/oldest`, '-o', 'json')) as {
      uid: string;
      restoredFrom: string;
    };
    const back = await cluster.get(PipelineRun, NS, 'oldest');
    assert.equal(back?.metadata.uid, uid);
    assert.equal(back.metadata.annotations?.['michelangelo/RestoredFrom'], restoredFrom);
    assert.deepEqual(back['status'], { state: 'PIPELINE_RUN_STATE_SUCCEEDED', endTime: '2026-01-01T00:00:00Z' });
    assert.match((await ingester('restore', 'PipelineRun', `${NS}/oldest`, '--uid', uid)).stderr, /RESTORE_/);
    // What was restored is evicted too: the first one is not what the name stands for now, and still comes back.
    const evictable = { 'michelangelo/Eviction': 'Allow', 'michelangelo/Immutable': 'true' };
    await cluster.patch(PipelineRun, NS, 'oldest', { metadata: { annotations: evictable } });
    await cluster.gone(PipelineRun, NS, 'oldest');
    await eventually(async () => {
      const annotations = { 'michelangelo/RestoredFrom': restoredFrom };
      const known = { ...again, metadata: { namespace: NS, name: 'oldest', annotations } };
      const { stderr } = await cluster.create(known, '--dry-run=server');
      assert.match(stderr, /\(Forbidden\).*PipelineRun oldest is archived/s);
    });
    await ok('restore', 'PipelineRun', `${NS}/oldest`, '--uid', restoredFrom);
    const first = await cluster.get(PipelineRun, NS, 'oldest');
    assert.equal(first?.metadata.annotations?.['michelangelo/RestoredFrom'], restoredFrom);
    assert.equal(first.metadata.annotations['michelangelo/allow-archived-name'], uid);
    assert.match((await ingester('restore', 'PipelineRun', `${NS}/newest`)).stderr, /RESTORE_NOTHING_STORED/);
  });

  it('rehearses a disaster on a copy of the database: what it would bring back, and what is damaged or in the way', async () => {
    const { database } = bundle();
    const copy = `${database.name}_drill`;
    await database.query(`CREATE DATABASE \`${copy}\` CHARACTER SET utf8mb4`);
    await database.query(`GRANT SELECT ON \`${copy}\`.* TO '${database.writer.user}'@'%'`);
    for (const { table } of await database.query(
      'SELECT table_name AS `table` FROM information_schema.tables WHERE table_schema = DATABASE()',
    )) {
      await database.query(`CREATE TABLE \`${copy}\`.\`${String(table)}\` LIKE \`${String(table)}\``);
      await database.query(`INSERT INTO \`${copy}\`.\`${String(table)}\` SELECT * FROM \`${String(table)}\``);
    }
    const drill = (...args: readonly string[]) => ingesterOn(copy, 'drill', ...args);
    await cluster.apply(aManifest('Model', NS, 'after-the-backup', { spec: {} }));
    const well = await drill('-o', 'json');
    assert.equal(well.code, 0, well.stderr);
    const { completeUpTo, kinds } = JSON.parse(well.stdout) as {
      completeUpTo: string;
      kinds: readonly { kind: string }[];
    };
    assert.ok(Date.parse(completeUpTo) < Date.now());
    const drilled = { ended: 0, unreadable: [], notRestorable: [] };
    assert.deepEqual(
      kinds.filter((each) => ['Model', 'PipelineRun'].includes(each.kind)).map((each) => ({ ...each })),
      [
        { kind: 'Model', objects: 2, storedAgain: 1, restorable: 0, ...drilled },
        { kind: 'PipelineRun', objects: 2, storedAgain: 0, restorable: 1, ...drilled },
      ],
    );
    await database.query(
      `UPDATE \`${copy}\`.pipelinerun SET json = JSON_SET(json, '$.spec.actor.name', 'forged') WHERE name = 'older'`,
    );
    await cluster.create(aManifest('PipelineRun', NS, 'in-the-way', { spec: {} }));
    await database.query(`UPDATE \`${copy}\`.pipelinerun SET name = 'in-the-way' WHERE name = 'older'`);
    const badly = await drill();
    assert.equal(badly.code, 1);
    assert.match(badly.stdout, /1 cannot be read:\n {4}operations\/in-the-way: /);
    assert.match(
      badly.stdout,
      /0 of 1 evicted objects could be restored[^]*1 could not be restored:\n {4}operations\/in-the-way: .*\[RESTORE_CONFLICT\]/,
    );
    assert.match(badly.stderr, /2 objects would not come back from this database.*DRILL_FAILED/);
    await cluster.kubectl('delete', 'pipelineruns.michelangelo.api', '-n', NS, 'in-the-way');
    await database.query(`DROP DATABASE \`${copy}\``);
    await database.query(`REVOKE SELECT ON \`${copy}\`.* FROM '${database.writer.user}'@'%'`);
  });

  it('refuses an older version under the name of a deleted object, unless its exact target is permitted', async () => {
    const rayCluster = (rayVersion: string, annotations: object = {}): object =>
      aManifest('RayCluster', NS, 'ray', {
        metadata: { name: 'ray', namespace: NS, annotations },
        spec: { rayVersion },
      });
    await cluster.apply(rayCluster('2.9.0'));
    await cluster.kubectl('delete', crdName(kind('RayCluster')), '-n', NS, 'ray');
    await eventually(async () => {
      const { code, stderr } = await cluster.create(rayCluster('2.8.0'), '--dry-run=server');
      assert.notEqual(code, 0, 'was allowed');
      assert.match(stderr, /spec\.rayVersion \(hidden\) -> 2\.8\.0 is a downgrade/);
    });
    for (const allowed of [rayCluster('2.9.0'), rayCluster('2.8.0', { 'michelangelo/allow-downgrade': '2.8.0' })]) {
      const { code, stderr } = await cluster.create(allowed, '--dry-run=server');
      assert.equal(code, 0, stderr);
    }
  });

  it('evicts by age objects that a restart finds unchanged', async () => {
    await finished('aged', 'aging', '2026-01-01T00:00:00Z');
    await finished('young', 'aging', new Date().toISOString());
    const version = async (name: string) => String((await cluster.row(PipelineRun, NS, name))['res_version']);
    for (const name of ['aged', 'young']) {
      const object = await cluster.get(PipelineRun, NS, name);
      await eventually(async () => assert.equal(await version(name), object?.metadata.resourceVersion));
    }
    const kept = await version('young');
    await bundle().reconciler.stop();
    await bundle().reconciler.start();
    await cluster.gone(PipelineRun, NS, 'aged');
    await eventually(async () => assert.notEqual((await cluster.row(PipelineRun, NS, 'aged'))['evict_time'], null));
    assert.notEqual(await cluster.get(PipelineRun, NS, 'young'), undefined);
    assert.equal(await version('young'), kept);
  });

  it('holds a mass deletion over a restart, and lets it go on when an operator resumes it', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `mass-${index}`);
    for (const name of names) await cluster.apply(aManifest('RayJob', NS, name, { spec: {} }));
    const RayJob = kind('RayJob');
    await eventually(async () => assert.equal((await cluster.rows(RayJob, NS)).length, 8));
    await cluster.kubectl('delete', crdName(RayJob), '-n', NS, '--all', '--wait=false');
    await eventually(async () => assert.match(await ok('status'), /Deletions of RayJob are held/));
    bundle().reconciler.kill('SIGKILL');
    await bundle().reconciler.exited();
    await bundle().reconciler.start();
    await eventually(async () => assert.match(await ok('status'), /Deletions of RayJob are held/));
    const alive = (await cluster.rows(RayJob, NS)).filter((row) => row['delete_time'] === null);
    assert.ok(alive.length >= 5, `${alive.length} rows are alive`);
    assert.match(await ok('resume', 'RayJob'), /Deletions go on:\nRayJob: held since/);
    await eventually(async () => {
      for (const name of names) assert.equal(await cluster.get(RayJob, NS, name), undefined);
    });
    for (const row of await cluster.rows(RayJob, NS)) assert.notEqual(row['delete_time'], null);
  });

  it('removes the finalizer of a thousand objects of a definition that is removed, without calling them deleted', async () => {
    const SparkJob = kind('SparkJob');
    const count = 1000;
    const items = Array.from({ length: count }, (_, index) => aManifest('SparkJob', NS, `job-${index}`, { spec: {} }));
    await cluster.create({ apiVersion: 'v1', kind: 'List', items });
    await eventually(async () => assert.equal((await cluster.rows(SparkJob, NS)).length, count), 120_000);
    await cluster.kubectl('annotate', 'crd', crdName(SparkJob), 'michelangelo/allow-crd-delete=true');
    await cluster.kubectl('delete', 'crd', crdName(SparkJob), '--timeout=240s');
    const rows = await cluster.rows(SparkJob, NS);
    assert.equal(rows.filter((row) => row['delete_time'] === null && row['evict_time'] !== null).length, count);
  });
});
