// The end of an object that left the API server unguarded: nobody saw its final state, so what is stored has to do.
import type { KindDefinition } from '../../api/kind.ts';
import type { VanishedObject, WriteOutcome } from '../metadata-storage.ts';
import type { SqlSession } from './pool.ts';
import { toSqlTime } from './sql-time.ts';
import { rowStateNumber } from './statements.ts';
import { REASON_LENGTH } from './tables.ts';

export interface Vanishing {
  readonly at: Date;
  readonly reason: string;
}

/** Decides on the locked row, so that a state that arrives at the same time is either seen or comes after. */
export async function markVanished(
  session: SqlSession,
  kind: KindDefinition,
  { uid, resourceVersion, keptBefore }: VanishedObject,
  { at, reason }: Vanishing,
): Promise<WriteOutcome> {
  const [stored] = await session.query(
    `SELECT CAST(\`res_version\` AS CHAR), \`row_state\`, \`create_time\` < ? FROM \`${kind.table}\` WHERE \`uid\` = ? FOR UPDATE`,
    [keptBefore === undefined ? null : toSqlTime(keptBefore.toISOString()), uid],
  );
  if (stored === undefined) return 'unchanged';
  if (BigInt(String(stored[0])) > BigInt(resourceVersion)) return 'stale';
  const evicting = Number(stored[1]) === rowStateNumber('evicting');
  if (!evicting && Number(stored[1]) !== rowStateNumber('live')) return 'unchanged';
  const kept = evicting || Number(stored[2]) === 1;
  const [state, time] = kept ? (['evicted', 'evict_time'] as const) : (['deleted', 'delete_time'] as const);
  await session.execute(
    `UPDATE \`${kind.table}\` SET \`row_state\` = ?, \`${time}\` = ?, \`delete_reason\` = ? WHERE \`uid\` = ?`,
    [rowStateNumber(state), toSqlTime(at.toISOString()), cut(reason), uid],
  );
  return 'updated';
}

/** VARCHAR counts characters, not UTF-16 units. */
function cut(reason: string): string {
  return Array.from(reason).slice(0, REASON_LENGTH).join('');
}
