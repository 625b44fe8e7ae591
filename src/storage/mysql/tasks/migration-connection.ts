// The one connection of a task that changes tables. It holds the lock that keeps a second runner out: a connection that
// breaks loses the lock, and then nothing more is done either.
import { type Connection, createConnection, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise';
import { sha256Hex } from '../../../base/hash.ts';
import { TaskLockedError } from '../../errors.ts';
import { type MysqlAccess, passwordOf, sslOptions } from '../access.ts';
import { Calls, hangUp } from '../deadline.ts';
import { dialectOf } from '../dialect.ts';
import { toDriver } from '../parameters.ts';
import type { SqlRow, SqlSession } from '../pool.ts';
import { ASK_SERVER, sessionSetup } from '../session-setup.ts';

export interface MigrationConnection extends SqlSession {
  /** A statement as it stands, without parameters: DDL, which cannot be prepared. */
  run(sql: string): Promise<void>;
  transaction<T>(work: () => Promise<T>): Promise<T>;
  /** Gives the lock back too. */
  close(): void;
}

const LOCK_WAIT_SECONDS = 30;
/** For what answers at once wherever the server lives: sessions, and the ends of transactions. */
const SHORT_MS = 60_000;
/** For a statement over a whole table. A server that is gone is noticed by its silence on the wire long before. */
const LONG_MS = 24 * 60 * 60 * 1000;
/** After so long without a byte the system asks whether the other side is still there, and gives up seconds later. */
const PROBE_AFTER_MS = 10_000;

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
    keepAliveInitialDelay: PROBE_AFTER_MS,
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
  const answered = inTime(connection);
  try {
    const question = connection.query<RowDataPacket[][]>({ sql: ASK_SERVER, rowsAsArray: true });
    const [[answer = []]] = (await answered(question, SHORT_MS)) as unknown as readonly [SqlRow[]];
    const [version, comment, packet] = answer;
    const dialect = dialectOf(String(version), String(comment));
    // A server may end long reads, and connections that rest; these reads are of whole tables, and an ALTER waits for the
    // reads of others.
    for (const statement of [...sessionSetup(access), ...dialect.noLimits])
      await answered(connection.query(statement), SHORT_MS);
    return wrap(connection, { dialect, maxPacketBytes: Number(packet) }, answered);
  } catch (error) {
    hangUp(connection);
    throw error;
  }
}

type InTime = <T>(call: Promise<T>, limitMs: number) => Promise<T>;

/** The answers to calls on a connection, which is given up where there is none in time. */
function inTime(connection: Connection): InTime {
  const calls = new Calls();
  return (call, limitMs) => calls.answered(call, limitMs, () => hangUp(connection));
}

function wrap(
  connection: Connection,
  facts: Pick<SqlSession, 'dialect' | 'maxPacketBytes'>,
  answered: InTime,
): MigrationConnection {
  return {
    ...facts,
    run: async (sql) => {
      await answered(connection.query(sql), LONG_MS);
    },
    query: async (sql, parameters = []) => {
      const call = connection.query<RowDataPacket[][]>({ sql, rowsAsArray: true }, parameters.map(toDriver));
      const [rows] = await answered(call, LONG_MS);
      return rows;
    },
    execute: async (sql, parameters = []) => {
      const call = connection.query<ResultSetHeader>(sql, parameters.map(toDriver));
      const [result] = await answered(call, LONG_MS);
      return result.affectedRows;
    },
    transaction: async (work) => {
      await answered(connection.beginTransaction(), SHORT_MS);
      try {
        const result = await work();
        await answered(connection.commit(), LONG_MS);
        return result;
      } catch (error) {
        // A broken connection is rolled back by the server.
        await answered(connection.rollback(), LONG_MS).catch(() => undefined);
        throw error;
      }
    },
    close: () => hangUp(connection),
  };
}

/**
 * Held until the connection ends. Locks are server-wide, so the name is the database's own; it may have 64 characters. Where
 * a server may lose it unnoticed none is taken: the fence alone says who may write.
 */
export async function takeLock(session: SqlSession, database: string): Promise<void> {
  if (session.dialect.namedLocks === 'lost') return;
  const name = `ingester-migrations-${sha256Hex(database).slice(0, 40)}`;
  const [row] = await session.query('SELECT GET_LOCK(?, ?)', [name, LOCK_WAIT_SECONDS]);
  if (Number(row?.[0]) === 1) return;
  const [used] = await session.query('SELECT IS_USED_LOCK(?)', [name]);
  const holder = Number(used?.[0] ?? 0);
  throw new TaskLockedError(holder === 0 ? '' : ` (connection ${holder} of the server)`);
}
