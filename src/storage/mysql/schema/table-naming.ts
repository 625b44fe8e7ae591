// Tables of a kind have one of two names, and which one is a fact of the database: the migration notes it in the row of the
// gate. So callers name kinds, and each statement is put to the tables that are there.
import type { KindDefinition } from '../../../api/kind.ts';
import type { TableNames, TableNamesSetting } from '../../../kinds/kind-names.ts';
import { kindsUnder, kindUnder } from '../../../kinds/kinds.ts';
import { readGate } from '../gate.ts';
import type { SqlSession } from '../pool.ts';
import { presentTables } from './present-tables.ts';

export class TableNaming {
  #names: TableNames | undefined;

  /** The kind with the name that its tables have here. */
  async of(session: SqlSession, kind: KindDefinition): Promise<KindDefinition> {
    this.#names ??= (await readGate(session)).tableNames;
    return this.#names === undefined ? kind : kindUnder(kind, this.#names);
  }

  get isKnown(): boolean {
    return this.#names !== undefined;
  }

  /** Asks again: the database may have been made anew. */
  async renew(session: SqlSession): Promise<void> {
    this.#names = (await readGate(session)).tableNames;
  }
}

/** For a migration: as the database has them, else as they are set; a new database gets those of the newer original. */
export async function resolveTableNames(session: SqlSession, setting: TableNamesSetting): Promise<TableNames> {
  if (setting !== 'auto') return setting;
  const present = await presentTables(session, ['ingester_gate']);
  const noted = present.has('ingester_gate') ? await notedNames(session) : undefined;
  return noted ?? namesFound(present);
}

async function notedNames(session: SqlSession): Promise<TableNames | undefined> {
  const rows = await session.query('SELECT 1 FROM `ingester_gate`');
  return rows.length === 0 ? undefined : (await readGate(session)).tableNames;
}

/** By the tables that only one of the namings has; most kinds have one word and so one name. */
export function namesFound(present: ReadonlySet<string>): TableNames {
  const tablesOf = (names: TableNames): readonly string[] => kindsUnder(names).map(({ table }) => table);
  const [lower, snake] = [tablesOf('lowercase'), tablesOf('snake_case')];
  const count = (own: readonly string[], other: readonly string[]): number =>
    own.filter((table) => !other.includes(table) && present.has(table)).length;
  return count(lower, snake) > count(snake, lower) ? 'lowercase' : 'snake_case';
}
