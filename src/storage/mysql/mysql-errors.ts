import { CodedError, messageOf } from '../../base/errors.ts';
import {
  RowRefusedError,
  ShardUnavailableError,
  StorageAccessDeniedError,
  StorageContentionError,
  StorageDatabaseMissingError,
  StorageFailureError,
  StoragePermissionError,
  StorageProgramError,
  StorageSchemaMissingError,
  StorageUnavailableError,
} from '../errors.ts';
import type { MysqlAccess } from './access.ts';
import { NoAnswer } from './deadline.ts';
import { isShardAway, isTooManyRows, shardIn } from './dialect.ts';

/** `text` is the server's, which may hold a value of a row. */
type Translation = (what: string, cause: unknown, database: string, text: string) => CodedError;

const unavailable: Translation = (what, cause, _database, text) => {
  const shard = shardIn(text);
  return shard === undefined ? new StorageUnavailableError(what, cause) : new ShardUnavailableError(what, shard);
};
const refused: Translation = (what) => new RowRefusedError(what);
const contention: Translation = (what, cause) => new StorageContentionError(what, cause);
const accessDenied: Translation = (what) => new StorageAccessDeniedError(what);
const permission: Translation = (what) => new StoragePermissionError(what);
const schemaMissing: Translation = (what) => new StorageSchemaMissingError(what);
const failure: Translation = (what) => new StorageFailureError(what, undefined);
/** A vtgate gives one number to all that has none of its own. */
const byText: Translation = (...error) => (isShardAway(error[3]) ? unavailable : failure)(...error);
/** So does a tablet for every limit that it keeps; only that of the rows is kept the next time too. */
const interrupted: Translation = (...error) => (isTooManyRows(error[3]) ? failure : unavailable)(...error);

/** MySQL and MariaDB error numbers; the names are those of the server's manual. */
export const translationByNumber: ReadonlyMap<number, Translation> = new Map<number, Translation>([
  [1040, unavailable], // ER_CON_COUNT_ERROR
  [1047, unavailable], // ER_UNKNOWN_COM_ERROR: a Galera node that is not ready answers every statement so
  [1129, unavailable], // ER_HOST_IS_BLOCKED
  [1203, unavailable], // ER_TOO_MANY_USER_CONNECTIONS
  [1226, unavailable], // ER_USER_LIMIT_REACHED
  [1461, unavailable], // ER_MAX_PREPARED_STMT_COUNT_REACHED
  [1317, interrupted], // ER_QUERY_INTERRUPTED
  [1105, byText], // ER_UNKNOWN_ERROR
  [2002, unavailable], // CR_CONNECTION_ERROR, of a tablet to its server as the next three
  [2003, unavailable], // CR_CONN_HOST_ERROR
  [2006, unavailable], // CR_SERVER_GONE_ERROR
  [2013, unavailable], // CR_SERVER_LOST
  [1044, accessDenied], // ER_DBACCESS_DENIED_ERROR
  [1045, accessDenied], // ER_ACCESS_DENIED_ERROR
  [1698, accessDenied], // ER_ACCESS_DENIED_NO_PASSWORD_ERROR
  [1820, accessDenied], // ER_MUST_CHANGE_PASSWORD: it has expired
  [1862, accessDenied], // ER_MUST_CHANGE_PASSWORD_LOGIN
  [3118, accessDenied], // ER_ACCOUNT_HAS_BEEN_LOCKED
  [1049, (_what, _cause, database) => new StorageDatabaseMissingError(database)], // ER_BAD_DB_ERROR
  [1053, unavailable], // ER_SERVER_SHUTDOWN
  [1077, unavailable], // ER_NORMAL_SHUTDOWN
  [1054, schemaMissing], // ER_BAD_FIELD_ERROR
  [1146, schemaMissing], // ER_NO_SUCH_TABLE
  [1142, permission], // ER_TABLEACCESS_DENIED_ERROR
  [1143, permission], // ER_COLUMNACCESS_DENIED_ERROR
  [1227, permission], // ER_SPECIFIC_ACCESS_DENIED_ERROR
  [1205, contention], // ER_LOCK_WAIT_TIMEOUT
  [1213, contention], // ER_LOCK_DEADLOCK
  [1062, contention], // ER_DUP_ENTRY: another writer inserted the row first
  [1180, contention], // ER_ERROR_DURING_COMMIT: another node or a replica refused it
  [3101, contention], // ER_TRANSACTION_ROLLBACK_DURING_COMMIT: group replication certified another transaction first
  [1020, contention], // ER_CHECKREAD, MariaDB with snapshot isolation
  [1412, contention], // ER_TABLE_DEF_CHANGED: by an ALTER since the transaction began
  [1615, contention], // ER_NEED_REPREPARE
  [1290, unavailable], // ER_OPTION_PREVENTS_STATEMENT: --read-only
  [1792, unavailable], // ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
  [1836, unavailable], // ER_READ_ONLY_MODE
  [1927, unavailable], // ER_CONNECTION_KILLED, MariaDB
  [1969, unavailable], // ER_STATEMENT_TIMEOUT, MariaDB
  [3024, unavailable], // ER_QUERY_TIMEOUT
  [3032, unavailable], // ER_SERVER_OFFLINE_MODE: for maintenance, or a member that left its group
  [3100, unavailable], // ER_RUN_HOOK_ERROR: a member without its group
  [3169, unavailable], // ER_SESSION_WAS_KILLED
  [4031, unavailable], // ER_CLIENT_INTERACTION_TIMEOUT
  [1021, unavailable], // ER_DISK_FULL
  [1041, unavailable], // ER_OUT_OF_RESOURCES
  [1114, unavailable], // ER_RECORD_FILE_FULL
  [1048, refused], // ER_BAD_NULL_ERROR
  [1118, refused], // ER_TOO_BIG_ROWSIZE
  [1153, refused], // ER_NET_PACKET_TOO_LARGE
  [1264, refused], // ER_WARN_DATA_OUT_OF_RANGE
  [1265, refused], // WARN_DATA_TRUNCATED
  [1292, refused], // ER_TRUNCATED_WRONG_VALUE
  [1366, refused], // ER_TRUNCATED_WRONG_VALUE_FOR_FIELD
  [1406, refused], // ER_DATA_TOO_LONG
  [3140, refused], // ER_INVALID_JSON_TEXT
  [3141, refused], // ER_INVALID_JSON_TEXT_IN_PARAM
  [3157, refused], // ER_JSON_DOCUMENT_TOO_DEEP
  [4025, refused], // ER_CONSTRAINT_FAILED, MariaDB: the JSON check
]);

interface DriverError {
  readonly code?: string;
  readonly errno?: number;
  readonly sqlMessage?: string;
  /** Of a connection that was not made. */
  readonly address?: string;
  readonly hostname?: string;
  readonly port?: number;
}

/** Of the driver, of a certificate that is not accepted, and of TLS. */
const CONNECTION_CODES =
  /^(PROTOCOL|HANDSHAKE|AUTH_SWITCH|MYSQL_CLEAR|CERT|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|ERR_TLS|ERR_SSL)_?/;
/** Of the operating system, such as ECONNREFUSED and EAI_AGAIN; what Node thinks of a program begins otherwise. */
const SYSTEM_CODES = /^E(?!RR_)[A-Z0-9_]+$/;
/** What the driver says without a code of a connection or a pool that has ended. */
const ENDED = /closed state|^Pool is closed|^Queue limit reached|^No connections available/;

/** Which server it was that failed. */
type Server = Pick<MysqlAccess, 'host' | 'port' | 'database'>;

/** Turns whatever the driver threw into an error of the port. The section of the configuration names the server's keys. */
export function translateMysqlError(error: unknown, server: Server, section: 'mysql' | 'clone' = 'mysql'): CodedError {
  if (error instanceof CodedError) return error;
  const driver = error as DriverError;
  if (isConnectionLost(error)) {
    const what = `${lostConnection(driver, messageOf(error))}${whereFrom(driver, server, section)}`;
    return new StorageUnavailableError(what, undefined);
  }
  if (driver.sqlMessage === undefined || driver.errno === undefined) return new StorageProgramError(placeOf(error));
  const translation = translationByNumber.get(driver.errno);
  const what = describe(driver);
  if (translation !== undefined) return translation(what, undefined, server.database, driver.sqlMessage);
  return new StorageFailureError(what, undefined);
}

/** The error for what the driver threw where it says that one shard of several is away. */
export function shardUnavailable(error: unknown): ShardUnavailableError | undefined {
  const driver = error as DriverError;
  if (driver.sqlMessage === undefined || driver.errno === undefined) return undefined;
  const translation = translationByNumber.get(driver.errno);
  const translated = translation?.(describe(driver), undefined, '', driver.sqlMessage);
  return translated instanceof ShardUnavailableError ? translated : undefined;
}

/** Whether the way to the server is at fault, and not the server or this program: only that is waited for as an outage. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof NoAnswer) return true;
  const { code, sqlMessage } = error as DriverError;
  if (sqlMessage !== undefined) return false;
  if (typeof code === 'string') return CONNECTION_CODES.test(code) || SYSTEM_CODES.test(code);
  return error instanceof Error && ENDED.test(error.message);
}

/** Type and line, not the text, which may hold a value of a row. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const [frame] = /^ +at .+$/m.exec(error.stack ?? '') ?? [];
  return [error.name, frame?.trim()].filter((part) => part !== undefined).join(' ');
}

/** What is wrong with a certificate is only in the text, and the operator has to know it. */
function lostConnection({ code }: DriverError, text: string): string {
  if (code === undefined) return text;
  return code === 'HANDSHAKE_SSL_ERROR' ? `${code}, ${text}` : code;
}

/** The address that the driver tried, else what is configured: a silent server leaves none. */
function whereFrom({ address, hostname, port }: DriverError, server: Server, section: string): string {
  const host = address ?? hostname ?? server.host;
  return ` from ${host}, port ${port ?? server.port} (${section}.host and ${section}.port)`;
}

/** Name and number, plus the part of the server's text that cannot hold a value of a row. */
function describe(error: DriverError): string {
  const subject =
    /VT\d{5}|(?:for column|for user|to user|table|column|user) '[^']*'(?:@'[^']*')?(?: to database '[^']*')?/i.exec(
      error.sqlMessage ?? '',
    );
  const name = `${error.code ?? 'unknown'} ${error.errno ?? ''}`.trim();
  return subject === null ? name : `${name}, ${subject[0]}`;
}
