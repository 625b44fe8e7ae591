import { randomBytes } from 'node:crypto';
import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { CodedError } from '../../src/base/errors.ts';
import type { DatabaseServer } from './mysql.ts';

export interface Account {
  readonly user: string;
  readonly password: string;
}

type RootAccess = Pick<DatabaseServer, 'host' | 'port' | 'rootUser' | 'rootPassword'>;

/** A database of its own on the server, with one account that changes tables and one that only writes rows. */
export interface BundleDatabase {
  readonly name: string;
  readonly migrator: Account;
  readonly writer: Account;
  /** Rows as objects; runs as administrator. */
  query(sql: string, parameters?: readonly (string | number)[]): Promise<readonly Record<string, unknown>[]>;
  drop(): Promise<void>;
}

export async function createBundleDatabase(server: DatabaseServer): Promise<BundleDatabase> {
  const suffix = randomBytes(4).toString('hex');
  const name = `michelangelo_${suffix}`;
  const migrator = newAccount(`migrate_${suffix}`);
  const writer = newAccount(`ingester_${suffix}`);
  await administer(server, [
    `CREATE DATABASE \`${name}\` CHARACTER SET utf8mb4`,
    ...accountStatements(migrator, `ALL PRIVILEGES ON \`${name}\`.*`),
    `GRANT ALL PRIVILEGES ON \`${name}_snapshots\`.* TO '${migrator.user}'@'%'`,
    ...accountStatements(writer, `SELECT, INSERT, UPDATE, DELETE ON \`${name}\`.*`),
  ]);
  return {
    name,
    migrator,
    writer,
    query: (sql, parameters = []) => queryAsRoot(server, name, sql, parameters),
    drop: () =>
      administer(server, [
        `DROP DATABASE \`${name}\``,
        `DROP DATABASE IF EXISTS \`${name}_snapshots\``,
        ...[migrator, writer].map(({ user }) => `DROP USER '${user}'@'%'`),
      ]),
  };
}

function newAccount(user: string): Account {
  return { user, password: randomBytes(16).toString('hex') };
}

function accountStatements({ user, password }: Account, rights: string): readonly string[] {
  return [`CREATE USER '${user}'@'%' IDENTIFIED BY '${password}'`, `GRANT ${rights} TO '${user}'@'%'`];
}

function connectionOptions(server: RootAccess): { host: string; port: number; user: string; password: string } {
  return { host: server.host, port: server.port, user: server.rootUser, password: server.rootPassword };
}

async function administer(server: DatabaseServer, statements: readonly string[]): Promise<void> {
  const connection = await createConnection(connectionOptions(server));
  try {
    for (const statement of statements) await connection.query(statement);
  } catch (error) {
    throw new CodedError('LOCAL_DATABASE', 'The local database could not be prepared', { cause: error });
  } finally {
    connection.destroy();
  }
}

/** Rows as objects. */
export async function queryAsRoot(
  server: RootAccess,
  database: string,
  sql: string,
  parameters: readonly (string | number)[],
): Promise<readonly Record<string, unknown>[]> {
  const connection = await createConnection({
    ...connectionOptions(server),
    database,
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    charset: 'utf8mb4_bin',
  });
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql, [...parameters]);
    return rows;
  } finally {
    connection.destroy();
  }
}
