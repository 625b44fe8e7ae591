// Which tables there are.
import type { SqlSession } from '../pool.ts';
import { quoted } from './statements.ts';

const NO_SUCH_TABLE: ReadonlySet<number | undefined> = new Set([
  1146, // ER_NO_SUCH_TABLE
  1109, // ER_UNKNOWN_TABLE, of vtgate
]);

/**
 * Those of the catalogue, and of the others named here those that answer: the catalogue of a keyspace does not have what
 * routing rules find in another one.
 */
export async function presentTables(session: SqlSession, routed: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await session.query(
    'SELECT `table_name` FROM `information_schema`.`tables` WHERE `table_schema` = DATABASE()',
  );
  const present = new Set(rows.map(([name]) => String(name)));
  if (session.dialect.catalogue === 'whole') return present;
  for (const table of routed) if (!present.has(table) && (await answers(session, table))) present.add(table);
  return present;
}

async function answers(session: SqlSession, table: string): Promise<boolean> {
  try {
    await session.query(`SELECT 1 FROM ${quoted(table)} LIMIT 1`);
    return true;
  } catch (error) {
    const { errno } = error as { readonly errno?: number };
    if (NO_SUCH_TABLE.has(errno)) return false;
    throw error;
  }
}
