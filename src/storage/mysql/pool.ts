import { createPool, type Pool, type PoolConnection, type ResultSetHeader, type RowDataPacket } from 'mysql2/promise';
import type { Clock } from '../../base/clock.ts';
import { CodedError } from '../../base/errors.ts';
import { translateMysqlError } from './mysql-errors.ts';

export interface MysqlOptions {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Asked before every new pool connection is configured, so that a rotated secret is picked up on restart. */
  readonly password: string;
  readonly database: string;
  readonly maxOpenConns: number;
  readonly maxIdleConns: number;
  /** Milliseconds; a connection older than this is closed after its current use. 0 keeps connections. */
  readonly connMaxLifetimeMs: number;
}

export type SqlParameter = string | number | boolean | null | Uint8Array;
export type SqlRow = readonly unknown[];

/** One connection inside a transaction or a read. */
export interface SqlSession {
  query(sql: string, parameters?: readonly SqlParameter[]): Promise<readonly SqlRow[]>;
  /** Number of affected rows, where an upsert gives 1 inserted, 2 updated, 0 nothing changed. */
  execute(sql: string, parameters?: readonly SqlParameter[]): Promise<number>;
}

/** A statement without an answer for this long means a hung server; the connection is given up. */
const STATEMENT_TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
const LOCK_WAIT_SECONDS = 10;

/**
 * No gap locks, so that replacing the labels of different objects never deadlocks; strict mode, so that nothing is
 * cut or coerced behind our back; one time zone, whatever the server's is.
 */
const SESSION_SETUP = [
  'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
  `SET SESSION time_zone = '+00:00', innodb_lock_wait_timeout = ${LOCK_WAIT_SECONDS}, ` +
    "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE'",
];

export class MysqlPool {
  readonly #pool: Pool;
  readonly #options: MysqlOptions;
  readonly #clock: Clock;
  readonly #openedAt = new WeakMap<object, number>();

  constructor(options: MysqlOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#pool = createPool({
      host: options.host,
      port: options.port,
      user: options.user,
      password: options.password,
      database: options.database,
      connectionLimit: options.maxOpenConns,
      maxIdle: options.maxIdleConns,
      connectTimeout: CONNECT_TIMEOUT_MS,
      enableKeepAlive: true,
      charset: 'utf8mb4_bin',
      timezone: 'Z',
      dateStrings: true,
      jsonStrings: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
      rowsAsArray: true,
      // The driver's default counts matched rows; then an upsert that changed nothing looks like an insert.
      flags: ['-FOUND_ROWS'],
      maxPreparedStatements: 200,
    });
  }

  /** Runs the work on one connection, without a transaction. Driver errors come out translated. */
  read<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    return this.#withConnection((connection) => work(sessionOf(connection)));
  }

  /** Runs the work in one transaction: committed when it resolves, rolled back when it throws. */
  transaction<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    return this.#withConnection(async (connection) => {
      await connection.beginTransaction();
      const result = await work(sessionOf(connection));
      await connection.commit();
      return result;
    });
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #withConnection<T>(work: (connection: PoolConnection) => Promise<T>): Promise<T> {
    let connection: PoolConnection | undefined;
    try {
      connection = await this.#pool.getConnection();
      await this.#setUp(connection);
      const result = await work(connection);
      this.#release(connection);
      return result;
    } catch (error) {
      await this.#recover(connection, error);
      throw error instanceof CodedError ? error : translateMysqlError(error, this.#options.database);
    }
  }

  async #setUp(connection: PoolConnection): Promise<void> {
    if (this.#openedAt.has(connection.connection)) return;
    for (const statement of SESSION_SETUP) await connection.query({ sql: statement, timeout: STATEMENT_TIMEOUT_MS });
    this.#openedAt.set(connection.connection, this.#clock.monotonicMs());
  }

  #release(connection: PoolConnection): void {
    const age = this.#clock.monotonicMs() - (this.#openedAt.get(connection.connection) ?? 0);
    const lifetime = this.#options.connMaxLifetimeMs;
    if (lifetime > 0 && age > lifetime) connection.destroy();
    else connection.release();
  }

  /** After an error of the server the connection is rolled back and kept; after anything else it is given up. */
  async #recover(connection: PoolConnection | undefined, error: unknown): Promise<void> {
    if (connection === undefined) return;
    const fromServer = (error as { sqlMessage?: string }).sqlMessage !== undefined;
    if (!fromServer && !(error instanceof CodedError)) {
      connection.destroy();
      return;
    }
    try {
      await connection.query({ sql: 'ROLLBACK', timeout: STATEMENT_TIMEOUT_MS });
      connection.release();
    } catch {
      // The rollback failing means the connection is dead; the server rolls back by itself when it notices.
      connection.destroy();
    }
  }
}

function sessionOf(connection: PoolConnection): SqlSession {
  return {
    query: async (sql, parameters = []) => {
      const [rows] = await connection.execute<RowDataPacket[]>(
        { sql, timeout: STATEMENT_TIMEOUT_MS, rowsAsArray: true },
        parameters.map(toDriver),
      );
      return rows as unknown as readonly SqlRow[];
    },
    execute: async (sql, parameters = []) => {
      const [result] = await connection.execute<ResultSetHeader>(
        { sql, timeout: STATEMENT_TIMEOUT_MS },
        parameters.map(toDriver),
      );
      return result.affectedRows;
    },
  };
}

function toDriver(value: SqlParameter): string | number | boolean | null | Buffer {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}
