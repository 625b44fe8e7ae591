// The tables that hold what must not be lost: those of the kinds, and what belongs to them. Not the gate and the fence,
// which say what happens now.
import type { TableNames } from '../../../kinds/kind-names.ts';
import { kindsUnder } from '../../../kinds/kinds.ts';
import type { SqlSession } from '../pool.ts';
import { LEDGER_TABLE } from './ledger.ts';
import type { TableShape } from './table-shape.ts';
import { tablesOf } from './tables.ts';

const BESIDE_KINDS = [LEDGER_TABLE, 'ingester_positions', 'ingester_duplicates'];

/** What no table of a kind has before it is adopted. */
const OWN_COLUMN = 'own_update_time';

/** Whether a table of a kind is ours. The original's stays as it is where its kind was never ingested. */
export function isOwn(table: TableShape | undefined): boolean {
  return table?.columns.some(({ name }) => name === OWN_COLUMN) ?? false;
}

/** Those that are there, in the order of the catalogue. */
export async function ownTables(session: SqlSession, names: TableNames): Promise<readonly string[]> {
  const rows = await session.query(
    'SELECT `table_name`, MAX(`column_name` = ?) FROM `information_schema`.`columns` ' +
      'WHERE `table_schema` = DATABASE() GROUP BY `table_name`',
    [OWN_COLUMN],
  );
  const own = new Map(rows.map(([name, isOfKind]) => [String(name), Number(isOfKind) === 1]));
  const ofKinds = kindsUnder(names).filter(({ table }) => own.get(table) === true);
  return [...ofKinds.flatMap(tablesOf), ...BESIDE_KINDS].filter((table) => own.has(table));
}
