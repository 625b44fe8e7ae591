// A task alone with its database: the fence says which attempt may write, and a lock of the server keeps another task
// waiting that is no newer attempt. The lock ends with the connection, so whatever happens to the process, it is let go.
import { randomUUID } from 'node:crypto';
import { messageOf } from '../../../base/errors.ts';
import { StorageSchemaMissingError } from '../../errors.ts';
import type { MysqlAccess } from '../access.ts';
import type { Ability } from '../dialect.ts';
import { refuseLacking } from '../dialect.ts';
import { translateMysqlError } from '../mysql-errors.ts';
import type { SqlSession } from '../pool.ts';
import { presentTables } from '../schema/present-tables.ts';
import { refuseOldServer } from '../server-version.ts';
import { type MigrationConnection, openMigrationConnection, takeLock } from './migration-connection.ts';
import {
  type Attempt,
  type Claim,
  claimAttempt,
  createFence,
  FENCE_TABLE,
  failAttempt,
  finishAttempt,
  passFence,
} from './task-fence.ts';

export interface ExclusiveTask {
  readonly access: MysqlAccess;
  readonly attempt: Attempt;
  /**
   * Whether this attempt replaces attempts that run now: for attempts that a controller counts. A run by a user waits
   * for them instead.
   */
  readonly order: 'supersede' | 'wait';
  /** `create` for the task that creates tables; others say that they are missing. */
  readonly tables: 'create' | 'require';
  /** Refused on a server that lacks it, before anything is done. */
  readonly needs?: Ability;
}

/** Attempts without a given name get a unique one, so that none is taken for another. */
export function attemptOf(task: string, attempt: string | undefined): Pick<ExclusiveTask, 'attempt' | 'order'> {
  if (attempt !== undefined) return { attempt: { task, attempt }, order: 'supersede' };
  return { attempt: { task, attempt: `by-hand-${randomUUID()}` }, order: 'wait' };
}

export interface Exclusive {
  /** Holds the lock. What runs on it alone ends with the lock. */
  readonly connection: MigrationConnection;
  readonly attempt: Attempt;
  /** First in every transaction; throws TASK_SUPERSEDED. */
  readonly pass: (session: SqlSession) => Promise<void>;
  /**
   * Notes the result together with what `alongside` writes, where the one without the other would mislead the next run.
   * Otherwise it is noted when the work is over.
   */
  readonly complete: (result: object, alongside: (session: SqlSession) => Promise<void>) => Promise<void>;
}

export interface Finished<T> {
  readonly result: T;
  /** `before`: this attempt was complete already, nothing was done, and the result is that of then. */
  readonly completed: 'now' | 'before';
}

export async function exclusively<T extends object>(
  task: ExclusiveTask,
  work: (exclusive: Exclusive) => Promise<T>,
): Promise<Finished<T>> {
  const { access, attempt } = task;
  let connection: MigrationConnection | undefined;
  try {
    connection = await openMigrationConnection(access);
    await refuseOldServer(connection);
    if (task.needs !== undefined) refuseLacking(connection.dialect, task.needs);
    const claim = await enter(connection, task);
    if (claim.verdict === 'complete') return { result: claim.result as T, completed: 'before' };
    return { result: await runClaimed(connection, attempt, work), completed: 'now' };
  } catch (error) {
    throw translateMysqlError(error, access);
  } finally {
    connection?.close();
  }
}

async function enter(connection: MigrationConnection, task: ExclusiveTask): Promise<Claim> {
  const { access, attempt, order, tables } = task;
  await prepareTables(connection, tables);
  const claim = (): Promise<Claim> => connection.transaction(() => claimAttempt(connection, attempt));
  if (order === 'wait') {
    await takeLock(connection, access.database);
    return claim();
  }
  const claimed = await claim();
  if (claimed.verdict === 'begin') await takeLock(connection, access.database);
  return claimed;
}

/** Nothing is created that is there, so a database that is up to date needs no right to create tables. */
async function prepareTables(connection: MigrationConnection, tables: 'create' | 'require'): Promise<void> {
  const needed = [FENCE_TABLE, 'ingester_attempts'];
  const present = await presentTables(connection, needed);
  const there = needed.every((table) => present.has(table));
  if (!there && tables === 'require') throw new StorageSchemaMissingError(`the table ${FENCE_TABLE} is missing`);
  if (there && (await connection.query(`SELECT \`id\` FROM \`${FENCE_TABLE}\``)).length > 0) return;
  for (const statement of createFence) await connection.run(statement);
}

async function runClaimed<T extends object>(
  connection: MigrationConnection,
  attempt: Attempt,
  work: (exclusive: Exclusive) => Promise<T>,
): Promise<T> {
  try {
    const noted = new Set<object>();
    const complete: Exclusive['complete'] = async (result, alongside) => {
      await connection.transaction(async () => {
        await finishAttempt(connection, attempt, result);
        await alongside(connection);
      });
      noted.add(result);
    };
    const pass = (session: SqlSession): Promise<void> => passFence(session, attempt);
    const result = await work({ connection, attempt, pass, complete });
    if (!noted.has(result)) await complete(result, () => Promise.resolve());
    return result;
  } catch (error) {
    // Where the connection broke, the attempt stays `running` until the next one begins.
    await failAttempt(connection, attempt, messageOf(error)).catch(() => undefined);
    throw error;
  }
}
