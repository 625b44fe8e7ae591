import type { Socket } from 'node:net';
import {
  createPool,
  type Pool,
  type PoolConnection,
  type PoolOptions,
  type ResultSetHeader,
  type RowDataPacket,
  type SslOptions,
} from 'mysql2/promise';
import { onAbort } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { CodedError } from '../../base/errors.ts';
import { ReadEndedError, StorageAccessDeniedError } from '../errors.ts';
import { Committed } from './committed.ts';
import { Calls, hangUp, hangUpLater, socketOf } from './deadline.ts';
import { isConnectionLost, translateMysqlError } from './mysql-errors.ts';

/** Encrypted, and only to a server that proves its host name. */
export interface TlsOptions {
  /** PEM of the authorities to trust; those that Node trusts where it is missing. */
  readonly ca?: string;
}

export interface MysqlAccess {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** A function is asked again from time to time and whenever the login is refused, so a secret can be rotated. */
  readonly password: string | (() => string);
  readonly database: string;
  /** Plain text where it is missing. */
  readonly tls?: TlsOptions;
  /** Milliseconds until a connection counts as impossible; 10,000 where it is missing. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds until a server that does not answer counts as hung; 30,000 where it is missing. */
  readonly readTimeoutMs?: number;
  /** Milliseconds a statement waits for the locks of others, in whole seconds; 10,000 where it is missing. */
  readonly lockTimeoutMs?: number;
}

/** A cluster, and the database that it stores its objects in. */
export interface ClusterIdentity {
  /** Of its namespace kube-system. */
  readonly uid: string;
  /** Since when it has had that database, by which it is told from every other one; missing where it remembers none. */
  readonly database?: string | undefined;
}

export interface MysqlOptions extends MysqlAccess {
  readonly maxOpenConns: number;
  readonly maxIdleConns: number;
  /** Milliseconds; a connection older than this is closed after its current use. 0 keeps connections. */
  readonly connMaxLifetimeMs: number;
  /** A gate closed under this name lets our writes through: it was lent to the task that this process is. */
  readonly gateHolder?: string | undefined;
  /** Whose objects are written; see clusters.ts. Throws STORAGE_CLUSTER_UNKNOWN. */
  readonly cluster?: (() => Promise<ClusterIdentity>) | undefined;
}

export function passwordOf({ password }: Pick<MysqlAccess, 'password'>): string {
  return typeof password === 'string' ? password : password();
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

/** A server that is there answers in a second; one behind a connection that is lost never does. */
const CONNECT_TIMEOUT_MS = 10_000;
/** A statement without an answer for this long means a hung server; the connection is given up. */
export const READ_TIMEOUT_MS = 30_000;
/** No transaction of ours holds its locks that long; one that waits longer is retried. */
const LOCK_TIMEOUT_MS = 10_000;
const KILL_TIMEOUT_MS = 5000;
const KILLER_IDLE_MS = 10_000;
/** How old the knowledge of the password may be. */
const PASSWORD_AGE_MS = 5000;

/**
 * No gap locks, so that replacing the labels of different objects never deadlocks; strict mode, so that nothing is
 * cut or coerced behind our back; one time zone; reads that are whole and end with their statement, and writes of many
 * rows. Whatever the server's defaults are, or what its administrator has set for each connection.
 */
export function sessionSetup({ lockTimeoutMs = LOCK_TIMEOUT_MS }: Pick<MysqlAccess, 'lockTimeoutMs'>): string[] {
  const lockWaitSeconds = Math.max(1, Math.round(lockTimeoutMs / 1000));
  return [
    'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED',
    `SET SESSION time_zone = '+00:00', innodb_lock_wait_timeout = ${lockWaitSeconds}, autocommit = 1, ` +
      'sql_select_limit = 18446744073709551615, sql_safe_updates = 0, sql_big_selects = 1, unique_checks = 1, ' +
      "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE'",
  ];
}

/**
 * A statement whose caller gives up ends at the server too, after three quarters of the wait, so that the connection
 * survives. MySQL limits reads only. Each server takes the other's setting for a comment. A connection that the network
 * lost says nothing to the server, which would keep the locks of its transaction for eight hours: it ends a silent one,
 * later than the pool closes what is idle.
 */
function serverLimits(readTimeoutMs: number): string {
  const limitMs = Math.max(1, Math.floor(readTimeoutMs * 0.75));
  const silentSeconds = Math.ceil((3 * readTimeoutMs) / 1000);
  return (
    `SET SESSION wait_timeout = ${silentSeconds} ` +
    `/*!80000 , max_execution_time = ${limitMs} */ /*M!100101 , max_statement_time = ${limitMs / 1000} */`
  );
}

/** With the answer to a commit MySQL then says under which number; MariaDB does not know the setting. */
const TRACK_COMMITS = 'SET SESSION session_track_gtids = OWN_GTID';

interface ConnectionFacts {
  readonly openedAt: number;
  readonly maxPacketBytes: number;
}

/** What the types of the driver leave out. */
interface CommitAnswer extends ResultSetHeader {
  readonly stateChanges?: { readonly gtids?: readonly string[] };
}

/** Connections that were made with the same password to the same server. */
interface Generation {
  readonly pool: Pool;
  /** One connection more, made when it is needed, by which statements on the others are ended. */
  readonly killer: Pool;
  readonly password: string;
  /** Of the connections that were made and are not closed yet. */
  readonly sockets: Set<Socket>;
  /** Connections in use or asked for. */
  users: number;
}

/** How long a pool has to close its connections. */
const CLOSE_MS = 1000;

/** The server became a replica: what it was connected to for writing is now another one. */
const READ_ONLY_ERRORS: ReadonlySet<number | undefined> = new Set([1290, 1792, 1836]);

/**
 * Connections come in generations. A new password, a server that turned read-only and a connection that broke or hung
 * begin a new one: idle connections are closed, those in use are closed after it, and new ones look up the host again.
 */
export class MysqlPool {
  readonly #options: MysqlOptions;
  readonly #clock: Clock;
  readonly #known = new WeakMap<object, ConnectionFacts>();
  readonly #readTimeoutMs: number;
  readonly #calls = new Calls();
  readonly committed: Committed = new Committed();
  #current: Generation;
  #passwordReadAt: number;

  constructor(options: MysqlOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#readTimeoutMs = options.readTimeoutMs ?? READ_TIMEOUT_MS;
    this.#passwordReadAt = clock.monotonicMs();
    this.#current = newGeneration(options, passwordOf(options));
  }

  /** Connections in use or waited for. */
  get used(): number {
    return this.#current.users;
  }

  get most(): number {
    return this.#options.maxOpenConns;
  }

  /**
   * Runs the work on one connection, without a transaction. Driver errors come out translated. When the signal comes, the
   * statement that runs is ended at the server, and the session takes no other.
   */
  read<T>(work: (session: SqlSession) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#withConnection((connection, facts) => {
      const session = this.#sessionOf(connection, facts);
      if (signal === undefined) return work(session);
      return endedBy(signal, session, work, () => this.#endStatement(connection));
    });
  }

  /** Runs the work in one transaction: committed when it resolves, rolled back when it throws. */
  transaction<T>(work: (session: SqlSession) => Promise<T>): Promise<T> {
    return this.#withConnection(async (connection, facts) => {
      await this.#answered(connection, connection.query('START TRANSACTION'));
      const result = await work(this.#sessionOf(connection, facts));
      const [answer] = await this.#answered(connection, connection.query<ResultSetHeader>('COMMIT'));
      this.committed.note((answer as CommitAnswer).stateChanges?.gtids ?? []);
      return result;
    });
  }

  /** Calls that are still under way are broken off; it never takes longer than a few seconds. */
  async close(): Promise<void> {
    const closed = endQuietly(this.#current);
    this.#calls.breakOff('it is being closed');
    await closed;
  }

  /** The answer to a call on a connection, which is given up where there is none in time. */
  #answered<T>(connection: PoolConnection, call: Promise<T>): Promise<T> {
    return this.#calls.answered(call, this.#readTimeoutMs, () => hangUp(connection));
  }

  #sessionOf(connection: PoolConnection, { maxPacketBytes }: ConnectionFacts): SqlSession {
    return {
      maxPacketBytes,
      query: async (sql, parameters = []) => {
        const call = connection.execute<RowDataPacket[]>({ sql, rowsAsArray: true }, parameters.map(toDriver));
        const [rows] = await this.#answered(connection, call);
        return rows as unknown as readonly SqlRow[];
      },
      execute: async (sql, parameters = []) => {
        const call = connection.execute<ResultSetHeader>(sql, parameters.map(toDriver));
        const [result] = await this.#answered(connection, call);
        return result.affectedRows;
      },
    };
  }

  /** A free connection or a new one. One that comes too late is of use to others. */
  #connect({ pool }: Generation): Promise<PoolConnection> {
    const connection = pool.getConnection();
    const limitMs = this.#readTimeoutMs + (this.#options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS);
    return this.#calls.answered(connection, limitMs, () => {
      connection.then(
        (late) => late.release(),
        () => undefined,
      );
    });
  }

  async #withConnection<T>(work: (connection: PoolConnection, facts: ConnectionFacts) => Promise<T>): Promise<T> {
    if (this.#clock.monotonicMs() - this.#passwordReadAt > PASSWORD_AGE_MS) this.#renewIfPasswordChanged();
    try {
      return await this.#useConnection(work);
    } catch (error) {
      const refused = error instanceof StorageAccessDeniedError;
      if (!refused || !this.#renewIfPasswordChanged()) throw error;
      return await this.#useConnection(work);
    }
  }

  async #useConnection<T>(work: (connection: PoolConnection, facts: ConnectionFacts) => Promise<T>): Promise<T> {
    const generation = this.#current;
    generation.users += 1;
    let connection: PoolConnection | undefined;
    try {
      connection = await this.#connect(generation);
      const facts = await this.#setUp(connection);
      const result = await work(connection, facts);
      this.#release(generation, connection, facts);
      return result;
    } catch (error) {
      await this.#recover(generation, connection, error);
      throw error instanceof CodedError ? error : translateMysqlError(error, this.#options.database);
    } finally {
      generation.users -= 1;
      if (generation !== this.#current && generation.users === 0) await endQuietly(generation);
    }
  }

  /** Whether the password is another one than before. */
  #renewIfPasswordChanged(): boolean {
    this.#passwordReadAt = this.#clock.monotonicMs();
    const password = passwordOf(this.#options);
    if (password === this.#current.password) return false;
    this.#renew(this.#current, password);
    return true;
  }

  #renew(generation: Generation, password: string): void {
    if (generation !== this.#current) return;
    this.#current = newGeneration(this.#options, password);
    if (generation.users === 0) void endQuietly(generation);
  }

  async #setUp(connection: PoolConnection): Promise<ConnectionFacts> {
    const known = this.#known.get(connection.connection);
    if (known !== undefined) return known;
    for (const sql of [...sessionSetup(this.#options), serverLimits(this.#readTimeoutMs)])
      await this.#answered(connection, connection.query(sql));
    await this.#answered(connection, connection.query(TRACK_COMMITS)).catch(ignoreRefusal);
    const question = connection.query<RowDataPacket[][]>('SELECT @@max_allowed_packet');
    const [rows] = await this.#answered(connection, question);
    const facts = { openedAt: this.#clock.monotonicMs(), maxPacketBytes: Number(rows[0]?.[0]) };
    this.#known.set(connection.connection, facts);
    return facts;
  }

  /** The connection can be used on where the server does as it is told, and is given up where it does not. */
  async #endStatement(connection: PoolConnection): Promise<void> {
    const killed = this.#current.killer.query(`KILL QUERY ${connection.threadId}`);
    try {
      await this.#calls.answered(killed, KILL_TIMEOUT_MS, () => undefined);
    } catch {
      hangUp(connection);
    }
  }

  #release(generation: Generation, connection: PoolConnection, { openedAt }: ConnectionFacts): void {
    const age = this.#clock.monotonicMs() - openedAt;
    const lifetime = this.#options.connMaxLifetimeMs;
    if (generation !== this.#current || (lifetime > 0 && age > lifetime)) connection.destroy();
    else connection.release();
  }

  /** After an error of the server the connection is rolled back and kept; after anything else it is given up. */
  async #recover(generation: Generation, connection: PoolConnection | undefined, error: unknown): Promise<void> {
    if (connection === undefined) return;
    const { errno, sqlMessage } = error as { readonly errno?: number; readonly sqlMessage?: string };
    if (sqlMessage === undefined && !(error instanceof CodedError)) {
      if (isConnectionLost(error)) this.#renew(generation, generation.password);
      hangUp(connection);
      return;
    }
    if (READ_ONLY_ERRORS.has(errno)) this.#renew(generation, generation.password);
    try {
      await this.#answered(connection, connection.query('ROLLBACK'));
      if (generation === this.#current) connection.release();
      else connection.destroy();
    } catch {
      // The rollback failing means the connection is dead; the server rolls back by itself when it notices.
      hangUp(connection);
    }
  }
}

/** The connection is as good as before where the server has said no, and broken where it has not. */
function ignoreRefusal(error: unknown): void {
  if ((error as { readonly sqlMessage?: string }).sqlMessage === undefined) throw error;
}

function newGeneration(options: MysqlOptions, password: string): Generation {
  const { maxOpenConns: connectionLimit, maxIdleConns: maxIdle } = options;
  const sockets = new Set<Socket>();
  const open = (size: PoolSize): Pool => newPool(options, password, size, sockets);
  const idleTimeout = 2 * (options.readTimeoutMs ?? READ_TIMEOUT_MS);
  const pool = open({ connectionLimit, maxIdle, idleTimeout });
  const killer = open({ connectionLimit: 1, maxIdle: 0, idleTimeout: KILLER_IDLE_MS });
  return { pool, killer, password, sockets, users: 0 };
}

type PoolSize = Pick<PoolOptions, 'connectionLimit' | 'maxIdle' | 'idleTimeout'>;

function newPool(options: MysqlOptions, password: string, size: PoolSize, sockets: Set<Socket>): Pool {
  const pool = createPool({
    host: options.host,
    port: options.port,
    user: options.user,
    password,
    database: options.database,
    ...sslOptions(options),
    ...size,
    connectTimeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
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
    // A stack recorded for each statement costs more than sending a small one.
    trace: false,
  });
  pool.on('connection', (connection) => {
    const socket = socketOf(connection);
    if (socket === undefined) return;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return pool;
}

/**
 * Its connections may be broken already, and no call waits for them; a server that does not answer is given up after a
 * while.
 */
async function endQuietly({ pool, killer, sockets }: Generation): Promise<void> {
  const calls = new Calls();
  const ended = Promise.all([pool.end(), killer.end()]);
  await calls.answered(ended, CLOSE_MS, () => undefined).catch(() => undefined);
  for (const socket of sockets) hangUpLater(socket);
}

/**
 * The work until the signal comes. The connection stays ours until the server has answered the end of its statement:
 * it must never meet the statement of another request.
 */
async function endedBy<T>(
  signal: AbortSignal,
  session: SqlSession,
  work: (session: SqlSession) => Promise<T>,
  endStatement: () => Promise<void>,
): Promise<T> {
  let ended: Promise<void> | undefined;
  const refuseEnded = (): void => {
    if (signal.aborted) throw new ReadEndedError(signal.reason);
  };
  refuseEnded();
  const forget = onAbort(signal, () => {
    ended = endStatement();
  });
  const query: SqlSession['query'] = (sql, parameters) => {
    refuseEnded();
    return session.query(sql, parameters);
  };
  try {
    return await work({ ...session, query });
  } finally {
    forget();
    await ended;
  }
}

function toDriver(value: SqlParameter): string | number | boolean | null | Buffer {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

/** For a few statements: the connections are closed afterwards. */
export async function withPool<T>(
  options: MysqlOptions,
  clock: Clock,
  work: (pool: MysqlPool) => Promise<T>,
): Promise<T> {
  const pool = new MysqlPool(options, clock);
  try {
    return await work(pool);
  } finally {
    await pool.close();
  }
}
