// What the original archived is in its database only. After an adoption such rows end, and only in front of their cluster.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { tablesOf } from '../../src/storage/mysql/schema/tables.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually, throughout } from '../support/eventually.ts';
import { migrateAll } from '../support/migrations.ts';
import { originalVariant } from '../support/original-schema.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'archives';
const [model, project] = [kind('Model'), kind('Project')];
const ARCHIVED = 30;
const LIVE = 12;

describe('archives of the original', () => {
  const bundle = useBundle({ startReconciler: false, configuration: { audit: { period: '2s' } } });
  let cluster: Cluster;
  const sql = (statement: string, parameters: readonly (string | number)[] = []) =>
    bundle().database.query(statement, parameters);
  const original = async (table: string, name: string, uid: string, resourceVersion = '41') => {
    const json = JSON.stringify({ metadata: { name, namespace: NS, uid, resourceVersion }, spec: {} });
    await sql(
      `INSERT INTO \`${table}\` (uid, group_ver, namespace, name, res_version, create_time, update_time, json) ` +
        "VALUES (?, 'michelangelo.api/v2', ?, ?, ?, '2024-05-06 07:08:09', '2024-05-06 07:08:09', ?)",
      [uid, NS, name, resourceVersion, json],
    );
  };
  const states = async () => {
    const rows = await cluster.rows(model, NS);
    return new Map(rows.map((row) => [String(row['name']), Number(row['row_state'])]));
  };
  const archived = async (state: number) =>
    [...(await states())].filter(([name, found]) => name.startsWith('archived-') && found === state).length;

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    await cluster.create(aManifest('Model', NS, 'there'));
    for (let index = 0; index < LIVE; index += 1) await cluster.create(aManifest('Project', NS, `project-${index}`));
    const there = await cluster.get(model, NS, 'there');
    assert.ok(there !== undefined);
    const variant = originalVariant('as specified');
    for (const ours of variant.kinds) {
      await sql(`DROP TABLE ${tablesOf(ours).join(', ')}`);
      for (const statement of variant.create(ours)) await sql(statement);
    }
    await sql('DROP TABLE ingester_migrations, ingester_gate');
    await original('model', 'there', there.metadata.uid, there.metadata.resourceVersion);
    for (let index = 0; index < ARCHIVED; index += 1) await original('model', `archived-${index}`, `uid-${index}`);
    for (let index = 0; index < LIVE; index += 1) await original('project', `foreign-${index}`, `foreign-${index}`);
    const { server, database } = bundle();
    const { host, port } = server;
    await migrateAll({ host, port, ...database.migrator, database: database.name });
    assert.equal(await archived(1), ARCHIVED);
  });

  it('stay as they are while other rows say that this is another cluster', async () => {
    await bundle().reconciler.start();
    await eventually(() => assert.match(cluster.reconcilerLog(), /nothing shows that this is their cluster/));
    await eventually(async () => assert.equal((await cluster.rows(project, NS)).length, 2 * LIVE));
    await throughout(5000, async () => assert.equal(await archived(1), ARCHIVED));
  });

  it('are evicted, all of them, once other rows say that this is their cluster', async () => {
    await sql("DELETE FROM project WHERE name LIKE 'foreign-%'");
    await eventually(async () => assert.equal(await archived(3), ARCHIVED));
    const [row] = await cluster.rows(model, NS, 'archived-0');
    assert.notEqual(row?.['evict_time'], null);
    assert.equal(row?.['delete_time'], null);
  });

  it('are not evicted where the object is in the cluster after all', async () => {
    assert.notEqual((await states()).get('there'), 3);
    assert.notEqual(await cluster.get(model, NS, 'there'), undefined);
  });
});
