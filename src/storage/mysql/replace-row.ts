// The one write that the guard does not hold: for a row that is damaged, or newer than the cluster it is a copy of.
import type { WriteOutcome } from '../metadata-storage.ts';
import { writeBatch } from './batch-writer.ts';
import type { PendingWrite } from './pending-write.ts';
import type { SqlSession } from './pool.ts';
import { tablesOf } from './tables.ts';

/** Takes the row out and writes it anew, if it still is what somebody looked at before deciding this. */
export async function replaceRow(session: SqlSession, write: PendingWrite, expected: string): Promise<WriteOutcome> {
  const { kind, uid } = write.row;
  const [stored] = await session.query(
    `SELECT CAST(\`res_version\` AS CHAR) FROM \`${kind.table}\` WHERE \`uid\` = ? FOR UPDATE`,
    [uid],
  );
  if (stored === undefined || String(stored[0]) !== expected) return 'stale';
  const [main, ...pairs] = tablesOf(kind);
  for (const table of pairs) await session.execute(`DELETE FROM \`${table}\` WHERE \`obj_uid\` = ?`, [uid]);
  await session.execute(`DELETE FROM \`${main ?? kind.table}\` WHERE \`uid\` = ?`, [uid]);
  await writeBatch(session, [write]);
  return 'updated';
}
