import {
  createPool,
  type Pool,
  type PoolConnection,
  type ResultSetHeader,
  type RowDataPacket,
  type SslOptions,
} from 'mysql2/promise';
import type { Clock } from '../../base/clock.ts';
import { CodedError } from '../../base/errors.ts';
import { translateMysqlError } from './mysql-errors.ts';

/** Encrypted, and only to a server that proves its host name. */
export interface TlsOptions {
  /** PEM of the authorities to trust; those that Node trusts where it is missing. */
  readonly ca?: string;
}

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
  /** Plain text where it is missing. */
  readonly tls?: TlsOptions;
}

/** For the driver; without `verifyIdentity` it would accept the certificate of any host. */
export function sslOptions({ tls }: Pick<MysqlOptions, 'tls'>): { readonly ssl?: SslOptions } {
  if (tls === undefined) return {};
  return { ssl: { ...tls, rejectUnauthorized: true, verifyIdentity: true, minVersion: 'TLSv1.2' } };
}

export type SqlParameter = string | number | boolean | null | Uint8Array;
export type SqlRow = readonly unknown[];

/** One connection inside a transaction or a read. */
export interface SqlSession {
  /** `max_allowed_packet` of the server: a larger statement would cost the connection. */
  readonly maxPacketBytes: number;
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

interface ConnectionFacts {
  readonly openedAt: number;
  readonly maxPacketBytes: number;
}

export class MysqlPool {
  readonly #pool: Pool;
  readonly #options: MysqlOptions;
  readonly #clock: Clock;
  readonly #known = new WeakMap<object, ConnectionFacts>();

  constructor(options: MysqlOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#pool = createPool({
      host: options.host,
      port: options.port,
      user: options.user,
      password: options.password,
      database: options.database,
      ...sslOptions(options),
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
      maxPreparedStatements: 400,
    });
  }

  /** Runs the work on one connection, without a transaction. Driver errors come out translated. */
  read<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    return this.#withConnection((connection, facts) => work(sessionOf(connection, facts)));
  }

  /** Runs the work in one transaction: committed when it resolves, rolled back when it throws. */
  transaction<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    return this.#withConnection(async (connection, facts) => {
      await connection.beginTransaction();
      const result = await work(sessionOf(connection, facts));
      await connection.commit();
      return result;
    });
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #withConnection<T>(work: (connection: PoolConnection, facts: ConnectionFacts) => Promise<T>): Promise<T> {
    let connection: PoolConnection | undefined;
    try {
      connection = await this.#pool.getConnection();
      const facts = await this.#setUp(connection);
      const result = await work(connection, facts);
      this.#release(connection, facts);
      return result;
    } catch (error) {
      await this.#recover(connection, error);
      throw error instanceof CodedError ? error : translateMysqlError(error, this.#options.database);
    }
  }

  async #setUp(connection: PoolConnection): Promise<ConnectionFacts> {
    const known = this.#known.get(connection.connection);
    if (known !== undefined) return known;
    for (const statement of SESSION_SETUP) await connection.query({ sql: statement, timeout: STATEMENT_TIMEOUT_MS });
    const [rows] = await connection.query<RowDataPacket[][]>({
      sql: 'SELECT @@max_allowed_packet',
      timeout: STATEMENT_TIMEOUT_MS,
    });
    const facts = { openedAt: this.#clock.monotonicMs(), maxPacketBytes: Number(rows[0]?.[0]) };
    this.#known.set(connection.connection, facts);
    return facts;
  }

  #release(connection: PoolConnection, { openedAt }: ConnectionFacts): void {
    const age = this.#clock.monotonicMs() - openedAt;
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

function sessionOf(connection: PoolConnection, { maxPacketBytes }: ConnectionFacts): SqlSession {
  return {
    maxPacketBytes,
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
