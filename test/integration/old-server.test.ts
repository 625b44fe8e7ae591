// A server of a line that is not tested: nothing is read from it or written to it, and the reason is said.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import { systemClock } from '../../src/base/clock.ts';
import { allKinds, defaultKinds } from '../../src/kinds/kinds.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { QueryTemplates } from '../../src/storage/query-templates.ts';
import { databaseEnv, runTask } from '../support/run-task.ts';

for (const [saysVersion, reason] of [
  ['8.0.36', /the server is MySQL 8\.0\.36, and the oldest that is tested is 8\.4/],
  ['10.5.2-MariaDB', /the server is MariaDB 10\.5\.2, and the oldest that is tested is 10\.11/],
] as const) {
  describe(`a server that says it is ${saysVersion}`, () => {
    let server: DatabaseServer;
    let database: BundleDatabase;
    before(async () => {
      server = await startDatabase({ flavour: 'mariadb', settings: { version: saysVersion } });
      database = await createBundleDatabase(server);
    });
    after(() => server.dispose());
    const access = (user: { user: string; password: string }) => {
      return { host: server.host, port: server.port, database: database.name, ...user };
    };

    it('gets no table by the migration, which says why', async () => {
      const { code, stderr, termination } = await runTask(['task', 'migrate'], databaseEnv(access(database.migrator)));
      assert.notEqual(code, 0);
      assert.match(stderr + termination, /STORAGE_SERVER_UNSUPPORTED/);
      assert.match(stderr + termination, reason);
      const tables = await database.query(
        'SELECT `table_name` FROM `information_schema`.`tables` WHERE `table_schema` = ?',
        [database.name],
      );
      assert.deepEqual(tables, []);
    });

    it('is not used by the programs, whose check says why', async () => {
      const limits = { maxOpenConns: 2, maxIdleConns: 2, connMaxLifetimeMs: 0 };
      const storage = new MysqlMetadataStorage(
        { ...access(database.writer), ...limits },
        systemClock,
        new QueryTemplates(allKinds),
      );
      try {
        await assert.rejects(storage.check(defaultKinds), reason);
      } finally {
        await storage.close();
      }
    });
  });
}
