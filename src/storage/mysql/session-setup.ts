// What is set for each connection to MySQL, whatever its server sets by itself.
import type { MysqlAccess } from './access.ts';
import type { Dialect } from './dialect.ts';

/** Tables are locked by others only, as by an ALTER or a backup. A write that waits longer is retried. */
const TABLE_LOCK_TIMEOUT_MS = 10_000;
/**
 * Rows that are locked for longer are so by a foreign transaction, and a write that waits for one holds up those that share
 * its transaction.
 */
const ROW_LOCK_TIMEOUT_MS = 3000;

/**
 * The character set of what we send, which a server may take for another one whatever the handshake says. No gap locks, so
 * that replacing the labels of different objects never deadlocks; strict mode, so that nothing is cut or coerced behind our
 * back; one time zone; reads that are whole and end with their statement, and writes of many rows; transactions that end
 * with their commit. Whatever the server's defaults are, or what its administrator has set for each connection.
 */
export function sessionSetup({ lockTimeoutMs }: Pick<MysqlAccess, 'lockTimeoutMs'>): string[] {
  const seconds = (ms: number): number => Math.max(1, Math.round((lockTimeoutMs ?? ms) / 1000));
  return [
    'SET NAMES utf8mb4 COLLATE utf8mb4_bin',
    'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE',
    `SET SESSION time_zone = '+00:00', innodb_lock_wait_timeout = ${seconds(ROW_LOCK_TIMEOUT_MS)}, ` +
      `lock_wait_timeout = ${seconds(TABLE_LOCK_TIMEOUT_MS)}, autocommit = 1, completion_type = 0, ` +
      'sql_select_limit = 9223372036854775807, sql_safe_updates = 0, sql_big_selects = 1, unique_checks = 1, ' +
      "sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE'",
  ];
}

/**
 * A statement whose caller gives up ends at the server too, after three quarters of the wait, so that the connection
 * survives. MySQL limits reads only. A connection that the network lost says nothing to the server, which would keep the
 * locks of its transaction for eight hours: it ends a silent one, later than the pool closes what is idle. Tablets of
 * Vitess end every transaction by themselves.
 */
export function serverLimits({ sessionLimits }: Dialect, readTimeoutMs: number): readonly string[] {
  const limitMs = Math.max(1, Math.floor(readTimeoutMs * 0.75));
  const silentSeconds = Math.ceil((3 * readTimeoutMs) / 1000);
  return sessionLimits(limitMs, silentSeconds);
}

/** What a server says of itself: the first question of a connection. */
export const ASK_SERVER = 'SELECT VERSION(), @@version_comment, @@max_allowed_packet';

/** With the answer to a commit MySQL then says under which number; MariaDB does not know the setting. */
export const TRACK_COMMITS = 'SET SESSION session_track_gtids = OWN_GTID';
