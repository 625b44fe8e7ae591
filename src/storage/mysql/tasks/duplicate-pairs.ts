// The original deletes and inserts all labels of an object without a key that would refuse two of the same: two writers
// at once leave both. One of them has to go before (obj_uid, key) can be the primary key, but nothing is thrown away.
import { LAST_APPLIED_ANNOTATION } from '../../../api/names.ts';
import type { SqlSession } from '../pool.ts';
import type { MigrationConnection } from './migration-connection.ts';

const createDuplicates =
  'CREATE TABLE IF NOT EXISTS `ingester_duplicates` (\n' +
  '  `table_name` VARCHAR(64) NOT NULL,\n' +
  '  `obj_uid` VARCHAR(255) NOT NULL,\n' +
  '  `key` VARCHAR(317) NOT NULL,\n' +
  '  `ordinal` INT UNSIGNED NOT NULL,\n' +
  '  `value` LONGTEXT,\n' +
  '  `moved_at` DATETIME(6) NOT NULL,\n' +
  '  PRIMARY KEY (`table_name`, `obj_uid`, `key`, `ordinal`)\n' +
  ') ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin';

const PAGE = 200;

/** Returns how many were moved. Each is moved in one transaction, so a killed run neither loses nor doubles any. */
export async function moveDuplicates(connection: MigrationConnection, table: string): Promise<number> {
  await dropLastApplied(connection, table);
  let moved = 0;
  for (;;) {
    const repeated = await connection.query(
      `SELECT \`obj_uid\`, \`key\` FROM \`${table}\` GROUP BY \`obj_uid\`, \`key\` HAVING COUNT(*) > 1 LIMIT ${PAGE}`,
    );
    if (repeated.length === 0) return moved;
    await connection.run(createDuplicates);
    for (const [uid, key] of repeated) {
      moved += await connection.transaction(() => moveOne(connection, table, String(uid), String(key)));
    }
  }
}

/** kubectl's copy of the manifest repeats what is secret; no row keeps it. */
async function dropLastApplied(session: SqlSession, table: string): Promise<void> {
  if (!table.endsWith('_annotations')) return;
  await session.execute(`DELETE FROM \`${table}\` WHERE \`key\` = ?`, [LAST_APPLIED_ANNOTATION]);
}

/** The row with the highest number was written last. */
async function moveOne(session: SqlSession, table: string, uid: string, key: string): Promise<number> {
  const rows = await session.query(
    `SELECT \`id\`, \`value\` FROM \`${table}\` WHERE \`obj_uid\` = ? AND \`key\` = ? ORDER BY \`id\` DESC FOR UPDATE`,
    [uid, key],
  );
  const surplus = rows.slice(1);
  for (const [ordinal, [id, value]] of surplus.entries()) {
    await session.execute(
      'INSERT INTO `ingester_duplicates` (`table_name`, `obj_uid`, `key`, `ordinal`, `value`, `moved_at`) ' +
        'VALUES (?, ?, ?, ?, ?, UTC_TIMESTAMP(6))',
      [table, uid, key, ordinal, value as string | null],
    );
    await session.execute(`DELETE FROM \`${table}\` WHERE \`id\` = ?`, [id as string]);
  }
  return surplus.length;
}
