// Up to which resourceVersion everything of a kind is stored: one row per kind, which readers read. Where several replicas work at
// the same time there is one row more for each bucket, `<Kind>/<bucket>`, and the row of the kind is the lowest of them; the row
// `<Kind>/changed` has the newest version of an object, by which a replica knows that it has not seen everything.
import type { KindDefinition } from '../../../api/kind.ts';
import type { StoredPosition, WatchPosition } from '../../metadata-storage.ts';
import type { SqlSession } from '../pool.ts';
import { fromSqlTime, toSqlTime } from '../sql-time.ts';

/**
 * Refuses what is neither higher nor later: the last words of a former leader. A later but lower one is taken, because
 * a cluster that was restored from a backup counts from there.
 */
export async function writePosition(
  session: SqlSession,
  { kind }: KindDefinition,
  { resourceVersion, at, part }: WatchPosition,
): Promise<void> {
  const time = toSqlTime(at.toISOString());
  if (part === undefined) {
    await writeRows(session, [kind], { resourceVersion, time });
    return;
  }
  const buckets = [...part.buckets].map((bucket) => rowOf(kind, bucket));
  if (buckets.length === 0) return;
  await writeRows(session, buckets, { resourceVersion, time });
  if (part.changed !== '') await raise(session, `${kind}${CHANGED}`, { resourceVersion: part.changed, time });
  const lowest = await lowestOf(session, kind, part.of);
  if (lowest !== undefined) await writeRows(session, [kind], lowest);
}

const CHANGED = '/changed';

interface Written {
  readonly resourceVersion: string;
  readonly time: string;
}

function rowOf(kind: string, bucket: number): string {
  return `${kind}/${bucket}`;
}

async function raise(session: SqlSession, row: string, written: Written): Promise<void> {
  const { resourceVersion, time } = written;
  await insertRows(session, [row], written);
  await session.execute(
    'UPDATE `ingester_positions` SET `res_version` = ?, `recorded_at` = ? WHERE `kind` = ? AND `res_version` < ?',
    [resourceVersion, time, row, resourceVersion],
  );
}

async function insertRows(session: SqlSession, rows: readonly string[], written: Written): Promise<void> {
  await session.execute(
    'INSERT IGNORE INTO `ingester_positions` (`kind`, `res_version`, `recorded_at`) VALUES ' +
      rows.map(() => '(?, ?, ?)').join(', '),
    rows.flatMap((row) => [row, written.resourceVersion, written.time]),
  );
}

async function writeRows(session: SqlSession, rows: readonly string[], written: Written): Promise<void> {
  const { resourceVersion, time } = written;
  await insertRows(session, rows, written);
  await session.execute(
    'UPDATE `ingester_positions` SET `res_version` = ?, `recorded_at` = ? ' +
      `WHERE \`kind\` IN (${rows.map(() => '?').join(', ')}) AND (\`res_version\` < ? OR \`recorded_at\` < ?)`,
    [resourceVersion, time, ...rows, resourceVersion, time],
  );
}

/** Undefined while a bucket has none: nothing is known of its objects. */
async function lowestOf(session: SqlSession, kind: string, of: number): Promise<Written | undefined> {
  const rows = Array.from({ length: of }, (_, bucket) => rowOf(kind, bucket));
  const [found = []] = await session.query(
    'SELECT COUNT(*), CAST(MIN(`res_version`) AS CHAR), MIN(`recorded_at`) FROM `ingester_positions` ' +
      `WHERE \`kind\` IN (${rows.map(() => '?').join(', ')})`,
    rows,
  );
  const [count, resourceVersion, time] = found;
  return Number(count) === of ? { resourceVersion: String(resourceVersion), time: String(time) } : undefined;
}

export async function readPositions(session: SqlSession): Promise<readonly StoredPosition[]> {
  const rows = await session.query(
    'SELECT `kind`, CAST(`res_version` AS CHAR), `recorded_at` FROM `ingester_positions` ' +
      "WHERE `kind` NOT LIKE '%/%' ORDER BY `kind`",
  );
  return rows.map(([kind, resourceVersion, at]) => ({
    kind: String(kind),
    resourceVersion: String(resourceVersion),
    at: fromSqlTime(String(at)),
  }));
}

export async function readNewestChanges(session: SqlSession): Promise<ReadonlyMap<string, string>> {
  const rows = await session.query(
    `SELECT \`kind\`, CAST(\`res_version\` AS CHAR) FROM \`ingester_positions\` WHERE \`kind\` LIKE '%${CHANGED}'`,
  );
  return new Map(rows.map(([row, version]) => [String(row).slice(0, -CHANGED.length), String(version)]));
}
