import { after, before } from 'node:test';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { SHARDED, startVitess, type VitessCluster, type VitessOptions } from '../../hack/local/vitess/cluster.ts';
import { systemClock } from '../../src/base/clock.ts';
import { allKinds } from '../../src/kinds/kinds.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { QueryTemplates } from '../../src/storage/query-templates.ts';
import { migrateAll } from './migrations.ts';

export interface UsedVitess {
  readonly cluster: VitessCluster;
  readonly options: MysqlOptions;
  readonly storage: MysqlMetadataStorage;
}

export function vitessOptions({ host, port }: VitessCluster): MysqlOptions {
  return {
    host,
    port,
    user: 'ingester',
    password: '',
    database: SHARDED,
    maxOpenConns: 10,
    maxIdleConns: 10,
    connMaxLifetimeMs: 0,
  };
}

/** What the server behind the shards has in one of their databases. */
export async function queryShard({ mysql }: VitessCluster, database: string, sql: string): Promise<RowDataPacket[]> {
  const { host, port, rootUser: user, rootPassword: password } = mysql;
  const connection = await createConnection({ host, port, user, password, database });
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql);
    return rows;
  } finally {
    connection.destroy();
  }
}

/** A Vitess of two shards with every table, for the tests of one file. */
export function useVitess(cluster: VitessOptions = {}): () => UsedVitess {
  let current: UsedVitess | undefined;
  before(async () => {
    const started = await startVitess(cluster);
    const options = vitessOptions(started);
    try {
      await migrateAll(options);
    } catch (error) {
      await started.dispose();
      throw error;
    }
    const storage = new MysqlMetadataStorage(options, systemClock, new QueryTemplates(allKinds));
    current = { cluster: started, options, storage };
  });
  after(async () => {
    await current?.storage.close();
    await current?.cluster.dispose();
  });
  return () => {
    if (current === undefined) throw new ReferenceError('Vitess is there only while tests run');
    return current;
  };
}
