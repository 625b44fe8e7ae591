// Up to which resourceVersion everything of a kind is stored: one row per kind.
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
  kind: KindDefinition,
  { resourceVersion, at }: WatchPosition,
): Promise<void> {
  const time = toSqlTime(at.toISOString());
  await session.execute(
    'INSERT IGNORE INTO `ingester_positions` (`kind`, `res_version`, `recorded_at`) VALUES (?, ?, ?)',
    [kind.kind, resourceVersion, time],
  );
  await session.execute(
    'UPDATE `ingester_positions` SET `res_version` = ?, `recorded_at` = ? ' +
      'WHERE `kind` = ? AND (`res_version` < ? OR `recorded_at` < ?)',
    [resourceVersion, time, kind.kind, resourceVersion, time],
  );
}

export async function readPositions(session: SqlSession): Promise<readonly StoredPosition[]> {
  const rows = await session.query(
    'SELECT `kind`, CAST(`res_version` AS CHAR), `recorded_at` FROM `ingester_positions` ORDER BY `kind`',
  );
  return rows.map(([kind, resourceVersion, at]) => ({
    kind: String(kind),
    resourceVersion: String(resourceVersion),
    at: fromSqlTime(String(at)),
  }));
}
