// The tables that hold what must not be lost: those of the kinds, and what belongs to them. Not the gate and the fence,
// which say what happens now.
import type { TableNames } from '../../../kinds/kind-names.ts';
import { kindsUnder } from '../../../kinds/kinds.ts';
import type { SqlSession } from '../pool.ts';
import { LEDGER_TABLE } from './ledger.ts';
import { tablesOf } from './tables.ts';

const BESIDE_KINDS = [LEDGER_TABLE, 'ingester_positions', 'ingester_duplicates'];

/** Those that are there, in the order of the catalogue. */
export async function ownTables(session: SqlSession, names: TableNames): Promise<readonly string[]> {
  const rows = await session.query(
    'SELECT `table_name` FROM `information_schema`.`tables` WHERE `table_schema` = DATABASE()',
  );
  const present = new Set(rows.map(([name]) => String(name)));
  return [...kindsUnder(names).flatMap(tablesOf), ...BESIDE_KINDS].filter((table) => present.has(table));
}
