import { readFileSync } from 'node:fs';
import { messageOf } from '../base/errors.ts';
import { ConfigurationError, firstLine } from '../config/load.ts';
import type { Configuration } from '../config/schema.ts';
import type { TlsOptions } from '../storage/mysql/access.ts';
import type { MysqlOptions } from '../storage/mysql/pool.ts';

export function mysqlOptions({ mysql }: Configuration): MysqlOptions {
  const { host, port, user, database, maxOpenConns, maxIdleConns, connMaxLifetime, readTimeout } = mysql;
  const tls = tlsOptions(mysql);
  return {
    host,
    port,
    user,
    password: mysql.passwordFile === '' ? mysql.password : rotatingPassword(mysql.passwordFile, mysql.password),
    database,
    maxOpenConns,
    maxIdleConns,
    connMaxLifetimeMs: connMaxLifetime,
    readTimeoutMs: readTimeout,
    ...(tls === undefined ? {} : { tls }),
  };
}

/** The password in the file; while the file cannot be read, as during its replacement, the last one. */
export function rotatingPassword(file: string, first: string): () => string {
  let last = first;
  return () => {
    try {
      last = firstLine(readFileSync(file, 'utf8'));
    } catch {
      // The start has shown that the file can be read; the server says so if the password is no longer right.
    }
    return last;
  };
}

/** The first line of a file that has to be there. */
export function readSecret(path: string, file: string): string {
  try {
    return firstLine(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new ConfigurationError('a file', [{ path, message: `cannot be read: ${messageOf(error)}` }]);
  }
}

export function tlsOptions(
  { tlsMode, tlsCaFile }: Pick<Configuration['mysql'], 'tlsMode' | 'tlsCaFile'>,
  section = 'mysql',
): TlsOptions | undefined {
  if (tlsMode === 'off') return undefined;
  if (tlsCaFile === '') return {};
  try {
    return { ca: readFileSync(tlsCaFile, 'utf8') };
  } catch (error) {
    const message = `cannot be read: ${messageOf(error)}`;
    throw new ConfigurationError('the TLS settings of MySQL', [{ path: `${section}.tlsCaFile`, message }]);
  }
}
