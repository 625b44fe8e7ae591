// Another password, or another user, for the programs that write, without a moment in which a login fails. First the new
// one is made valid beside the old one; then the programs change over; then the old one ends. Each step is proven by
// logging in, and does nothing where that shows that it was done.
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import { CodedError } from '../../../base/errors.ts';
import { StorageAccessDeniedError } from '../../errors.ts';
import { type MysqlAccess, passwordOf, sslOptions } from '../access.ts';
import { Calls, hangUp } from '../deadline.ts';
import { dialectOf, refuseLacking } from '../dialect.ts';
import { translateMysqlError } from '../mysql-errors.ts';
import { connectionOf, SHOW_CONNECTIONS } from './gate-control.ts';

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

export interface CredentialChange {
  /** Server and database, with what the programs log in with now. */
  readonly access: MysqlAccess;
  /** The same user with another password, or another user. */
  readonly next: Credentials;
  /** The user who may change accounts. */
  readonly admin: Credentials;
}

export interface CredentialEnd {
  /** With what the programs log in with now. */
  readonly access: MysqlAccess;
  /** The user before; the same one where only its password changed. */
  readonly previousUser: string;
  readonly admin: Credentials;
}

/** Nothing was changed, or what was is undone by running the task again. */
export class CredentialsError extends CodedError {
  constructor(why: string) {
    super('ROTATION_REFUSED', `The credentials are not rotated: ${why}.`);
  }
}

/** Both are valid when this resolves: `added` by this run or `present` before. */
export async function addCredentials(change: CredentialChange): Promise<'added' | 'present'> {
  const { access, next, admin } = change;
  if (next.user === access.user && next.password === passwordOf(access)) {
    throw new CredentialsError('the new password is the one in use');
  }
  const account = await accountOf(access);
  if (await canLogIn(access, next)) {
    await provePower(change, account);
    return 'present';
  }
  await withConnection(access, admin, async (connection) => {
    if (next.user === access.user) await addPassword(connection, account, next.password);
    else await addUser(connection, account, next);
  });
  await provePower(change, account);
  return 'added';
}

interface Account {
  readonly user: string;
  readonly host: string;
}

/** The account that the server took the login for; it may be one for many hosts. */
function accountOf(access: MysqlAccess): Promise<Account> {
  return withConnection(access, { user: access.user, password: passwordOf(access) }, async (connection) => {
    const [[answer]] = await connection.query<RowDataPacket[]>(
      'SELECT VERSION() AS version, @@version_comment AS comment',
    );
    refuseLacking(dialectOf(String(answer?.['version']), String(answer?.['comment'])), 'accounts');
    const [rows] = await connection.query<RowDataPacket[]>('SELECT CURRENT_USER() AS account');
    const account = String(rows[0]?.['account']);
    const at = account.lastIndexOf('@');
    return { user: account.slice(0, at), host: account.slice(at + 1) };
  });
}

async function addPassword(connection: Connection, { user, host }: Account, password: string): Promise<void> {
  try {
    await connection.query('ALTER USER ?@? IDENTIFIED BY ? RETAIN CURRENT PASSWORD', [user, host, password]);
  } catch (error) {
    if ((error as { readonly errno?: number }).errno !== SYNTAX_ERROR) throw error;
    throw new CredentialsError(
      'this server keeps one password for a user. Give another user as rotation.user, and it gets the same rights',
    );
  }
}

const SYNTAX_ERROR = 1064;
/** For everything that is done on one connection: a dozen short statements. */
const LIMIT_MS = 60_000;

/** The new user may do what the one before may, and nothing else. */
async function addUser(connection: Connection, { user, host }: Account, next: Credentials): Promise<void> {
  await connection.query('CREATE USER IF NOT EXISTS ?@? IDENTIFIED BY ?', [next.user, host, next.password]);
  await connection.query('ALTER USER ?@? IDENTIFIED BY ?', [next.user, host, next.password]);
  for (const grant of await grantsOf(connection, { user, host })) {
    await connection.query(`GRANT ${grant} TO ?@?`, [next.user, host]);
  }
}

/** What stands between GRANT and TO, without USAGE, which every account has. */
async function grantsOf(connection: Connection, { user, host }: Account): Promise<readonly string[]> {
  const [rows] = await connection.query<RowDataPacket[]>('SHOW GRANTS FOR ?@?', [user, host]);
  return rows
    .map((row) => /^GRANT (.+) TO /.exec(String(Object.values(row)[0]))?.[1] ?? '')
    .filter((grant) => grant !== '' && !grant.startsWith('USAGE ON'))
    .sort();
}

/** Both log in, and the new one has the rights of the old one. */
async function provePower({ access, next, admin }: CredentialChange, account: Account): Promise<void> {
  if (!(await canLogIn(access, { user: access.user, password: passwordOf(access) }))) {
    throw new CredentialsError(`${access.user} cannot log in any more with the password in use`);
  }
  if (!(await canLogIn(access, next))) throw new CredentialsError(`${next.user} cannot log in with the new password`);
  if (next.user === access.user) return;
  const [before, after] = await withConnection(access, admin, async (connection) => [
    await grantsOf(connection, account),
    await grantsOf(connection, { user: next.user, host: account.host }),
  ]);
  if (JSON.stringify(before) === JSON.stringify(after)) return;
  throw new CredentialsError(`${next.user} exists and has other rights than ${access.user}`);
}

/** Resolves when only the credentials in use are valid. */
export async function endCredentials({ access, previousUser, admin }: CredentialEnd): Promise<'ended' | 'absent'> {
  const current = { user: access.user, password: passwordOf(access) };
  if (!(await canLogIn(access, current))) throw new CredentialsError(`${access.user} cannot log in`);
  const account = await accountOf(access);
  return withConnection(access, admin, async (connection) => {
    if (previousUser === access.user) {
      await connection.query('ALTER USER ?@? DISCARD OLD PASSWORD', [account.user, account.host]);
      return 'ended';
    }
    return dropUser(connection, { user: previousUser, host: account.host });
  });
}

async function dropUser(connection: Connection, { user, host }: Account): Promise<'ended' | 'absent'> {
  const [open] = await connection.query<RowDataPacket[][]>({ sql: SHOW_CONNECTIONS, rowsAsArray: true });
  const count = open.filter((row) => connectionOf(row).user === user).length;
  if (count > 0) {
    throw new CredentialsError(`${user} still has ${count} connections. Wait until every program uses the new user`);
  }
  const [rows] = await connection.query<RowDataPacket[]>(
    'SELECT 1 FROM `information_schema`.`user_privileges` WHERE `grantee` = CONCAT(QUOTE(?), "@", QUOTE(?)) LIMIT 1',
    [user, host],
  );
  await connection.query('DROP USER IF EXISTS ?@?', [user, host]);
  return rows.length > 0 ? 'ended' : 'absent';
}

async function canLogIn(access: MysqlAccess, credentials: Credentials): Promise<boolean> {
  try {
    await withConnection(access, credentials, () => Promise.resolve());
    return true;
  } catch (error) {
    if (error instanceof StorageAccessDeniedError) return false;
    throw error;
  }
}

async function withConnection<T>(
  access: MysqlAccess,
  { user, password }: Credentials,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { host, port, connectTimeoutMs } = access;
  const timeout = connectTimeoutMs === undefined ? {} : { connectTimeout: connectTimeoutMs };
  let connection: Connection | undefined;
  try {
    const opened = await createConnection({ host, port, user, password, ...sslOptions(access), ...timeout });
    connection = opened;
    opened.on('error', () => undefined);
    return await new Calls().answered(work(opened), LIMIT_MS, () => hangUp(opened));
  } catch (error) {
    throw translateMysqlError(error, access);
  } finally {
    if (connection !== undefined) hangUp(connection);
  }
}
