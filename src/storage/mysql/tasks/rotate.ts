// Seals the sensitive values of every row with the current key, while others read and write. A writer that still has the
// key before leaves rows behind the walk, so it is repeated until it finds nothing.
import type { KindDefinition } from '../../../api/kind.ts';
import { type Clock, systemClock } from '../../../base/clock.ts';
import { CodedError, messageOf } from '../../../base/errors.ts';
import { passGate, passing } from '../gate.ts';
import { type MysqlOptions, MysqlPool, type SqlSession } from '../pool.ts';
import { pageEnd } from '../read/page-end.ts';
import { TableNaming } from '../schema/table-naming.ts';
import { attemptOf, type ExclusiveTask, exclusively } from './exclusive-task.ts';
import { type Page, runBackfill } from './table-walk.ts';

export interface SealedRow {
  readonly json: string;
  readonly proto: Uint8Array;
}

export interface ResealedRow extends SealedRow {
  readonly contentHash: string;
}

export interface RotateOptions {
  readonly mysql: MysqlOptions;
  readonly kinds: readonly KindDefinition[];
  /** Names the key, so that a walk that was cut short is only continued for the same one. */
  readonly keyId: string;
  readonly reseal: (kind: KindDefinition, row: SealedRow) => ResealedRow | undefined;
  readonly progress?: (line: string) => void;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** Rest between pages, as a multiple of the time of a page; 1 where it is missing. */
  readonly restFactor?: number;
  /** The fence of the task that this is part of; without it, a task of its own. */
  readonly pass?: (session: SqlSession) => Promise<void>;
  /** Who closed the gate for this run. Without it writing must be open. */
  readonly gateHolder?: string | undefined;
}

export interface RotationReport {
  /** Rows looked at in the last walk of each table. */
  readonly rows: number;
  readonly changed: number;
}

/** Some values are still sealed with another key. Do not throw that key away. */
export class RotationIncompleteError extends CodedError {
  constructor(changed: number, problems: readonly string[]) {
    super(
      'ROTATION_INCOMPLETE',
      `${changed} rows were sealed again, but not all could be:\n${problems.join('\n')}\nKeep the key before.`,
    );
  }
}

const PAGE_ROWS = 50;
const MOST_WALKS = 3;
const MOST_PROBLEMS = 10;

/** Throws ROTATION_INCOMPLETE where a row could not be opened, or writers go on with another key. */
export async function rotateRows(options: RotateOptions): Promise<RotationReport> {
  if (options.pass !== undefined) return rotateAll(options, options.pass);
  const task: ExclusiveTask = { access: options.mysql, ...attemptOf('rotate', undefined), tables: 'require' };
  return (await exclusively(task, ({ pass }) => rotateAll(options, pass))).result;
}

type Transaction = <T>(work: (session: SqlSession) => Promise<T>) => Promise<T>;
type Pass = (session: SqlSession) => Promise<void>;

async function rotateAll(options: RotateOptions, pass: Pass): Promise<RotationReport> {
  const pool = new MysqlPool(options.mysql, options.clock ?? systemClock);
  const transaction = <T>(work: (session: SqlSession) => Promise<T>): Promise<T> =>
    pool.transaction((session) => {
      const passed = async (): Promise<void> => {
        await pass(session);
        await passGate(session, { lent: options.gateHolder });
      };
      return passing(session, passed, work);
    });
  const totals = { rows: 0, changed: 0 };
  const problems: string[] = [];
  try {
    const naming = new TableNaming();
    for (const sealed of options.kinds.filter(({ sensitive }) => sensitive.length > 0)) {
      const kind = await pool.read((session) => naming.of(session, sealed));
      const walked = await rotateKind(transaction, kind, options);
      totals.rows += walked.rows;
      totals.changed += walked.changed;
      problems.push(...walked.problems);
    }
  } finally {
    await pool.close();
  }
  if (problems.length > 0) throw new RotationIncompleteError(totals.changed, problems.slice(0, MOST_PROBLEMS));
  return totals;
}

interface Walk {
  readonly rows: number;
  readonly changed: number;
  readonly problems: readonly string[];
}

async function rotateKind(transaction: Transaction, kind: KindDefinition, options: RotateOptions): Promise<Walk> {
  let changed = 0;
  for (let count = 1; ; count += 1) {
    const walk = await walkOnce(transaction, kind, options);
    changed += walk.changed;
    if (walk.changed === 0 || walk.problems.length > 0) return { ...walk, changed };
    if (count === MOST_WALKS) {
      const problem = `${kind.table}: rows are still written with another key. Restart the writers with the current one`;
      return { ...walk, changed, problems: [problem] };
    }
  }
}

async function walkOnce(transaction: Transaction, kind: KindDefinition, options: RotateOptions): Promise<Walk> {
  const { progress = () => undefined, signal, clock = systemClock, restFactor = 1 } = options;
  const counted = { changed: 0, problems: [] as string[] };
  const rows = await runBackfill(
    {
      name: `rotate ${kind.table} ${options.keyId}`,
      page: async (session, after) => {
        const page = await resealPage(session, kind, after, options);
        counted.changed += page?.changed ?? 0;
        counted.problems.push(...(page?.problems ?? []));
        return page;
      },
      progress: (done) => progress(`${kind.table}: ${done} rows, ${counted.changed} sealed again`),
    },
    {
      clock,
      restFactor,
      ...(signal === undefined ? {} : { signal }),
      transaction,
    },
  );
  return { rows, ...counted };
}

/** Rows of a page are locked until it is committed; a write of one of them waits for that, and comes after it. */
async function resealPage(
  session: SqlSession,
  kind: KindDefinition,
  after: string | undefined,
  { reseal }: RotateOptions,
): Promise<(Page & Walk) | undefined> {
  const last = await pageEnd(session, kind.table, after ?? '', PAGE_ROWS);
  if (last === undefined) return undefined;
  const rows = await session.query(
    `SELECT \`uid\`, \`json\`, \`proto\` FROM \`${kind.table}\` WHERE \`uid\` > ? AND \`uid\` <= ? ORDER BY \`uid\` FOR UPDATE`,
    [after ?? '', last],
  );
  const problems: string[] = [];
  let changed = 0;
  for (const [uid, json, proto] of rows) {
    try {
      const resealed = reseal(kind, { json: String(json), proto: proto as Uint8Array });
      if (resealed === undefined) continue;
      await session.execute(
        `UPDATE \`${kind.table}\` SET \`json\` = ?, \`proto\` = ?, \`content_hash\` = ? WHERE \`uid\` = ?`,
        [resealed.json, resealed.proto, resealed.contentHash, String(uid)],
      );
      changed += 1;
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      problems.push(messageOf(error));
    }
  }
  return { rows: rows.length, last, changed, problems };
}
