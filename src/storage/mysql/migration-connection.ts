// The one connection of a task that changes tables. It holds the lock that keeps a second runner out: a connection that
// breaks loses the lock, and then nothing more is done either.
import { type Connection, createConnection, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise';
import { sha256Hex } from '../../base/hash.ts';
import { TaskLockedError } from '../task-errors.ts';
import { type MysqlAccess, passwordOf, type SqlParameter, type SqlSession, sessionSetup, sslOptions } from './pool.ts';

export interface MigrationConnection extends SqlSession {
  /** A statement as it stands, without parameters: DDL, which cannot be prepared. */
  run(sql: string): Promise<void>;
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /** Gives the lock back too. */
  close(): void;
}

const LOCK_WAIT_SECONDS = 30;

export async function openMigrationConnection(access: MysqlAccess): Promise<MigrationConnection> {
  const { host, port, user, database, connectTimeoutMs } = access;
  const connection = await createConnection({
    host,
    port,
    user,
    password: passwordOf(access),
    database,
    ...sslOptions(access),
    ...(connectTimeoutMs === undefined ? {} : { connectTimeout: connectTimeoutMs }),
    enableKeepAlive: true,
    charset: 'utf8mb4_bin',
    timezone: 'Z',
    dateStrings: true,
    jsonStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    flags: ['-FOUND_ROWS'],
  });
  // The driver reports a broken connection both to the caller of the statement and here.
  connection.on('error', () => undefined);
  try {
    for (const statement of sessionSetup(access)) await connection.query(statement);
    const [facts] = await connection.query<RowDataPacket[]>('SELECT @@max_allowed_packet AS packet');
    return wrap(connection, Number(facts[0]?.['packet']));
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

function wrap(connection: Connection, maxPacketBytes: number): MigrationConnection {
  return {
    maxPacketBytes,
    run: async (sql) => {
      await connection.query(sql);
    },
    query: async (sql, parameters = []) => {
      const [rows] = await connection.query<RowDataPacket[][]>({ sql, rowsAsArray: true }, parameters.map(toDriver));
      return rows;
    },
    execute: async (sql, parameters = []) => {
      const [result] = await connection.query<ResultSetHeader>(sql, parameters.map(toDriver));
      return result.affectedRows;
    },
    transaction: async (work) => {
      await connection.beginTransaction();
      try {
        const result = await work();
        await connection.commit();
        return result;
      } catch (error) {
        // A broken connection is rolled back by the server.
        await connection.rollback().catch(() => undefined);
        throw error;
      }
    },
    close: () => connection.destroy(),
  };
}

function toDriver(value: SqlParameter): string | number | boolean | null | Buffer {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

/** Held until the connection ends. Locks are server-wide, so the name is the database's own; it may have 64 characters. */
export async function takeLock(session: SqlSession, database: string): Promise<void> {
  const name = `ingester-migrations-${sha256Hex(database).slice(0, 40)}`;
  const [row] = await session.query('SELECT GET_LOCK(?, ?)', [name, LOCK_WAIT_SECONDS]);
  if (Number(row?.[0]) === 1) return;
  const [used] = await session.query('SELECT IS_USED_LOCK(?)', [name]);
  const holder = Number(used?.[0] ?? 0);
  throw new TaskLockedError(holder === 0 ? '' : ` (connection ${holder} of the server)`);
}
