// Only one attempt at a task may write at a time, and only the newest. One row names it. Every transaction of a task
// reads that row first and keeps it until it commits; a newer attempt updates the row, which waits for the transactions
// under way and fails all later ones of the attempt before.
import { redact } from '../../../base/redact.ts';
import { StorageSchemaMissingError, TaskSupersededError } from '../../errors.ts';
import type { SqlRow, SqlSession } from '../pool.ts';
import { createTable } from '../schema/tables.ts';

export interface Attempt {
  readonly task: string;
  readonly attempt: string;
}

export const FENCE_TABLE = 'ingester_fence';
const MESSAGE_LENGTH = 1024;
/** So many of the newest attempts stay on record. */
const KEPT_ATTEMPTS = 200;

/** Made before any migration, because migrations are tasks too. */
export const createFence: readonly string[] = [
  createTable(FENCE_TABLE, [
    '  `id` TINYINT UNSIGNED NOT NULL',
    '  `task` VARCHAR(63)',
    '  `attempt` VARCHAR(253)',
    '  PRIMARY KEY (`id`)',
  ]),
  createTable('ingester_attempts', [
    '  `task` VARCHAR(63) NOT NULL',
    '  `attempt` VARCHAR(253) NOT NULL',
    '  `prefix` VARCHAR(253) NOT NULL',
    '  `number` BIGINT UNSIGNED',
    '  `state` VARCHAR(16) NOT NULL',
    '  `started_at` DATETIME(6) NOT NULL',
    '  `ended_at` DATETIME(6)',
    `  \`message\` VARCHAR(${MESSAGE_LENGTH})`,
    '  `result` MEDIUMTEXT',
    '  PRIMARY KEY (`task`, `attempt`)',
    '  KEY `ingester_attempts_number` (`prefix`, `number`)',
  ]),
  `INSERT IGNORE INTO \`${FENCE_TABLE}\` (\`id\`) VALUES (1)`,
];

const READ = `SELECT \`task\`, \`attempt\` FROM \`${FENCE_TABLE}\` WHERE \`id\` = 1`;

export type Claim =
  | { readonly verdict: 'begin' }
  /** This attempt was complete already; what it reported then. */
  | { readonly verdict: 'complete'; readonly result: object };

/** In a transaction of its own. Throws TASK_SUPERSEDED for an attempt that is out of date. */
export async function claimAttempt(session: SqlSession, claimed: Attempt): Promise<Claim> {
  const { task, attempt } = claimed;
  const parts = partsOf(attempt);
  const current = await readCurrent(session, `${READ} FOR UPDATE`);
  const [own] = await session.query(
    'SELECT `state`, `result` FROM `ingester_attempts` WHERE `task` = ? AND `attempt` = ?',
    [task, attempt],
  );
  const [highest] = await session.query('SELECT MAX(`number`) FROM `ingester_attempts` WHERE `prefix` = ?', [
    parts.prefix,
  ]);
  const isCurrent = current?.task === task && current.attempt === attempt;
  const seen = isCurrent ? 'current' : own === undefined ? 'never' : 'former';
  const verdict = judgeAttempt(parts, { seen, highest: numberOf(highest?.[0]) });
  if (verdict === 'stale') throw new TaskSupersededError(task, attempt, describe(current));
  if (verdict === 'again' && own?.[0] === 'complete') return { verdict: 'complete', result: parsed(own[1]) };
  await begin(session, claimed, parts);
  return { verdict: 'begin' };
}

async function begin(
  session: SqlSession,
  { task, attempt }: Attempt,
  { prefix, number }: ReturnType<typeof partsOf>,
): Promise<void> {
  await session.execute(
    "UPDATE `ingester_attempts` SET `state` = 'superseded', `ended_at` = UTC_TIMESTAMP(6) " +
      "WHERE `state` = 'running' AND NOT (`task` = ? AND `attempt` = ?)",
    [task, attempt],
  );
  await session.execute(
    'INSERT INTO `ingester_attempts` (`task`, `attempt`, `prefix`, `number`, `state`, `started_at`) ' +
      "VALUES (?, ?, ?, ?, 'running', UTC_TIMESTAMP(6)) " +
      "ON DUPLICATE KEY UPDATE `state` = 'running', `ended_at` = NULL, `message` = NULL",
    [task, attempt, prefix, number ?? null],
  );
  await session.execute(`UPDATE \`${FENCE_TABLE}\` SET \`task\` = ?, \`attempt\` = ? WHERE \`id\` = 1`, [
    task,
    attempt,
  ]);
  await session.execute(FORGET, []);
}

/** Of what is counted the highest number always stays: by it an attempt that comes late is recognized. */
const FORGET =
  'DELETE `a` FROM `ingester_attempts` AS `a` JOIN ' +
  `(SELECT \`started_at\` FROM \`ingester_attempts\` ORDER BY \`started_at\` DESC LIMIT 1 OFFSET ${KEPT_ATTEMPTS}) AS \`old\` ` +
  'ON `a`.`started_at` <= `old`.`started_at` LEFT JOIN ' +
  '(SELECT `prefix`, MAX(`number`) AS `number` FROM `ingester_attempts` GROUP BY `prefix`) AS `newest` ' +
  'ON `newest`.`prefix` = `a`.`prefix` AND `newest`.`number` = `a`.`number` ' +
  "WHERE `newest`.`prefix` IS NULL AND `a`.`state` <> 'running'";

/** First in every transaction of a task. */
export async function passFence(session: SqlSession, { task, attempt }: Attempt): Promise<void> {
  const current = await readCurrent(session, `${READ} LOCK IN SHARE MODE`);
  if (current?.task === task && current.attempt === attempt) return;
  throw new TaskSupersededError(task, attempt, describe(current));
}

/** In a transaction of its own, with the fence passed: a superseded attempt cannot finish. */
export async function finishAttempt(session: SqlSession, claimed: Attempt, result: object): Promise<void> {
  await passFence(session, claimed);
  await end(session, claimed, { state: 'complete', message: null, result: JSON.stringify(result) });
}

export async function failAttempt(session: SqlSession, claimed: Attempt, message: string): Promise<void> {
  await end(session, claimed, { state: 'failed', message: redact(message).slice(0, MESSAGE_LENGTH), result: null });
}

async function end(
  session: SqlSession,
  { task, attempt }: Attempt,
  {
    state,
    message,
    result,
  }: { readonly state: string; readonly message: string | null; readonly result: string | null },
): Promise<void> {
  await session.execute(
    'UPDATE `ingester_attempts` SET `state` = ?, `message` = ?, `result` = ?, `ended_at` = UTC_TIMESTAMP(6) ' +
      "WHERE `task` = ? AND `attempt` = ? AND `state` = 'running'",
    [state, message, result, task, attempt],
  );
}

/** The attempt that may write now; undefined before the first one. */
async function readCurrent(session: SqlSession, sql: string): Promise<Attempt | undefined> {
  const [row]: readonly SqlRow[] = await session.query(sql);
  if (row === undefined) throw new StorageSchemaMissingError(`the row of ${FENCE_TABLE} is missing`);
  const [task, attempt] = row;
  return typeof task === 'string' && typeof attempt === 'string' ? { task, attempt } : undefined;
}

function describe(current: Attempt | undefined): string {
  return current === undefined ? 'another one' : `${current.attempt} at ${current.task}`;
}

function numberOf(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}

function parsed(text: unknown): object {
  return typeof text === 'string' ? (JSON.parse(text) as object) : {};
}

// Which of two attempts at a task is the newer one. An attempt is a name that the starter of the task chooses. Where it
// ends in a number, the number orders the attempts that begin alike; other attempts are ordered by arrival.

/** The part before the number at the end, and the number; no number where the text does not end in one. */
export interface AttemptParts {
  readonly prefix: string;
  readonly number: number | undefined;
}

/** What was recorded of the attempts before, as far as it says something about this one. */
export interface KnownAttempts {
  /** This very attempt at this task: never seen, the one that may write, or one that another took the place of. */
  readonly seen: 'never' | 'current' | 'former';
  /** The highest number that was seen behind the same prefix, at any task. */
  readonly highest: number | undefined;
}

/** `again`: the same attempt once more, as when its pod was restarted. */
export type AttemptVerdict = 'newer' | 'again' | 'stale';

/** More digits than this are not exact in JavaScript, and are read as text. */
const MOST_DIGITS = 15;

export function partsOf(attempt: string): AttemptParts {
  const digits = /\d+$/.exec(attempt)?.[0] ?? '';
  if (digits === '' || digits.length > MOST_DIGITS) return { prefix: attempt, number: undefined };
  return { prefix: attempt.slice(0, -digits.length), number: Number(digits) };
}

/** An attempt that another took the place of never comes back, and none with a lower number begins after a higher one. */
export function judgeAttempt({ number }: AttemptParts, { seen, highest }: KnownAttempts): AttemptVerdict {
  if (seen === 'former') return 'stale';
  if (number !== undefined && highest !== undefined && number < highest) return 'stale';
  return seen === 'current' ? 'again' : 'newer';
}
