// Makes the database itself, for who has the right to and nobody else to do it.
import { CodedError } from '../../base/errors.ts';
import { quoted } from './copy-table.ts';
import { openMigrationConnection } from './migration-connection.ts';
import { translateMysqlError } from './mysql-errors.ts';
import type { MysqlAccess } from './pool.ts';

/** True where it was missing. One that is there is left as it is, also where this user may not make any. */
export async function createDatabase(access: MysqlAccess): Promise<boolean> {
  const { database } = access;
  try {
    // A server refuses a login to a database that is not there.
    const connection = await openMigrationConnection({ ...access, database: '' });
    try {
      const [known] = await connection.query('SELECT 1 FROM `information_schema`.`schemata` WHERE `schema_name` = ?', [
        database,
      ]);
      if (known !== undefined) return false;
      await connection.run(`CREATE DATABASE IF NOT EXISTS ${quoted(database)} CHARACTER SET utf8mb4`);
      return true;
    } finally {
      connection.close();
    }
  } catch (error) {
    throw error instanceof CodedError ? error : translateMysqlError(error, database);
  }
}
