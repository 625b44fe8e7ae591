import type { PoolConnection, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import { onAbort } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { CodedError } from '../../base/errors.ts';
import { ReadEndedError, StorageAccessDeniedError } from '../errors.ts';
import { type MysqlAccess, passwordOf } from './access.ts';
import { Committed } from './committed.ts';
import { Calls, hangUp } from './deadline.ts';
import { type Dialect, dialectOf } from './dialect.ts';
import { CONNECT_TIMEOUT_MS, endQuietly, type Generation, newGeneration } from './generation.ts';
import { isConnectionLost, translateMysqlError } from './mysql-errors.ts';
import { preparedBy, type SqlParameter } from './parameters.ts';
import { ASK_SERVER, serverLimits, sessionSetup, TRACK_COMMITS } from './session-setup.ts';

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

export type SqlRow = readonly unknown[];

/** One connection inside a transaction or a read. */
export interface SqlSession {
  /** What differs between servers. */
  readonly dialect: Dialect;
  /** What the server accepts, mostly `max_allowed_packet`: a larger statement would cost the connection. */
  readonly maxPacketBytes: number;
  query(sql: string, parameters?: readonly SqlParameter[]): Promise<readonly SqlRow[]>;
  /** Number of affected rows, where an upsert gives 1 inserted, 2 updated, 0 nothing changed. */
  execute(sql: string, parameters?: readonly SqlParameter[]): Promise<number>;
}

/** A statement without an answer for this long means a hung server; the connection is given up. */
export const READ_TIMEOUT_MS = 30_000;
const KILL_TIMEOUT_MS = 5000;
/** How old the knowledge of the password may be. */
const PASSWORD_AGE_MS = 5000;

interface ConnectionFacts {
  readonly openedAt: number;
  readonly dialect: Dialect;
  readonly maxPacketBytes: number;
}

/** What the types of the driver leave out. */
interface CommitAnswer extends ResultSetHeader {
  readonly stateChanges?: { readonly gtids?: readonly string[] };
}

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
    this.#current = this.#newGeneration(passwordOf(options));
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

  #sessionOf(connection: PoolConnection, { dialect, maxPacketBytes }: ConnectionFacts): SqlSession {
    const toDriver = preparedBy[dialect.integers];
    return {
      dialect,
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
      throw translateMysqlError(error, this.#options);
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

  #newGeneration(password: string): Generation {
    return newGeneration({ ...this.#options, readTimeoutMs: this.#readTimeoutMs }, password);
  }

  #renew(generation: Generation, password: string): void {
    if (generation !== this.#current) return;
    this.#current = this.#newGeneration(password);
    if (generation.users === 0) void endQuietly(generation);
  }

  async #setUp(connection: PoolConnection): Promise<ConnectionFacts> {
    const known = this.#known.get(connection.connection);
    if (known !== undefined) return known;
    const question = connection.query<RowDataPacket[][]>({ sql: ASK_SERVER, rowsAsArray: true });
    const [[answer = []]] = (await this.#answered(connection, question)) as unknown as readonly [SqlRow[]];
    const [version, comment, packet] = answer;
    const dialect = dialectOf(String(version), String(comment));
    for (const sql of [...sessionSetup(this.#options), ...serverLimits(dialect, this.#readTimeoutMs)])
      await this.#answered(connection, connection.query(sql));
    await this.#answered(connection, connection.query(TRACK_COMMITS)).catch(ignoreRefusal);
    const maxPacketBytes = Math.min(Number(packet), dialect.maxStatementBytes);
    const facts = { openedAt: this.#clock.monotonicMs(), dialect, maxPacketBytes };
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
