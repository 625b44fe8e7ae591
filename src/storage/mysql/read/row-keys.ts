// The key of a row, its column `uid`, is the uid of its object, with few exceptions: `object_uid` then says whose it is.
import type { KindDefinition } from '../../../api/kind.ts';
import { padded } from '../chunks.ts';
import type { SqlSession } from '../pool.ts';

/** Of those of the objects whose rows have another key than the uid: the key by uid. */
export async function otherKeys(
  session: SqlSession,
  kind: KindDefinition,
  uids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (uids.length === 0) return new Map();
  const parameters = padded(uids);
  const marks = parameters.map(() => '?').join(', ');
  const rows = await session.query(
    `SELECT \`object_uid\`, \`uid\` FROM \`${kind.table}\` WHERE \`object_uid\` IN (${marks})`,
    parameters,
  );
  return new Map(rows.map(([uid, key]) => [String(uid), String(key)]));
}

/** Of the row that the object has; its uid where it has none. */
export async function keyOf(session: SqlSession, kind: KindDefinition, uid: string): Promise<string> {
  const own = await session.query(`SELECT 1 FROM \`${kind.table}\` WHERE \`uid\` = ? AND \`object_uid\` IS NULL`, [
    uid,
  ]);
  if (own.length > 0) return uid;
  return (await otherKeys(session, kind, [uid])).get(uid) ?? uid;
}

/** The uid of the object that a row with these values of `uid` and `object_uid` is of, and the key where it differs. */
export function identified(key: unknown, objectUid: unknown): { readonly uid: string; readonly key?: string } {
  return typeof objectUid === 'string' ? { uid: objectUid, key: String(key) } : { uid: String(key) };
}

/** That a row is of this object: its parameters are the key and the uid. */
export const IS_OF = '`uid` = ? AND COALESCE(`object_uid`, `uid`) = ?';
