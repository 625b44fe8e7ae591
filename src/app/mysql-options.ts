import { readFileSync } from 'node:fs';
import { messageOf } from '../base/errors.ts';
import { ConfigurationError } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';
import type { MysqlOptions, TlsOptions } from '../storage/mysql/pool.ts';

export function mysqlOptions({ mysql }: Configuration): MysqlOptions {
  const { host, port, user, password, database, maxOpenConns, maxIdleConns, connMaxLifetime } = mysql;
  const options = { host, port, user, password, database, maxOpenConns, maxIdleConns };
  const tls = tlsOptions(mysql);
  return { ...options, connMaxLifetimeMs: connMaxLifetime, ...(tls === undefined ? {} : { tls }) };
}

function tlsOptions({ tlsMode, tlsCaFile }: Configuration['mysql']): TlsOptions | undefined {
  if (tlsMode === 'off') return undefined;
  if (tlsCaFile === '') return {};
  try {
    return { ca: readFileSync(tlsCaFile, 'utf8') };
  } catch (error) {
    const message = `cannot be read: ${messageOf(error)}`;
    throw new ConfigurationError('the TLS settings of MySQL', [{ path: 'mysql.tlsCaFile', message }]);
  }
}
