// A copy of another metadata database: complete, of one moment, and never at the cost of the source or of what is here.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import { Keyring } from '../../src/storage/keyring.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { type CloneOptions, cloneDatabase } from '../../src/storage/mysql/tasks/clone.ts';
import { migrate } from '../../src/storage/mysql/tasks/migrate.ts';
import { maskedValues, type SensitiveValues } from '../../src/storage/sensitive.ts';
import { resealRow } from '../../src/sync/reseal.ts';
import { toRow } from '../../src/sync/row.ts';
import { cutEverywhere } from '../support/cut-everywhere.ts';
import { eventually } from '../support/eventually.ts';
import { migrationOptions } from '../support/migrations.ts';
import { startMysqlProxy } from '../support/mysql-proxy.ts';
import { aModel, aModelRow, kindNamed, modelKind } from '../support/objects.ts';
import { databaseEnv, runTask, startTask } from '../support/run-task.ts';

const sparkJob = kindNamed('SparkJob');
const kinds = [modelKind, sparkJob];

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`a clone on ${flavour}`, () => {
    let server: DatabaseServer;
    let source: BundleDatabase;
    let sourceStorage: MysqlMetadataStorage;
    const sourceKey = randomBytes(32);
    const optionsOf = (database: BundleDatabase): MysqlOptions => {
      const pool = { maxOpenConns: 3, maxIdleConns: 3, connMaxLifetimeMs: 0 };
      return { host: server.host, port: server.port, ...database.migrator, database: database.name, ...pool };
    };
    /** May read the source and nothing else. */
    const reader = { user: 'clone_reader', password: 'reads-only' };

    before(async () => {
      server = await startDatabase({ flavour });
      source = await createBundleDatabase(server);
      await source.query(`CREATE USER '${reader.user}'@'%' IDENTIFIED BY '${reader.password}'`);
      await source.query(`GRANT SELECT ON \`${source.name}\`.* TO '${reader.user}'@'%'`);
      await migrate(migrationOptions(optionsOf(source), kinds));
      sourceStorage = new MysqlMetadataStorage(optionsOf(source), systemClock);
      const write = (index: number): Promise<unknown> => {
        const namespace = index % 10 === 0 ? 'private' : 'public';
        const metadata = { uid: `uid-${String(index).padStart(4, '0')}`, name: `m${index}`, namespace };
        return sourceStorage.upsert(
          aModelRow(
            { ...metadata, labels: { team: `t${index % 3}` }, annotations: { note: 'ü ☃' } },
            { description: '🦙' },
          ),
        );
      };
      await Promise.all(Array.from({ length: 120 }, (_, index) => write(index)));
      await sourceStorage.finish(
        aModelRow({ uid: 'uid-0001', name: 'm1', namespace: 'public', resourceVersion: '20' }),
        new Date(),
      );
      await sourceStorage.recordPosition(modelKind, { resourceVersion: '99', at: new Date() });
      await sourceStorage.upsert(
        toRow(sparkJob, aSparkJob('spark', 'SECRET-token'), encodeObject, new Keyring(sourceKey)),
      );
    });
    after(async () => {
      await sourceStorage.close();
      await server.dispose();
    });

    function aSparkJob(uid: string, token: string): KubernetesObject {
      const spec = { driver: { pod: { hdfsDelegationToken: token, name: 'd' } }, sparkVersion: '3.3.0' };
      return { ...aModel({ uid, name: uid }), kind: 'SparkJob', spec };
    }

    const withTarget = async (
      test: (
        target: BundleDatabase,
        clone: (more?: Partial<CloneOptions>) => ReturnType<typeof cloneDatabase>,
      ) => Promise<void>,
    ): Promise<void> => {
      const target = await createBundleDatabase(server);
      const mysql = optionsOf(target);
      const keys = new Keyring(randomBytes(32), [sourceKey]);
      await test(target, (more = {}) =>
        cloneDatabase({
          mysql,
          source: { host: server.host, port: server.port, ...reader, database: source.name },
          kinds,
          tableNames: 'lowercase',
          excludeNamespaces: [],
          liveRows: 'evicted',
          reseal: resealing(keys),
          postSql: [],
          rowsPerSecond: 0,
          replace: 'refuse',
          gateTimeoutMs: 20_000,
          migrate: migrationOptions(mysql, kinds),
          clock: systemClock,
          attempt: undefined,
          gateHolder: undefined,
          signal: new AbortController().signal,
          progress: () => undefined,
          ...more,
        }),
      );
      await target.drop();
    };
    const resealing =
      (sensitive: SensitiveValues): CloneOptions['reseal'] =>
      (kind, row) =>
        resealRow(kind, row, sensitive);
    const rowsOf = (database: BundleDatabase, table: string, columns = '*') =>
      database.query(`SELECT ${columns} FROM ${table} ORDER BY 1, 2`);
    const STATES = 'uid, row_state, delete_time IS NULL AS undeleted, evict_time IS NULL AS unevicted';

    it('makes an empty database the same as the source, and leaves the source as it was', () =>
      withTarget(async (target, clone) => {
        const before = await rowsOf(source, 'model');
        const report = await clone({ liveRows: 'as-stored' });
        assert.deepEqual([report.rows['model'], report.rows['sparkjob'], report.evicted], [120, 1, 0]);
        assert.deepEqual(await rowsOf(target, 'model'), before);
        for (const table of ['model_labels', 'model_annotations']) {
          assert.deepEqual(await rowsOf(target, table), await rowsOf(source, table));
        }
        assert.deepEqual(await rowsOf(target, 'ingester_positions'), [], 'positions are of another cluster');
        assert.deepEqual(await rowsOf(source, 'model'), before);
        const storage = new MysqlMetadataStorage(optionsOf(target), systemClock);
        assert.equal(await storage.upsert(aModelRow({ uid: 'new', name: 'new' })), 'inserted');
        await storage.close();
      }));

    it('evicts objects that are in the cluster of the source, keeps deleted rows deleted, and leaves out what it is told to', () =>
      withTarget(async (target, clone) => {
        const post = ["UPDATE model SET name = CONCAT('copy-', name)", "DELETE FROM model WHERE uid = 'uid-0002'"];
        const report = await clone({ excludeNamespaces: ['private'], kinds: [modelKind], postSql: post });
        assert.deepEqual([report.rows['model'], report.excluded, report.evicted, report.postSql], [108, 12, 107, 2]);
        const rows = await rowsOf(target, 'model', STATES);
        assert.equal(rows.length, 107);
        for (const row of rows) {
          const wanted = row['uid'] === 'uid-0001' ? [2, 0, 1] : [3, 1, 0];
          assert.deepEqual(
            [row['row_state'], Number(row['undeleted']), Number(row['unevicted'])],
            wanted,
            String(row['uid']),
          );
        }
        assert.deepEqual(await rowsOf(target, 'sparkjob'), []);
        assert.deepEqual(await target.query("SELECT * FROM model_labels WHERE obj_uid = 'uid-0010'"), []);
        assert.match(String((await rowsOf(target, 'model', 'uid, name'))[0]?.['name']), /^copy-m/);
      }));

    it('seals values again with our key, masks them without a key, and refuses values that it cannot open', () =>
      withTarget(async (target, clone) => {
        const ours = randomBytes(32);
        await assert.rejects(clone({ reseal: resealing(new Keyring(ours)) }), (error: Error & { code: string }) => {
          assert.equal(error.code, 'CLONE_UNREADABLE');
          assert.match(error.message, /SparkJob with uid spark is sealed with key/);
          assert.doesNotMatch(error.message, /SECRET/);
          return true;
        });
        assert.deepEqual(await target.query('SHOW TABLES LIKE "model"'), [], 'nothing was made');
        const report = await clone({ reseal: resealing(new Keyring(ours, [sourceKey])) });
        assert.equal(report.resealed, 1);
        const [row] = await target.query('SELECT CAST(json AS CHAR) AS json FROM sparkjob');
        assert.doesNotMatch(String(row?.['json']), /SECRET/);
        assert.ok(String(row?.['json']).includes(`sealed:v1:${new Keyring(ours).keyId}`));
        await clone({ reseal: resealing(maskedValues), replace: 'replace' });
        assert.match(
          String((await target.query('SELECT CAST(json AS CHAR) AS json FROM sparkjob'))[0]?.['json']),
          /\[redacted\]/,
        );
      }));

    it('refuses a database that holds data, unless it is named, and refuses the source itself', () =>
      withTarget(async (target, clone) => {
        await migrate(migrationOptions(optionsOf(target), kinds));
        const storage = new MysqlMetadataStorage(optionsOf(target), systemClock);
        await storage.upsert(aModelRow({ uid: 'precious', name: 'precious' }));
        await storage.recordPosition(modelKind, { resourceVersion: '7', at: new Date() });
        await assert.rejects(clone(), /holds data \(model\)\. Add --replace-data-of/);
        assert.equal((await rowsOf(target, 'model')).length, 1);
        await clone({ replace: 'replace' });
        assert.equal(await storage.getById(modelKind, 'precious'), undefined);
        assert.deepEqual(await storage.positions(), []);
        await storage.close();
        await assert.rejects(clone({ mysql: optionsOf(source), replace: 'replace' }), /the same database/);
      }));

    it('refuses a source with a newer schema, a source that is being worked on, and a target with a newer schema', () =>
      withTarget(async (target, clone) => {
        const set = (database: BundleDatabase, sql: string) => database.query(`UPDATE ingester_gate SET ${sql}`);
        await set(source, 'schema_version = 9999, min_reader = 9999');
        await assert.rejects(clone(), { code: 'SCHEMA_NEWER' });
        await set(source, "schema_version = 2, min_reader = 1, closed_by = 'ingester task migrate'");
        await assert.rejects(clone(), /is being worked on by ingester task migrate/);
        await set(source, 'closed_by = NULL');
        await migrate(migrationOptions(optionsOf(target), kinds));
        await set(target, 'schema_version = 3');
        await assert.rejects(clone(), /the source has schema 2 and this database 3/);
      }));

    it('copies one moment of the source, while others write to it', () =>
      withTarget(async (target, clone) => {
        let wrote: Promise<unknown> | undefined;
        const proxy = await startMysqlProxy(server, (sql) => {
          if (sql.startsWith('INSERT INTO `model` ')) {
            wrote ??= sourceStorage.upsert(aModelRow({ uid: 'uid-9999', name: 'late', namespace: 'public' }));
          }
          return 'pass';
        });
        // The write is committed before the pages behind it are read.
        const slow = { ...optionsOf(target), host: proxy.host, port: proxy.port };
        await clone({ mysql: slow, rowsPerSecond: 200, migrate: migrationOptions(slow, kinds) });
        await proxy.close();
        assert.equal(await wrote, 'inserted');
        assert.equal((await rowsOf(target, 'model')).length, 120);
        await source.query("DELETE FROM model WHERE uid = 'uid-9999'");
      }));

    it('begins anew wherever it was killed, and ends like a clone that was never killed', () =>
      withTarget(async (target, clone) => {
        await migrate(migrationOptions(optionsOf(target), kinds));
        const cuts = await cutEverywhere(
          server,
          (address) => {
            const mysql = { ...optionsOf(target), ...address };
            const more = {
              attempt: 'c-1',
              liveRows: 'as-stored',
              kinds: [modelKind],
              excludeNamespaces: ['public'],
            } as const;
            return clone({ mysql, migrate: migrationOptions(mysql, kinds), ...more });
          },
          /`(?:model|model_labels|ingester_migrations|ingester_attempts)`/,
        );
        assert.ok(cuts.cut.size >= 8, `${cuts.cut.size} statements`);
        const wanted = await source.query("SELECT * FROM model WHERE namespace = 'private' ORDER BY uid");
        assert.deepEqual(await rowsOf(target, 'model'), wanted);
        assert.equal((await target.query('SELECT closed_by FROM ingester_gate'))[0]?.['closed_by'], null);
        assert.deepEqual(await target.query("SELECT name FROM ingester_migrations WHERE name LIKE 'clone%'"), []);
      }));

    it('is a command for Development and Staging, which survives SIGKILL', () =>
      withTarget(async (target) => {
        const directory = mkdtempSync(join(tmpdir(), 'clone-'));
        const config = join(directory, 'config.yaml');
        writeFileSync(join(directory, 'password'), reader.password);
        const write = (environment: string): void =>
          writeFileSync(
            config,
            JSON.stringify({
              clone: {
                environment,
                host: server.host,
                port: server.port,
                user: reader.user,
                passwordFile: join(directory, 'password'),
                database: source.name,
                excludeKinds: ['SparkJob'],
              },
            }),
          );
        const env = databaseEnv(optionsOf(target));
        write('Production');
        const refused = await runTask(['--config', config, 'task', 'clone'], env);
        assert.equal(refused.code, 2);
        assert.match(refused.stderr, /clone\.environment: is Production/);
        write('Staging');
        let held = false;
        const proxy = await startMysqlProxy(server, (sql) => {
          held ||= sql.startsWith('INSERT INTO `model_annotations`');
          return held ? 'hold' : 'pass';
        });
        const through = { INGESTER_MYSQL_HOST: proxy.host, INGESTER_MYSQL_PORT: String(proxy.port) };
        const killed = startTask(['--config', config, 'task', 'clone'], { ...env, ...through });
        await eventually(() => assert.ok(held));
        killed.child.kill('SIGKILL');
        await killed.ended;
        await proxy.close();
        const ran = await runTask(['--config', config, 'task', 'clone'], env);
        assert.equal(ran.code, 0, ran.stderr);
        assert.deepEqual(
          [ran.result['outcome'], (ran.result['rows'] as Record<string, number>)['model']],
          ['cloned', 120],
        );
        assert.equal((await rowsOf(target, 'model')).length, 120);
        const again = await runTask(['--config', config, 'task', 'clone'], env);
        assert.match(again.stderr, /holds data.*\[CLONE_REFUSED\]/);
        rmSync(directory, { recursive: true });
      }));
  });
}
