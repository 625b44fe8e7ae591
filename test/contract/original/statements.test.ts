// The original and this program write the same tables: beside each other, and one after the other in both directions.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type BundleDatabase, createBundleDatabase } from '../../../hack/local/bundle-database.ts';
import { type DatabaseServer, startDatabase } from '../../../hack/local/mysql.ts';
import type { KindDefinition } from '../../../src/api/kind.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { allKinds, kindUnder } from '../../../src/kinds/kinds.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import type { StoredObject } from '../../../src/storage/metadata-storage.ts';
import type { MysqlOptions } from '../../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../../src/storage/mysql/store/mysql-storage.ts';
import { migrate } from '../../../src/storage/mysql/tasks/migrate.ts';
import { QueryTemplates } from '../../../src/storage/query-templates.ts';
import { unreadable } from '../../../src/sync/audit/audit.ts';
import { toRow } from '../../../src/sync/row.ts';
import { blocksIn, commandsOf } from '../../support/docs-page.ts';
import { migrationOptions } from '../../support/migrations.ts';
import { kindNamed } from '../../support/objects.ts';
import { originalConfiguration } from '../../support/original/configuration.ts';
import { databaseEnv, startTask } from '../../support/run-task.ts';
import { readByOriginal } from './definitions.ts';
import { anObject, asOriginal, type Wanted } from './objects.ts';
import { directUpdate, inWords, reads, type Statement, softDelete, upsert } from './statements.ts';

const NOW = '2026-06-01 10:00:00';
const LATER = '2026-06-01 11:00:00';

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`one database of the original and this program, on ${flavour}`, () => {
    let server: DatabaseServer;
    let database: BundleDatabase;
    let options: MysqlOptions;
    let storage: MysqlMetadataStorage;
    const tableOf = (kind: string): string => kindUnder(kindNamed(kind), 'snake_case').table;
    const migrateAgain = () =>
      migrate({ ...migrationOptions({ ...options, ...database.migrator }), tableNames: 'auto' });

    before(async () => {
      server = await startDatabase({ flavour });
      database = await createBundleDatabase(server);
      const pool = { maxOpenConns: 4, maxIdleConns: 4, connMaxLifetimeMs: 0 };
      options = { host: server.host, port: server.port, ...database.writer, database: database.name, ...pool };
      await migrateAgain();
      storage = new MysqlMetadataStorage(options, systemClock, new QueryTemplates(allKinds));
    });
    after(() => server.dispose());
    after(() => storage.close());

    const run = async (statements: readonly Statement[]): Promise<readonly Readonly<Record<string, unknown>>[]> => {
      let last: readonly Readonly<Record<string, unknown>>[] = [];
      for (const statement of statements) last = await database.query(inWords(statement));
      return last;
    };
    const ours = (wanted: Wanted) => toRow(kindNamed(wanted.kind), anObject(wanted) as never, encodeObject);
    const stored = async (kind: string, uid: string): Promise<StoredObject> =>
      (await storage.getById(kindNamed(kind), uid)) ?? assert.fail(`${uid} is lost`);
    /** The columns of the kind, in the form in which the original writes them. */
    const columnsOf = async (kind: string, uid: string): Promise<Readonly<Record<string, unknown>>> => {
      const columns = kindNamed(kind).indexes.flat();
      const selected = columns.map(({ name, type }) =>
        type === 'time' ? `DATE_FORMAT(${name}, '%Y-%m-%d %T') AS ${name}` : name,
      );
      if (selected.length === 0) return {};
      const sql = `SELECT ${selected.join(', ')} FROM ${tableOf(kind)} WHERE uid = '${uid}'`;
      return { ...((await database.query(sql))[0] ?? assert.fail(`${uid} is lost`)) };
    };
    const foreign = async (kind: KindDefinition): Promise<readonly string[]> =>
      (await storage.identities(kind, { states: ['live', 'evicting', 'evicted', 'deleted'], limit: 100 }))
        .filter((one) => one.foreign === true)
        .map(({ uid }) => uid);
    const labelled = async (kind: string, key: string, value: string): Promise<readonly string[]> => {
      const labels = [{ key, operator: 'in' as const, values: [value] }];
      const page = await storage.list(kindNamed(kind), { labels, limit: 10 });
      return page.items.map(({ uid }) => uid);
    };

    it('names the tables of a new database as the newer original does', async () => {
      const found = await database.query("SHOW TABLES LIKE 'pipeline_run%'");
      assert.equal(found.length, 3);
      assert.deepEqual(await database.query("SHOW TABLES LIKE 'pipelinerun'"), []);
    });

    for (const { kind } of allKinds) {
      it(`takes an upsert of a new ${kind} with every column, whose row is live at once`, async () => {
        const wanted = { kind, uid: `new-${kind}`, version: 7, labels: { by: 'original' } };
        const theirs = asOriginal(wanted);
        await run(upsert(tableOf(kind), theirs, NOW));
        const row = await stored(kind, wanted.uid);
        assert.deepEqual([row.state, row.resourceVersion, { ...row.labels }], ['live', '7', { by: 'original' }]);
        assert.deepEqual(await labelled(kind, 'by', 'original'), [wanted.uid]);
        assert.deepEqual(await columnsOf(kind, wanted.uid), theirs.indexed);
        assert.equal(await storage.upsert(ours(wanted)), 'updated');
        assert.deepEqual(await columnsOf(kind, wanted.uid), theirs.indexed);
      });
    }

    it('is stored again at the same version after the original wrote it, complete and once', async () => {
      const wanted = { kind: 'PipelineRun', uid: 'twice', version: 7, labels: { at: 'seven' } };
      assert.equal(await storage.upsert(ours({ ...wanted, version: 5, labels: { at: 'five' } })), 'inserted');
      await run(upsert('pipeline_run', asOriginal(wanted), NOW));
      assert.ok((await foreign(kindNamed('PipelineRun'))).includes('twice'));
      assert.notEqual(unreadable(kindNamed('PipelineRun'), await stored('PipelineRun', 'twice')), undefined);
      assert.equal(await storage.upsert(ours(wanted)), 'updated');
      assert.equal(await storage.upsert(ours(wanted)), 'unchanged');
      assert.equal(unreadable(kindNamed('PipelineRun'), await stored('PipelineRun', 'twice')), undefined);
      assert.equal((await foreign(kindNamed('PipelineRun'))).includes('twice'), false);
      const [label] = await database.query(
        "SELECT CAST(obj_create_time AS CHAR) AS time FROM pipeline_run_labels WHERE obj_uid = 'twice'",
      );
      assert.match(String(label?.['time']), /^2026-05-01 08:00:00/);
    });

    it('does not go back where the original wrote a newer version than this program sends', async () => {
      const wanted = { kind: 'Project', uid: 'newer', version: 9 };
      await run(upsert('project', asOriginal(wanted), NOW));
      assert.equal(await storage.upsert(ours({ ...wanted, version: 8 })), 'stale');
    });

    it('counts a row as deleted that the original deleted, until a newer state comes', async () => {
      const wanted = { kind: 'Project', uid: 'gone', version: 5 };
      await storage.upsert(ours(wanted));
      await run([softDelete('project', 'both', 'n-gone', NOW)]);
      assert.equal((await stored('Project', 'gone')).state, 'deleted');
      const alive = await storage.identities(kindNamed('Project'), { states: ['live'], limit: 100 });
      assert.equal(
        alive.some(({ uid }) => uid === 'gone'),
        false,
      );
      assert.equal(await storage.upsert(ours(wanted)), 'unchanged');
      assert.equal(await storage.upsert(ours({ ...wanted, version: 6 })), 'updated');
      assert.equal((await stored('Project', 'gone')).state, 'live');
    });

    it('has no tombstone of an evicted object that the original deleted', async () => {
      const wanted = { kind: 'Model', uid: 'archived', version: 5 };
      await storage.requestEviction(ours(wanted), new Date());
      await storage.finish(ours({ ...wanted, version: 6 }), new Date());
      const names = async () => (await storage.tombstones(kindNamed('Model'), { limit: 10 })).map(({ uid }) => uid);
      assert.deepEqual(await names(), ['archived']);
      await run([softDelete('model', 'both', 'n-archived', NOW)]);
      assert.deepEqual(await names(), []);
      assert.equal((await stored('Model', 'archived')).state, 'deleted');
    });

    it('takes the labels that the original gives to an evicted object', async () => {
      const wanted = { kind: 'TriggerRun', uid: 'evicted', version: 5 };
      await storage.requestEviction(ours(wanted), new Date());
      await storage.finish(ours({ ...wanted, version: 6 }), new Date());
      const changed = { ...wanted, version: 7, labels: { tier: 'gold' } };
      await run(directUpdate('trigger_run', asOriginal(changed), LATER));
      const row = await stored('TriggerRun', 'evicted');
      assert.deepEqual([row.state, row.resourceVersion, { ...row.labels }], ['evicted', '7', { tier: 'gold' }]);
      assert.deepEqual(await labelled('TriggerRun', 'tier', 'gold'), ['evicted']);
    });

    it('keeps what the original archived as evicted where its object is missing', async () => {
      const annotations = { 'michelangelo/Immutable': 'true' };
      const wanted = { kind: 'RayJob', uid: 'archive', version: 5, annotations };
      await run(upsert('ray_job', asOriginal(wanted), NOW));
      const plain = { kind: 'RayJob', uid: 'plain', version: 5 };
      await run(upsert('ray_job', asOriginal(plain), NOW));
      for (const uid of ['archive', 'plain']) {
        await storage.markMissedDelete(kindNamed('RayJob'), { uid, resourceVersion: '5' }, new Date(), 'missing');
      }
      assert.deepEqual(
        [(await stored('RayJob', 'archive')).state, (await stored('RayJob', 'plain')).state],
        ['evicted', 'deleted'],
      );
    });

    it('goes on in the row of the key that the original was told, whichever writes', async () => {
      const annotations = { 'michelangelo/MetadataStoragePrimaryKey': 'key-before' };
      const wanted = { kind: 'PipelineRun', uid: 'uid-now', version: 4, annotations, labels: { at: 'four' } };
      const byKey = (version: number) => ({ ...asOriginal({ ...wanted, version }), uid: 'key-before' });
      const rows = () =>
        database.query(
          "SELECT uid, object_uid, CAST(res_version AS CHAR) AS v FROM pipeline_run WHERE name = 'n-uid-now'",
        );
      await run(upsert('pipeline_run', byKey(4), NOW));
      assert.equal(await storage.upsert(ours(wanted)), 'inserted');
      assert.equal(await storage.upsert(ours(wanted)), 'unchanged');
      await run(upsert('pipeline_run', byKey(6), LATER));
      assert.equal(await storage.upsert(ours({ ...wanted, version: 6 })), 'updated');
      assert.deepEqual(await rows(), [{ uid: 'key-before', object_uid: 'uid-now', v: '6' }]);
      assert.equal((await stored('PipelineRun', 'uid-now')).key, 'key-before');
      assert.deepEqual(await labelled('PipelineRun', 'at', 'four'), ['uid-now']);
      const keys = await database.query(
        "SELECT obj_uid FROM pipeline_run_labels WHERE `key` = 'at' AND value = 'four'",
      );
      assert.deepEqual(keys, [{ obj_uid: 'key-before' }]);
      await run([softDelete('pipeline_run', 'both', 'n-uid-now', LATER)]);
      assert.equal((await stored('PipelineRun', 'uid-now')).state, 'deleted');
    });

    const uidsOf = async (rows: readonly Readonly<Record<string, unknown>>[]): Promise<readonly string[]> =>
      (await readByOriginal('Model', rows)).map(({ uid }) => uid);

    for (const [how, statement] of Object.entries(reads)) {
      it(`gives the original what this program wrote, read ${how}`, async () => {
        const wanted = { kind: 'Model', uid: `read-${how}`, version: 5, labels: { how: how.replaceAll(' ', '-') } };
        await storage.upsert(ours(wanted));
        const uids = await uidsOf(await run([statement('model', asOriginal(wanted))]));
        assert.ok(uids.includes(wanted.uid), uids.join());
      });
    }

    it('gives the original no more than its criteria name', async () => {
      const wanted = { kind: 'Model', uid: 'chosen', version: 5, labels: { chosen: 'yes' } };
      await storage.upsert(ours(wanted));
      const theirs = asOriginal(wanted);
      const found = async (more: Partial<typeof theirs>): Promise<readonly string[]> =>
        uidsOf(await run([reads['by a tree of criteria']!('model', { ...theirs, ...more })]));
      assert.deepEqual(await found({}), ['chosen']);
      for (const [column, value] of [
        ['algorithm', 'another'],
        ['revision_id', 2 ** 31 - 1],
        ['training_framework', 'another'],
      ] as const)
        assert.deepEqual(await found({ indexed: { ...theirs.indexed, [column]: value } }), [], column);
      assert.deepEqual(await found({ labels: { chosen: 'no' } }), []);
      assert.deepEqual(await found({ namespace: 'elsewhere' }), []);
    });

    it('has no column that the original would have to name, as the docs show', async () => {
      const [block] = blocksIn('michelangelo-database.md', 'Go back to the original');
      assert.equal(block?.language, 'sql');
      assert.deepEqual(await database.query(block.text.trim().replace(/;$/, '')), []);
    });

    it('says how its tables are named, as the docs show', async () => {
      const [block] = blocksIn('michelangelo-database.md', 'Table names');
      const [row] = await database.query((block?.text ?? '').trim().replace(/;$/, ''));
      assert.equal(row?.['table_names'], 'snake_case');
    });

    it('is taken over by the command of the docs', async () => {
      await run(upsert('ray_cluster', asOriginal({ kind: 'RayCluster', uid: 'by-command', version: 5 }), NOW));
      const [program, ...args] = commandsOf('michelangelo-database.md', 'Ours again').trim().split(' ');
      assert.equal(program, 'ingester');
      const ran = await startTask(args, databaseEnv({ ...options, ...database.migrator })).ended;
      assert.equal(ran.code, 0, ran.stderr);
      assert.deepEqual(await foreign(kindNamed('RayCluster')), []);
    });

    it('is taken over with the configuration file of the original, as it is', async () => {
      await run(upsert('ray_job', asOriginal({ kind: 'RayJob', uid: 'by-its-file', version: 5 }), NOW));
      const folder = mkdtempSync(join(tmpdir(), 'original-'));
      const file = join(folder, 'base.yaml');
      const { host, port } = server;
      writeFileSync(file, originalConfiguration({ host, port, user: database.migrator.user, database: database.name }));
      const ran = await startTask(['--config', file, 'task', 'migrate'], {
        MYSQL_PASSWORD: database.migrator.password,
      }).ended;
      rmSync(folder, { recursive: true });
      assert.equal(ran.code, 0, ran.stderr);
      assert.deepEqual(await foreign(kindNamed('RayJob')), []);
    });

    it('is taken over by the next migration: every row of the original complete, and none lost', async () => {
      const before = await database.query('SELECT COUNT(*) AS n FROM model');
      await run(
        upsert('spark_job', { ...asOriginal({ kind: 'SparkJob', uid: 'secret', version: 5 }), json: secretJson }, NOW),
      );
      await run(upsert('model', asOriginal({ kind: 'Model', uid: 'of-original', version: 5 }), NOW));
      const keyed = asOriginal({ kind: 'RayCluster', uid: 'keyed', version: 5 });
      await run(upsert('ray_cluster', { ...keyed, uid: 'its-key' }, NOW));
      await run([softDelete('project', 'both', 'n-newer', NOW)]);
      const { adopted } = await migrateAgain();
      assert.ok(adopted.some(({ table }) => table === 'spark_job'));
      for (const kind of allKinds) {
        assert.deepEqual(await foreign(kind), [], kind.kind);
        const states = ['live', 'evicting', 'evicted', 'deleted'] as const;
        for (const { uid } of await storage.identities(kind, { states, limit: 100 })) {
          assert.equal(unreadable(kind, await stored(kind.kind, uid)), undefined, `${kind.kind} ${uid}`);
        }
      }
      assert.equal((await stored('Model', 'of-original')).state, 'evicting');
      assert.equal((await stored('RayCluster', 'keyed')).key, 'its-key');
      assert.equal((await stored('TriggerRun', 'evicted')).state, 'evicted');
      assert.doesNotMatch((await stored('SparkJob', 'secret')).json, /in-the-clear/);
      const [row] = await database.query("SELECT row_state FROM project WHERE uid = 'newer'");
      assert.equal(Number(row?.['row_state']), 2);
      const after = await database.query('SELECT COUNT(*) AS n FROM model');
      assert.equal(Number(after[0]?.['n']), Number(before[0]?.['n']) + 1);
      assert.deepEqual((await migrateAgain()).adopted, []);
    });
  });
}

const secretJson = JSON.stringify({
  ...anObject({ kind: 'SparkJob', uid: 'secret', version: 5 }),
  spec: { driver: { pod: { hdfsDelegationToken: 'in-the-clear' } } },
});
