import type { Configuration } from '../config/schema.ts';
import type { MysqlOptions } from '../storage/mysql/pool.ts';

export function mysqlOptions({ mysql }: Configuration): MysqlOptions {
  const { host, port, user, password, database, maxOpenConns, maxIdleConns, connMaxLifetime } = mysql;
  return { host, port, user, password, database, maxOpenConns, maxIdleConns, connMaxLifetimeMs: connMaxLifetime };
}
