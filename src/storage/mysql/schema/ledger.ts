// What was applied, and how far a run got. The ledger has one row per migration and one per back-fill.
//
// MySQL commits each DDL statement by itself, so a run can die between a statement and the note that it is done. The
// ledger therefore notes before each statement which one comes, and afterwards that it is over, well or not. A note
// that stands means that it is unknown whether the statement was carried out.
import type { SqlSession } from '../pool.ts';

export interface LedgerEntry {
  readonly name: string;
  readonly checksum: string;
  /** Statements that are carried out. */
  readonly done: number;
  /** The next one was begun and its outcome is unknown. */
  readonly uncertain: boolean;
  readonly applied: boolean;
}

export const LEDGER_TABLE = 'ingester_migrations';

export const createLedger: string =
  `CREATE TABLE IF NOT EXISTS \`${LEDGER_TABLE}\` (\n` +
  '  `name` VARCHAR(128) NOT NULL,\n' +
  '  `checksum` CHAR(64) NOT NULL,\n' +
  '  `statements_done` INT UNSIGNED NOT NULL,\n' +
  '  `uncertain` BOOLEAN NOT NULL,\n' +
  '  `position` VARCHAR(255),\n' +
  '  `started_at` DATETIME(6) NOT NULL,\n' +
  '  `applied_at` DATETIME(6),\n' +
  '  PRIMARY KEY (`name`)\n' +
  ') ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin';

export async function readLedger(session: SqlSession): Promise<ReadonlyMap<string, LedgerEntry>> {
  const rows = await session.query(
    `SELECT \`name\`, \`checksum\`, \`statements_done\`, \`uncertain\`, \`applied_at\` FROM \`${LEDGER_TABLE}\``,
  );
  return new Map(
    rows.map(([name, checksum, done, uncertain, appliedAt]) => [
      String(name),
      {
        name: String(name),
        checksum: String(checksum),
        done: Number(done),
        uncertain: Number(uncertain) === 1,
        applied: appliedAt !== null,
      },
    ]),
  );
}

/** Entering again what is there already changes nothing. */
export async function enter(session: SqlSession, name: string, checksum: string): Promise<void> {
  await session.execute(
    `INSERT IGNORE INTO \`${LEDGER_TABLE}\` (\`name\`, \`checksum\`, \`statements_done\`, \`uncertain\`, \`started_at\`) ` +
      'VALUES (?, ?, 0, FALSE, UTC_TIMESTAMP(6))',
    [name, checksum],
  );
}

export async function noteStatement(
  session: SqlSession,
  name: string,
  done: number,
  uncertain: boolean,
): Promise<void> {
  await session.execute(
    `UPDATE \`${LEDGER_TABLE}\` SET \`statements_done\` = ?, \`uncertain\` = ? WHERE \`name\` = ?`,
    [done, uncertain, name],
  );
}

export async function noteApplied(session: SqlSession, name: string): Promise<void> {
  await session.execute(
    `UPDATE \`${LEDGER_TABLE}\` SET \`uncertain\` = FALSE, \`position\` = NULL, \`applied_at\` = UTC_TIMESTAMP(6) WHERE \`name\` = ?`,
    [name],
  );
}

/** Where a back-fill stands; undefined before its first page. */
export async function readPosition(session: SqlSession, name: string): Promise<string | undefined> {
  const [row] = await session.query(`SELECT \`position\` FROM \`${LEDGER_TABLE}\` WHERE \`name\` = ?`, [name]);
  return typeof row?.[0] === 'string' ? row[0] : undefined;
}

export async function notePosition(session: SqlSession, name: string, position: string, rows: number): Promise<void> {
  await session.execute(
    `UPDATE \`${LEDGER_TABLE}\` SET \`position\` = ?, \`statements_done\` = \`statements_done\` + ? WHERE \`name\` = ?`,
    [position, rows, name],
  );
}

/** Back-fills are forgotten when they are done: what they filled says so itself. */
export async function forget(session: SqlSession, name: string): Promise<void> {
  await session.execute(`DELETE FROM \`${LEDGER_TABLE}\` WHERE \`name\` = ?`, [name]);
}
