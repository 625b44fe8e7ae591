// Labels and annotations of an object that is in the database only, changed under the lock of its row.
import type { KindDefinition } from '../../../api/kind.ts';
import type { MetadataChange, UpdateTarget } from '../../bulk.ts';
import { changeMetadata } from '../../direct-update.ts';
import { refuseTooLarge } from '../chunks.ts';
import type { SqlSession } from '../pool.ts';
import { rowStateNamed } from '../read/object-reads.ts';
import { IS_OF, keyOf } from '../read/row-keys.ts';
import { STATE_SQL, statementsFor } from '../schema/statements.ts';
import { writePairs } from './pair-writer.ts';
import { pairsHash } from './pending-write.ts';

export interface DirectUpdate {
  readonly target: UpdateTarget;
  readonly change: MetadataChange;
  /** Asked once the row is locked. */
  readonly now: () => string;
}

/** The new resourceVersion. */
export async function updateMetadata(
  session: SqlSession,
  kind: KindDefinition,
  { target, change, now }: DirectUpdate,
): Promise<string> {
  const key = await keyOf(session, kind, target.uid);
  const [row] = await session.query(
    `SELECT CAST(\`res_version\` AS CHAR), ${STATE_SQL}, \`json\`, \`create_time\` FROM \`${kind.table}\` WHERE ${IS_OF} FOR UPDATE`,
    [key, target.uid],
  );
  const stored =
    row === undefined
      ? undefined
      : { resourceVersion: String(row[0]), state: rowStateNamed(row[1]), json: String(row[2]) };
  const next = changeMetadata(target, stored, change);
  const labels = [...next.labels, ...next.owners];
  refuseTooLarge(session, Buffer.byteLength(next.json) + next.proto.byteLength);
  await session.execute(
    `UPDATE \`${kind.table}\` SET \`res_version\` = ?, \`update_time\` = ?, \`own_update_time\` = \`update_time\`, \`json\` = ?, \`content_hash\` = ?, ` +
      '`proto` = ?, `labels_hash` = ?, `annotations_hash` = ? WHERE `uid` = ?',
    [
      next.resourceVersion,
      now(),
      next.json,
      next.contentHash,
      next.proto,
      pairsHash(labels),
      pairsHash(next.annotations),
      key,
    ],
  );
  const statements = statementsFor(kind, session.dialect);
  await writePairs(session, statements.labels, [{ uid: key, pairs: labels, extra: [String(row?.[3])] }]);
  await writePairs(session, statements.annotations, [{ uid: key, pairs: next.annotations, extra: [] }]);
  return next.resourceVersion;
}
