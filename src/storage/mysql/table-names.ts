// The same kind occurs under two names in databases of the original. Only one of them is in use at a time.
import type { TableNames } from '../../api/kind-names.ts';
import { kindsUnder } from '../../api/kinds.ts';
import { CodedError } from '../../base/errors.ts';
import type { SqlSession } from './pool.ts';
import type { TableShape } from './table-shape.ts';

export class TableNamesError extends CodedError {
  constructor(stored: string, configured: string) {
    super(
      'TABLE_NAMES_CHANGED',
      `The tables of this database are named in ${stored}, and metadataStorage.tableNames is ${configured}. ` +
        `Set it to ${stored}; tables are never renamed.`,
    );
  }
}

/** Rows under the other name would be overlooked, so somebody has to say which tables are meant. */
export async function strangeNames(
  session: SqlSession,
  tables: ReadonlyMap<string, TableShape>,
  configured: TableNames,
): Promise<readonly string[]> {
  const other: TableNames = configured === 'lowercase' ? 'snake_case' : 'lowercase';
  const own = new Set(kindsUnder(configured).map(({ table }) => table));
  const strange = kindsUnder(other)
    .map(({ table }) => table)
    .filter((table) => !own.has(table) && tables.has(table));
  const problems: string[] = [];
  for (const table of strange) {
    const rows = await session.query(`SELECT 1 FROM \`${table}\` LIMIT 1`);
    if (rows.length === 0) continue;
    problems.push(`${table}: it has rows. Set metadataStorage.tableNames to ${other}, or rename the table`);
  }
  return problems;
}
