// The writer gate for operators: showing it, closing it with a report of what delays that, and opening it.
import type { Clock } from '../../../base/clock.ts';
import { messageOf } from '../../../base/errors.ts';
import { GateBusyError, StorageContentionError, StoragePermissionError } from '../../errors.ts';
import type { SchemaRange } from '../../schema-range.ts';
import { closeGate, openGate, readGate, waitUntilClosed } from '../gate.ts';
import { type MysqlOptions, MysqlPool, type SqlRow, type SqlSession, withPool } from '../pool.ts';
import { fromSqlTime } from '../sql-time.ts';
import type { Exclusive } from './exclusive-task.ts';

export interface GateState {
  readonly state: 'open' | 'closed';
  readonly holder?: string;
  readonly reason?: string;
  /** When it was closed, RFC 3339. */
  readonly since?: string;
  readonly schema: SchemaRange;
  /** The task that began last. */
  readonly task?: { readonly task: string; readonly attempt: string; readonly state: string };
}

/** How long one try waits for the writes under way before it says what it waits for. */
const TRY_MS = 5000;

export interface CloseRequest {
  readonly holder: string;
  readonly reason: string;
  /** Milliseconds. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/**
 * Resolves when no write is under way any more; throws STORAGE_GATE_BUSY after the deadline, with the gate as it was.
 */
export async function closeGateWithin(options: MysqlOptions, request: CloseRequest): Promise<GateState> {
  const { holder, reason, deadlineMs, clock, signal, progress } = request;
  const tryMs = Math.max(1000, Math.min(TRY_MS, deadlineMs));
  const pool = new MysqlPool({ ...options, lockTimeoutMs: tryMs }, clock);
  const began = clock.monotonicMs();
  try {
    for (;;) {
      signal.throwIfAborted();
      const busy = await tryToClose(pool, holder, reason);
      if (busy === undefined) {
        await waitUntilClosed(pool, clock, signal);
        signal.throwIfAborted();
        return await pool.read(readState);
      }
      const waited = Math.round((clock.monotonicMs() - began) / 1000);
      if (waited * 1000 >= deadlineMs) throw new GateBusyError(waited, busy);
      progress(`waiting for writes under way since ${waited} s: ${busy}`);
    }
  } finally {
    await pool.close();
  }
}

async function tryToClose(pool: MysqlPool, holder: string, reason: string): Promise<string | undefined> {
  try {
    await pool.transaction((session) => closeGate(session, holder, reason));
    return undefined;
  } catch (error) {
    if (!(error instanceof StorageContentionError)) throw error;
    return await describeWriters(pool);
  }
}

export interface ClosedForTask {
  readonly mysql: MysqlOptions;
  /** Who closed the gate for this task and opens it again; then it is left alone. */
  readonly gateHolder: string | undefined;
  /** The task's own name for the gate: the next run under it goes on where one was killed. */
  readonly holder: string;
  readonly reason: string;
  readonly gateTimeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/** Opens the gate together with what else a transaction does; leaves it where it was closed for the task. */
type OpenGate = (session: SqlSession) => Promise<void>;

/**
 * Runs the work while there is no other writer. Afterwards the gate is open again, whether the work succeeded or not;
 * only a run that was killed, or that a newer attempt replaced, leaves it to the next one.
 */
export async function withGateClosed<T>(
  { connection, pass }: Exclusive,
  closed: ClosedForTask,
  work: (open: OpenGate) => Promise<T>,
): Promise<T> {
  const { holder } = await readGate(connection);
  if (holder !== undefined && holder === closed.gateHolder) return work(() => Promise.resolve());
  await closeGateWithin(closed.mysql, { ...closed, deadlineMs: closed.gateTimeoutMs });
  try {
    return await work((session) => openGate(session, closed.holder));
  } finally {
    const open = connection.transaction(async () => {
      await pass(connection);
      await openGate(connection, closed.holder);
    });
    await open.catch((error: unknown) =>
      closed.progress(`The gate stays closed by ${closed.holder}: ${messageOf(error)}`),
    );
  }
}

/** Never a statement: it could hold values of rows. */
async function describeWriters(pool: MysqlPool): Promise<string> {
  try {
    return await pool.read(describeTransactions);
  } catch (error) {
    if (!(error instanceof StoragePermissionError)) throw error;
    return await pool.read(describeConnections);
  }
}

async function describeTransactions(session: SqlSession): Promise<string> {
  if (session.dialect.transactions === 'hidden') return 'which transactions these are, only the shards know';
  const [row] = await session.query(
    'SELECT COUNT(*), MAX(TIMESTAMPDIFF(SECOND, `trx_started`, NOW())), ' +
      "GROUP_CONCAT(`trx_mysql_thread_id` ORDER BY `trx_started` SEPARATOR ', ') FROM `information_schema`.`innodb_trx`",
  );
  const [count, oldest, connections] = row as readonly [unknown, unknown, string | null];
  return `${Number(count)} transactions, the oldest ${Number(oldest)} s old, of the connections ${connections ?? '-'}`;
}

async function describeConnections(session: SqlSession): Promise<string> {
  const [[ownId, name] = []] = await session.query('SELECT CONNECTION_ID(), DATABASE()');
  const rows = await session.query(SHOW_CONNECTIONS);
  const others = rows.map(connectionOf).filter(({ id, database }) => database === name && id !== Number(ownId));
  return (
    `this user sees ${others.length} other connections of its own; with the right PROCESS it would see which ` +
    'transactions are open'
  );
}

export async function openGateOf(options: MysqlOptions, holder: string, clock: Clock): Promise<GateState> {
  return withPool(options, clock, async (pool) => {
    await pool.transaction((session) => openGate(session, holder));
    return pool.read(readState);
  });
}

export function showGate(options: MysqlOptions, clock: Clock): Promise<GateState> {
  return withPool(options, clock, (pool) => pool.read(readState));
}

async function readState(session: SqlSession): Promise<GateState> {
  const { holder, range } = await readGate(session);
  const [row] = await session.query('SELECT `reason`, `changed_at` FROM `ingester_gate` WHERE `id` = 1');
  const [task] = await session.query(
    'SELECT f.`task`, f.`attempt`, a.`state` FROM `ingester_fence` f JOIN `ingester_attempts` a ' +
      'ON a.`task` = f.`task` AND a.`attempt` = f.`attempt` WHERE f.`id` = 1',
  );
  const last = task === undefined ? {} : { task: toTask(task as readonly string[]) };
  if (holder === undefined) return { state: 'open', schema: range, ...last };
  const [reason, since] = row as readonly (string | null)[];
  return {
    state: 'closed',
    holder,
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(typeof since === 'string' ? { since: fromSqlTime(since) } : {}),
    schema: range,
    ...last,
  };
}

function toTask([task = '', attempt = '', state = '']: readonly string[]): Required<GateState>['task'] {
  return { task, attempt, state };
}

// Who is connected to the server. `information_schema.processlist` has it too, but on MySQL it fails while any client
// sends bytes that are no text: it converts the running statements, values included, even if that column is not
// selected.

/** Shows all connections to a user with the privilege PROCESS, and to others those of their own user. */
export const SHOW_CONNECTIONS = 'SHOW PROCESSLIST';

export interface ServerConnection {
  readonly id: number;
  readonly user: string;
  /** Null while it uses none. */
  readonly database: string | null;
}

/** Of a row of `SHOW_CONNECTIONS`; both servers begin with the same columns. */
export function connectionOf([id, user, _host, database]: SqlRow): ServerConnection {
  return { id: Number(id), user: String(user), database: database as string | null };
}
