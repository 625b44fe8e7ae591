import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import { systemClock } from '../../src/base/clock.ts';
import { allKinds, defaultKinds } from '../../src/kinds/kinds.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { migrate } from '../../src/storage/mysql/tasks/migrate.ts';
import { migrationOptions } from '../support/migrations.ts';
import { aModelRow } from '../support/objects.ts';

for (const flavour of ['mysql', 'mariadb'] as const) {
  describe(`migrations on ${flavour}`, () => {
    let server: DatabaseServer;
    before(async () => (server = await startDatabase({ flavour })));
    after(() => server.dispose());

    const withDatabase = async (test: (database: BundleDatabase, options: MysqlOptions) => Promise<void>) => {
      const database = await createBundleDatabase(server);
      const pool = { maxOpenConns: 2, maxIdleConns: 2, connMaxLifetimeMs: 0 };
      const { host, port } = server;
      await test(database, { host, port, ...database.migrator, database: database.name, ...pool });
      await database.drop();
    };
    const run = async (options: MysqlOptions, kinds = defaultKinds) =>
      (await migrate(migrationOptions(options, kinds))).applied;

    it('create 39 tables once, and are then up to date', () =>
      withDatabase(async (database, options) => {
        assert.deepEqual(await run(options), ['0001-tables', '0002-clusters']);
        assert.deepEqual(await run(options), []);
        const tables = await database.query(
          'SHOW TABLES WHERE Tables_in_' + database.name + " NOT LIKE 'ingester\\_%'",
        );
        assert.equal(tables.length, 39);
      }));

    it('add the tables of an optional kind when the kind is switched on, and keep them when it is off again', () =>
      withDatabase(async (_database, options) => {
        await run(options);
        assert.deepEqual(await run(options, allKinds), ['cachedoutput']);
        assert.deepEqual(await run(options), []);
      }));

    it('finish what a killed run began', () =>
      withDatabase(async (database, options) => {
        await run(options);
        await database.query('DROP TABLE model_labels');
        await database.query('DELETE FROM ingester_migrations');
        assert.deepEqual(await run(options), ['0001-tables', '0002-clusters']);
        await database.query('SELECT * FROM model_labels');
      }));

    it('refuse a database of a newer version, and one whose history was changed', () =>
      withDatabase(async (database, options) => {
        await run(options);
        await database.query("UPDATE ingester_migrations SET checksum = REPEAT('0', 64)");
        await assert.rejects(run(options), { code: 'MIGRATION_CHANGED' });
        await database.query('UPDATE ingester_gate SET schema_version = 9999, min_writer = 9999');
        await assert.rejects(run(options), { code: 'SCHEMA_NEWER' });
      }));

    it('run once when two start at the same time', () =>
      withDatabase(async (_database, options) => {
        const applied = await Promise.all([run(options), run(options)]);
        assert.deepEqual(applied.flat(), ['0001-tables', '0002-clusters']);
      }));

    it('need rights that the reconciler does not have', () =>
      withDatabase(async (database, options) => {
        await assert.rejects(run({ ...options, ...database.writer }), { code: 'STORAGE_PERMISSION' });
      }));

    const checked = async (options: MysqlOptions, check: (storage: MysqlMetadataStorage) => Promise<void>) => {
      const storage = new MysqlMetadataStorage(options, systemClock);
      await check(storage);
      await storage.close();
    };

    it('are missed by the storage check with a message of its own', () =>
      withDatabase(async (_database, options) => {
        await checked(options, async (storage) => {
          await assert.rejects(storage.check(defaultKinds), { code: 'STORAGE_SCHEMA_MISSING' });
          await assert.rejects(storage.upsert(aModelRow()), { code: 'STORAGE_SCHEMA_MISSING' });
          await run(options);
          await storage.check(defaultKinds);
          await assert.rejects(storage.check(allKinds), /3 tables are missing \(cachedoutput/);
        });
      }));

    it('leave a wrong password, a wrong database and a wrong port distinct from each other', () =>
      withDatabase(async (_database, options) => {
        const codeOf = async (changes: Partial<MysqlOptions>): Promise<unknown> => {
          let code: unknown;
          await checked({ ...options, ...changes }, async (storage) => {
            code = await storage.check(defaultKinds).catch((error: unknown) => (error as { code: string }).code);
          });
          return code;
        };
        assert.equal(await codeOf({ password: 'wrong' }), 'STORAGE_ACCESS_DENIED');
        assert.equal(
          await codeOf({ user: server.rootUser, password: server.rootPassword, database: 'nowhere' }),
          'STORAGE_DATABASE_MISSING',
        );
        assert.equal(await codeOf({ port: 1 }), 'STORAGE_UNAVAILABLE');
      }));
  });
}
