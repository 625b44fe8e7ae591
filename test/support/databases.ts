import { after, before } from 'node:test';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { type DatabaseServer, startDatabase } from '../../hack/local/mysql.ts';
import { systemClock } from '../../src/base/clock.ts';
import { allKinds } from '../../src/kinds/kinds.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { QueryTemplates } from '../../src/storage/query-templates.ts';
import { migrateAll } from './migrations.ts';

export interface TestDatabase {
  readonly server: DatabaseServer;
  readonly database: BundleDatabase;
  readonly storage: MysqlMetadataStorage;
  readonly options: MysqlOptions;
}

function optionsFor(server: DatabaseServer, database: BundleDatabase): MysqlOptions {
  return {
    host: server.host,
    port: server.port,
    ...database.writer,
    database: database.name,
    maxOpenConns: 10,
    maxIdleConns: 10,
    connMaxLifetimeMs: 0,
  };
}

/** A server of its own with every table, for the tests of one file; ended after them. */
export function useDatabase(
  flavour: 'mysql' | 'mariadb',
  settings?: Readonly<Record<string, string>>,
): () => TestDatabase {
  let current: TestDatabase | undefined;
  before(async () => {
    const server = await startDatabase({ flavour, ...(settings === undefined ? {} : { settings }) });
    const database = await createBundleDatabase(server);
    const options = optionsFor(server, database);
    await migrateAll({ ...options, ...database.migrator });
    const storage = new MysqlMetadataStorage(options, systemClock, new QueryTemplates(allKinds));
    current = { server, database, options, storage };
  });
  after(async () => {
    await current?.storage.close();
    if (current?.server.external === true) await current.database.drop();
    await current?.server.dispose();
  });
  return () => {
    if (current === undefined) throw new ReferenceError('the database is there only while tests run');
    return current;
  };
}
