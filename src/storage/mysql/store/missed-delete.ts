// The end of an object that left the API server unguarded: its final state was not seen, so the stored state is kept.
import type { KindDefinition } from '../../../api/kind.ts';
import { IMMUTABLE_ANNOTATION } from '../../../api/names.ts';
import type { MissedDelete, WriteOutcome } from '../../metadata-storage.ts';
import type { SqlSession } from '../pool.ts';
import { IS_OF, keyOf } from '../read/row-keys.ts';
import { FOREIGN_SQL, OWN_UPDATE_SQL, rowStateNumber, STATE_SQL } from '../schema/statements.ts';
import { REASON_LENGTH } from '../schema/tables.ts';
import { toSqlTime } from '../sql-time.ts';

const IMMUTABLE_SQL = `JSON_UNQUOTE(JSON_EXTRACT(\`json\`, '$.metadata.annotations."${IMMUTABLE_ANNOTATION}"'))`;

/** Decides on the locked row, so that a state that arrives at the same time is either seen or comes after. */
export async function markMissedDelete(
  session: SqlSession,
  kind: KindDefinition,
  { uid, resourceVersion, keptBefore }: MissedDelete,
  { at, now, reason }: { readonly at: Date; readonly now: () => string; readonly reason: string },
): Promise<WriteOutcome> {
  const key = await keyOf(session, kind, uid);
  const [stored] = await session.query(
    `SELECT CAST(\`res_version\` AS CHAR), ${STATE_SQL}, \`create_time\` < ?, ${FOREIGN_SQL}, ${IMMUTABLE_SQL} FROM \`${kind.table}\` WHERE ${IS_OF} FOR UPDATE`,
    [keptBefore === undefined ? null : toSqlTime(keptBefore.toISOString()), key, uid],
  );
  if (stored === undefined) return 'unchanged';
  if (BigInt(String(stored[0])) > BigInt(resourceVersion)) return 'stale';
  const evicting = Number(stored[1]) === rowStateNumber('evicting');
  if (!evicting && Number(stored[1]) !== rowStateNumber('live')) return 'unchanged';
  // The original archives objects without a word in its row.
  const archived = Number(stored[3]) === 1 && (kind.immutable || stored[4] === 'true');
  const kept = evicting || archived || Number(stored[2]) === 1;
  const [state, time] = kept ? (['evicted', 'evict_time'] as const) : (['deleted', 'delete_time'] as const);
  const noted = now();
  await session.execute(
    `UPDATE \`${kind.table}\` SET \`row_state\` = ?, \`${time}\` = ?, ${OWN_UPDATE_SQL}, \`delete_reason\` = ? WHERE \`uid\` = ?`,
    [rowStateNumber(state), toSqlTime(at.toISOString()), noted, noted, cut(reason), key],
  );
  return 'updated';
}

/** VARCHAR counts characters, not UTF-16 units. */
function cut(reason: string): string {
  return Array.from(reason).slice(0, REASON_LENGTH).join('');
}
