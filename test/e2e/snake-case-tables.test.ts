// A database of the original whose tables are called as `pipeline_run`: everything that asks it finds them.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { probe } from '../../hack/local/role-process.ts';
import { crdName } from '../../src/kinds/kind-names.ts';
import { kindsNamed } from '../../src/kinds/kinds.ts';
import { aManifest, Cluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { runIngester } from '../support/ingester.ts';
import { type QueryServer, startQueryServer } from '../support/query-server.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'snake';
const [PipelineRun, RayCluster] = kindsNamed(['PipelineRun', 'RayCluster'], 'snake_case');
assert.ok(PipelineRun !== undefined && RayCluster !== undefined);
const rules = [{ name: 'runs', kinds: ['PipelineRun'], when: 'object.metadata.name == "ruled"' }];

describe('tables in snake case', () => {
  const spoolDirectory = mkdtempSync(join(tmpdir(), 'snake-spool-'));
  const bundle = useBundle({
    tableNames: 'snake_case',
    webhookSeesDatabase: true,
    configuration: {
      outage: { policy: 'remove-finalizer', removeFinalizerAfter: '2s', spoolDirectory },
      eviction: { rules, interval: '1h' },
    },
  });
  let cluster: Cluster;
  let query: QueryServer | undefined;
  before(async () => {
    cluster = new Cluster(bundle());
    query = await startQueryServer(bundle());
    await cluster.namespace(NS);
    for (const name of ['kept', 'marked', 'ruled', 'spooled'])
      await cluster.apply(aManifest('PipelineRun', NS, name, { spec: { pipeline: { namespace: NS, name: 'p' } } }));
    await eventually(async () => assert.equal((await cluster.rows(PipelineRun, NS)).length, 4));
  });
  after(async () => {
    await query?.stop();
    rmSync(spoolDirectory, { recursive: true });
  });

  const ok = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await runIngester(bundle(), args);
    assert.equal(code, 0, `${stdout}${stderr}`);
    return stdout;
  };
  const isGone = (name: string): Promise<void> => cluster.gone(PipelineRun, NS, name);
  const isEvicted = (name: string): Promise<void> =>
    eventually(async () => {
      const row = await cluster.row(PipelineRun, NS, name);
      assert.deepEqual([row['delete_time'], row['evict_time'] === null], [null, false]);
    });

  it('are the only tables of the database', async () => {
    const tables = (await bundle().database.query('SHOW TABLES')).map((row) => String(Object.values(row)[0]));
    for (const table of ['pipeline_run', 'pipeline_run_labels', 'ray_cluster'])
      assert.ok(tables.includes(table), table);
    for (const table of ['pipelinerun', 'raycluster']) assert.ok(!tables.includes(table), table);
  });

  it('take objects that are evicted, by the mark and by the command, and give them back', async () => {
    await cluster.patch(PipelineRun, NS, 'marked', { metadata: { annotations: { 'michelangelo/Immutable': 'true' } } });
    await ok('evict', '--kind', 'PipelineRun');
    for (const name of ['marked', 'ruled']) {
      await isGone(name);
      await isEvicted(name);
    }
    assert.match(await ok('restore', 'PipelineRun', `${NS}/ruled`), /restored/);
    assert.notEqual(await cluster.get(PipelineRun, NS, 'ruled'), undefined);
  });

  it('take final states from the spool after an outage', async () => {
    await bundle().server.kill();
    await cluster.kubectl('delete', crdName(PipelineRun), '-n', NS, 'spooled', '--wait=false');
    await isGone('spooled');
    assert.equal((await metric('ingester_spooled_objects')) > 0, true, 'it waits on disk');
    await bundle().server.start();
    await eventually(async () => assert.notEqual((await cluster.row(PipelineRun, NS, 'spooled'))['delete_time'], null));
    await eventually(async () => assert.equal(await metric('ingester_spooled_objects'), 0));
  });

  it('are compared and repaired by the audit', async () => {
    await ok('audit', '--kind', 'PipelineRun');
    await bundle().database.query('DELETE FROM pipeline_run WHERE namespace = ? AND name = ?', [NS, 'kept']);
    const { code, stdout } = await runIngester(bundle(), ['audit', '--kind', 'PipelineRun', '--repair']);
    assert.equal(code, 0, stdout);
    assert.equal((await cluster.row(PipelineRun, NS, 'kept'))['delete_time'], null);
  });

  it('are counted by status', async () => {
    await eventually(async () => assert.match(await ok('status'), /MySQL +works[\s\S]*PipelineRun +2 /));
  });

  it('are the tables that the query API lists', async () => {
    await cluster.kubectl(
      'wait',
      '--for=condition=Available',
      '--timeout=60s',
      'apiservice/v2.stored.michelangelo.api',
    );
    const listed = await cluster.kubectl('get', 'pipelineruns.stored.michelangelo.api', '-n', NS, '-o', 'name');
    for (const name of ['kept', 'marked', 'ruled']) assert.match(listed, new RegExp(`/${name}$`, 'm'));
  });

  it('are the tables that the webhook looks into before a definition loses a field', async () => {
    const lose = (kind: typeof RayCluster, field: string) => {
      const path = `/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/${field}`;
      const patch = JSON.stringify([{ op: 'remove', path }]);
      return cluster.tryKubectl('patch', 'crd', crdName(kind), '--type=json', '-p', patch, '--dry-run=server');
    };
    const stored = await lose(PipelineRun, 'pipeline');
    assert.match(stored.stderr, /Forbidden/);
    const empty = await lose(RayCluster, 'rayVersion');
    assert.equal(empty.code, 0, empty.stderr);
  });

  const metric = async (name: string): Promise<number> => {
    const { body } = await probe(bundle().reconcilerHealthPort, '/metrics');
    return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\d+)`, 'm').exec(body)?.[1] ?? Number.NaN);
  };
});
