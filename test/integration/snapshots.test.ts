// A snapshot is the database at one moment, and going back to it gives the same database again.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { migrationsFor, parseMigration } from '../../src/storage/mysql/schema/migration-files.ts';
import { createTables, systemTables } from '../../src/storage/mysql/schema/tables.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { migrate } from '../../src/storage/mysql/tasks/migrate.ts';
import { type RestoreSnapshotOptions, restoreSnapshot } from '../../src/storage/mysql/tasks/restore-snapshot.ts';
import { listSnapshots, type SnapshotOptions, takeSnapshot } from '../../src/storage/mysql/tasks/snapshot.ts';
import { cutEverywhere } from '../support/cut-everywhere.ts';
import { eventually } from '../support/eventually.ts';
import { despiteGateMoved } from '../support/gate-moved.ts';
import { migrationOptions } from '../support/migrations.ts';
import { startMysqlProxy } from '../support/mysql-proxy.ts';
import { aModelRow, kindNamed, modelKind } from '../support/objects.ts';
import { databaseEnv, runTask, startTask } from '../support/run-task.ts';
import { schemaPicture } from '../support/schema-picture.ts';

const HEADER = '-- minReader: 1\n-- minWriter: 1\n-- gate: open\n';
/** A database with one kind only: the tests copy it often. */
const oneKind = parseMigration('0001-tables', HEADER + [...systemTables(), ...createTables(modelKind)].join('\n'));
/** What follows the tables touches no kind. */
const shipped = [oneKind, ...migrationsFor([]).slice(1)];
const wider = parseMigration(
  `000${shipped.length + 1}-wider`,
  `${HEADER}ALTER TABLE \`model\` ADD COLUMN \`extra\` INT;\n${createTables(kindNamed('ModelFamily')).join('\n')}`,
);

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`snapshots on ${flavour}`, () => {
    let server: DatabaseServer;
    before(async () => (server = await startDatabase({ flavour })));
    after(() => server.dispose());

    interface World {
      readonly database: BundleDatabase;
      readonly options: MysqlOptions;
      readonly storage: MysqlMetadataStorage;
      readonly take: (more?: Partial<SnapshotOptions>) => ReturnType<typeof takeSnapshot>;
      readonly restore: (id: string, more?: Partial<RestoreSnapshotOptions>) => ReturnType<typeof restoreSnapshot>;
    }
    const withWorld = async (test: (world: World) => Promise<void>): Promise<void> => {
      const database = await createBundleDatabase(server);
      const pool = { maxOpenConns: 3, maxIdleConns: 3, connMaxLifetimeMs: 0 };
      const options = { host: server.host, port: server.port, ...database.migrator, database: database.name, ...pool };
      await migrate({ ...migrationOptions(options, [modelKind]), migrations: shipped });
      const storage = new MysqlMetadataStorage(options, systemClock);
      const common = {
        mysql: options,
        database: `${database.name}_snapshots`,
        tableNames: 'lowercase',
        clock: systemClock,
        attempt: undefined,
        gateHolder: undefined,
        gateTimeoutMs: 20_000,
        signal: new AbortController().signal,
        progress: () => undefined,
      } as const;
      const take: World['take'] = (more = {}) =>
        takeSnapshot({ ...common, id: 'one', reason: 'a test', retention: { keep: 3, referenced: [] }, ...more });
      const restore: World['restore'] = (id, more = {}) => restoreSnapshot({ ...common, id, newer: 'refuse', ...more });
      try {
        await test({ database, options, storage, take, restore });
      } finally {
        await storage.close();
        await database.drop();
      }
    };

    const fill = async (storage: MysqlMetadataStorage, count: number): Promise<void> => {
      const write = (index: number): Promise<unknown> => {
        const labels = { team: `t${index % 7}`, 'example.com/long': 'x'.repeat(60) };
        const annotations = { note: `Ünï ☃ ${'n'.repeat(index % 50)}` };
        const uid = `uid-${String(index).padStart(5, '0')}`;
        return storage.upsert(
          aModelRow({ uid, name: `m${index}`, labels, annotations }, { description: '🦙\u0000"\\' }),
        );
      };
      await Promise.all(Array.from({ length: count }, (_, index) => write(index)));
      await storage.recordPosition(modelKind, { resourceVersion: '4711', at: new Date('2026-05-06T07:08:09.123Z') });
    };
    /** Every byte of every row, and the schema. */
    const everything = async (database: BundleDatabase): Promise<unknown> => {
      const rows: unknown[] = [];
      for (const table of ['model', 'model_labels', 'model_annotations', 'ingester_positions', 'ingester_migrations']) {
        rows.push(await database.query(`SELECT * FROM ${table} ORDER BY 1, 2`));
      }
      return { rows, schema: await schemaPicture(database) };
    };
    const gateHolder = async (database: BundleDatabase): Promise<unknown> =>
      (await database.query('SELECT closed_by FROM ingester_gate'))[0]?.['closed_by'];

    it('bring back every byte, the schema, positions and the ledger, whatever happened since', () =>
      withWorld(async ({ database, options, storage, take, restore }) => {
        await fill(storage, 1100);
        const then = await everything(database);
        const taken = await take();
        assert.deepEqual(
          taken.tables.map(({ table, rows }) => [table, rows]),
          [
            ['model', 1100],
            ['model_labels', 2200],
            ['model_annotations', 1100],
            ['ingester_migrations', shipped.length],
            ['ingester_positions', 1],
          ],
        );
        await migrate({ ...migrationOptions(options, [modelKind]), migrations: [...shipped, wider] });
        await despiteGateMoved(() =>
          storage.upsert(aModelRow({ uid: 'uid-00003', name: 'm3', resourceVersion: '99' })),
        );
        await storage.upsert(aModelRow({ uid: 'uid-new', name: 'new' }));
        await database.query("DELETE FROM model WHERE uid LIKE 'uid-001%'");
        await database.query('DROP TABLE model_annotations');
        assert.notDeepEqual(await everything(database).catch(() => undefined), then);
        const report = await restore('one');
        assert.equal(report.rows, taken.rows);
        assert.deepEqual(await everything(database), then);
        const after = aModelRow({ uid: 'uid-after', name: 'after' });
        assert.equal(await despiteGateMoved(() => storage.upsert(after)), 'inserted');
      }));

    it('keep writers out while they are taken, and let them in again', () =>
      withWorld(async ({ database, options, storage, take }) => {
        await fill(storage, 600);
        const tries: Promise<string>[] = [];
        const proxy = await startMysqlProxy(server, async (sql): Promise<'pass'> => {
          if (!/^INSERT INTO `\w+`\.`one__model/.test(sql)) return 'pass';
          const tried = storage
            .upsert(aModelRow({ uid: 'meanwhile', name: 'meanwhile' }))
            .catch((error: unknown) => (error as { code: string }).code);
          tries.push(tried);
          await tried;
          return 'pass';
        });
        const { rows } = await take({ mysql: { ...options, host: proxy.host, port: proxy.port } });
        await proxy.close();
        assert.equal(tries.length, 2 + 3 + 2, 'one for each page of objects, labels and annotations');
        assert.deepEqual(new Set(await Promise.all(tries)), new Set(['STORAGE_GATE_CLOSED']));
        assert.equal(await gateHolder(database), null);
        const later = aModelRow({ uid: 'later', name: 'later' });
        assert.equal(await despiteGateMoved(() => storage.upsert(later)), 'inserted');
        assert.equal(rows, 600 * 4 + shipped.length + 1);
      }));

    it('refuse to go back behind an object that is in the database only, unless it may be lost', () =>
      withWorld(async ({ database, storage, take, restore }) => {
        await fill(storage, 3);
        await take();
        const gone = aModelRow({ uid: 'uid-00001', name: 'm1', resourceVersion: '50' });
        await despiteGateMoved(() => storage.finish(gone, new Date()));
        await assert.rejects(restore('one'), (error: Error & { code: string }) => {
          assert.equal(error.code, 'SNAPSHOT_TOO_OLD');
          assert.match(error.message, /model: 1/);
          return true;
        });
        assert.notEqual((await storage.getById(modelKind, 'uid-00001'))?.deleteTime, undefined);
        assert.equal(await gateHolder(database), null);
        assert.deepEqual((await restore('one', { newer: 'discard' })).discarded, { model: 1 });
        assert.equal((await storage.getById(modelKind, 'uid-00001'))?.deleteTime, undefined);
      }));

    it('that were damaged are refused before anything is replaced', () =>
      withWorld(async ({ database, storage, take, restore }) => {
        await fill(storage, 10);
        await take();
        await database.query(
          `UPDATE \`${database.name}_snapshots\`.\`one__model\` SET generation = 7 WHERE uid = 'uid-00004'`,
        );
        const now = await everything(database);
        await assert.rejects(restore('one'), (error: Error & { code: string }) => {
          assert.equal(error.code, 'SNAPSHOT_DAMAGED');
          assert.match(error.message, /differs in model\. Nothing was replaced/);
          return true;
        });
        assert.deepEqual(await everything(database), now);
        assert.equal(await gateHolder(database), null);
        await assert.rejects(restore('other'), { code: 'SNAPSHOT_MISSING' });
      }));

    it('stay while they are referenced or among the newest, and the others go', () =>
      withWorld(async ({ options, database, take }) => {
        for (const id of ['a', 'b', 'c']) await take({ id, retention: { keep: 2, referenced: ['a'] } });
        const report = await take({ id: 'd', retention: { keep: 2, referenced: ['a'] } });
        assert.deepEqual(report.dropped, ['b']);
        const ids = (await listSnapshots(options, `${database.name}_snapshots`)).map(({ id }) => id);
        assert.deepEqual(ids, ['a', 'c', 'd']);
        const tables = await database.query(`SHOW TABLES FROM \`${database.name}_snapshots\` LIKE 'b\\_\\_%'`);
        assert.deepEqual(tables, []);
      }));

    it('of the same name are taken once, and are refused for another state', () =>
      withWorld(async ({ storage, take }) => {
        await fill(storage, 5);
        const first = await take();
        assert.deepEqual((await take()).tables, first.tables);
        await despiteGateMoved(() => storage.upsert(aModelRow({ uid: 'uid-more', name: 'more' })));
        await assert.rejects(take(), { code: 'SNAPSHOT_EXISTS' });
      }));

    it('end in the same state wherever the run is killed that takes or restores them', () =>
      withWorld(async ({ database, options, storage, take, restore }) => {
        await fill(storage, 20);
        const then = await everything(database);
        const taken = await cutEverywhere(server, (address) =>
          take({ mysql: { ...options, ...address }, attempt: 't-1' }),
        );
        assert.ok(taken.cut.size > 20, `${taken.cut.size} statements`);
        assert.equal(await gateHolder(database), null);
        await despiteGateMoved(() => storage.upsert(aModelRow({ uid: 'uid-more', name: 'more' })));
        const restored = await cutEverywhere(server, (address) =>
          restore('one', { mysql: { ...options, ...address }, attempt: 'r-1' }),
        );
        assert.ok([...restored.cut].some((sql) => sql.startsWith('RENAME TABLE')));
        assert.deepEqual(await everything(database), then);
        assert.equal(await gateHolder(database), null);
      }));

    it('are commands, whose killed process does no harm and whose target has to be named', () =>
      withWorld(async ({ database, options, storage }) => {
        await fill(storage, 20);
        const env = databaseEnv(options);
        let held = false;
        const proxy = await startMysqlProxy(server, (sql) => {
          held ||= /^INSERT INTO `\w+`\.`first__model_labels`/.test(sql);
          return held ? 'hold' : 'pass';
        });
        const killed = startTask(['task', 'snapshot', '--id', 'first'], {
          ...env,
          INGESTER_MYSQL_HOST: proxy.host,
          INGESTER_MYSQL_PORT: String(proxy.port),
        });
        await eventually(() => assert.ok(held));
        killed.child.kill('SIGKILL');
        assert.equal((await killed.ended).signal, 'SIGKILL');
        await proxy.close();
        assert.equal(await gateHolder(database), 'ingester task snapshot', 'writers wait for the next run');
        const taken = await runTask(['task', 'snapshot', '--id', 'second'], env);
        assert.equal(taken.code, 0, taken.stderr);
        assert.deepEqual([taken.result['outcome'], taken.result['snapshot']], ['taken', 'second']);
        const list = await runTask(['snapshots', 'list'], env);
        assert.match(list.stdout, /^second {2}20\S+Z {2}verified {2}schema 2 {2}83 rows {2}taken by hand\n$/);
        const unnamed = await runTask(['task', 'restore-snapshot', 'second'], env);
        assert.equal(unnamed.code, 2);
        assert.match(unnamed.stderr, new RegExp(`Repeat with --replace-data-of ${database.name}`));
        const args = ['task', 'restore-snapshot', 'second', '--replace-data-of', database.name];
        const restored = await runTask(args, env);
        assert.equal(restored.code, 0, restored.stderr);
        assert.equal(restored.result['outcome'], 'restored');
        assert.equal((await runTask(['snapshots', 'remove', 'second'], env)).code, 0);
        assert.equal((await runTask(['snapshots', 'list'], env)).stdout, 'There is none.\n');
      }));
  });
}
