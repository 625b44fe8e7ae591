// One migration, statement by statement.
import { systemClock } from '../../../base/clock.ts';
import { closeGate, waitUntilClosed } from '../gate.ts';
import { enter, type LedgerEntry, noteApplied, noteStatement } from '../schema/ledger.ts';
import type { Migration, SchemaStep } from '../schema/migration-files.ts';
import type { MigrationConnection } from './migration-connection.ts';

/**
 * Errors that mean a statement was carried out before. Taken as success only for the one statement whose outcome is
 * unknown; for any other they are errors. ALTER TABLE is carried out entirely or not at all.
 */
const ALREADY_DONE: ReadonlySet<number | undefined> = new Set([
  1050, // ER_TABLE_EXISTS_ERROR
  1051, // ER_BAD_TABLE_ERROR: nothing to drop
  1054, // ER_BAD_FIELD_ERROR: the column has its new name
  1060, // ER_DUP_FIELDNAME
  1061, // ER_DUP_KEYNAME
  1062, // ER_DUP_ENTRY: the rows of an INSERT are there, all of them or none
  1068, // ER_MULTIPLE_PRI_KEY
  1091, // ER_CANT_DROP_FIELD_OR_KEY
  1146, // ER_NO_SUCH_TABLE: the table has its new name
]);

interface Progress {
  readonly entry: LedgerEntry | undefined;
  readonly holder: string;
  /** Asked before each statement; throws where this run must not go on. */
  readonly before: () => Promise<void>;
}

export async function applyMigration(
  connection: MigrationConnection,
  migration: Migration,
  { entry, holder, before }: Progress,
): Promise<void> {
  const { name, checksum, statements, version } = migration;
  if (entry === undefined) await enter(connection, name, checksum);
  if (version?.gate === 'closed') {
    await keepWritersOut(connection, version, `${holder}: ${name}`, holder);
    await waitUntilClosed({ read: (work) => work(connection) }, systemClock);
  }
  const begun = entry?.uncertain === true ? entry.done : undefined;
  for (const [index, statement] of statements.entries()) {
    if (index < (entry?.done ?? 0)) continue;
    await before();
    if (index !== begun) await noteStatement(connection, name, index, true);
    await runStatement(connection, statement, { name, index, again: index === begun });
  }
  await connection.transaction(async () => {
    await before();
    await noteApplied(connection, name);
    if (version !== undefined) await raiseRange(connection, version, version.number);
  });
}

interface Place {
  readonly name: string;
  readonly index: number;
  /** It was begun before and may be done. */
  readonly again: boolean;
}

async function runStatement(connection: MigrationConnection, statement: string, place: Place): Promise<void> {
  try {
    await connection.run(statement);
  } catch (error) {
    const { errno, sqlMessage } = error as { readonly errno?: number; readonly sqlMessage?: string };
    // Without an answer of the server the outcome is unknown, and the note stands.
    if (sqlMessage === undefined) throw error;
    if (place.again && ALREADY_DONE.has(errno)) return;
    await noteStatement(connection, place.name, place.index, false);
    throw error;
  }
}

/**
 * From here on programs that the new schema does not suit cannot write, and all others not until the gate is opened.
 */
async function keepWritersOut(
  connection: MigrationConnection,
  version: SchemaStep,
  reason: string,
  holder: string,
): Promise<void> {
  await connection.transaction(async () => {
    await closeGate(connection, holder, reason);
    await raiseRange(connection, version, 0);
  });
}

async function raiseRange(connection: MigrationConnection, step: SchemaStep, version: number): Promise<void> {
  await connection.execute(
    'UPDATE `ingester_gate` SET `schema_version` = GREATEST(`schema_version`, ?), ' +
      '`min_reader` = GREATEST(`min_reader`, ?), `min_writer` = GREATEST(`min_writer`, ?) WHERE `id` = 1',
    [version, step.minReader, step.minWriter],
  );
}
