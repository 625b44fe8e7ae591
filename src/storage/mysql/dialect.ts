// What differs between the servers that speak MySQL's protocol, as data. Everything else is one text for all of them.
// The server says which one it is when a connection is made; nothing is configured.
import { StorageLacksError } from '../errors.ts';

/** The oldest line of a server that the tests run on. */
type Line = readonly [major: number, minor: number];

/** What a server cannot do, and what does it instead. */
export interface Lacking {
  /** `STORAGE_LACKS` says this. */
  readonly what: string;
  readonly instead: string;
}

/** What commands may ask of a server beyond reading and writing rows. */
export type Ability = 'snapshots' | 'clone' | 'accounts' | 'create database';

export interface Dialect {
  readonly product: 'MySQL' | 'MariaDB' | 'Vitess';
  readonly oldest: Line;
  /** How many pairs are inserted at once: out of one JSON text, or as rows of parameters. */
  readonly pairInsert: 'json' | 'rows';
  /** How whole numbers are sent: as the driver does, which is as a double, or as what they are. */
  readonly integers: 'double' | 'integer';
  /** Whether a statement may compare rows by another column than the key, as the incarnations of a name. */
  readonly tombstones: 'in one statement' | 'by names';
  /** How many rows a walk would look at: by what the server expects, or by a part of the rows. */
  readonly estimate: 'explain' | 'sample';
  /** Rows that one statement may read or change. */
  readonly maxRows: number;
  /** Bytes of a result, of objects that are read at once. */
  readonly maxResultBytes: number;
  /** Bytes of a statement, whatever `max_allowed_packet` says. */
  readonly maxStatementBytes: number;
  /** Objects whose labels or annotations are read at once. */
  readonly maxObjects: number;
  /**
   * Where a transaction reads the gate or the fence: first, or after it has locked its rows, so that their servers commit
   * before the server of the gate, which holds back who closes it.
   */
  readonly gate: 'first' | 'after the locks';
  /** How long after a gate was closed a transaction may still write that had passed it, in milliseconds. */
  readonly gateSettlesMs: number;
  /** Whether names that the server locks belong to a connection for as long as it lives. */
  readonly namedLocks: 'kept' | 'lost';
  /** Whether `information_schema` knows every table that a statement can name. */
  readonly catalogue: 'whole' | 'partial';
  /** Which transactions it says it knows. */
  readonly history: 'gtid sets' | 'positions' | 'none';
  /** Whether it says which transactions are open. */
  readonly transactions: 'shown' | 'hidden';
  /** Whether a statement may number the rows of a group. */
  readonly medians: 'answered' | 'refused';
  /** Whether the key of a row can be changed where it is. */
  readonly keys: 'changed' | 'copied';
  /** Ends what runs longer than this. */
  readonly sessionLimits: (limitMs: number, silentSeconds: number) => readonly string[];
  /** For work on whole tables: nothing ends it. */
  readonly noLimits: readonly string[];
  readonly lacks: Readonly<Partial<Record<Ability, Lacking>>>;
}

const MiB = 1024 * 1024;

const mysql: Dialect = {
  product: 'MySQL',
  oldest: [8, 4],
  pairInsert: 'json',
  integers: 'double',
  tombstones: 'in one statement',
  estimate: 'explain',
  maxRows: Number.POSITIVE_INFINITY,
  maxResultBytes: Number.POSITIVE_INFINITY,
  maxStatementBytes: Number.POSITIVE_INFINITY,
  maxObjects: 256,
  gate: 'first',
  gateSettlesMs: 0,
  namedLocks: 'kept',
  catalogue: 'whole',
  history: 'gtid sets',
  transactions: 'shown',
  medians: 'answered',
  keys: 'changed',
  // Each server takes the other's setting for a comment, also one that says it is the other. A median is cut out of a list of
  // all values: of 100,000 times it has 3 MB, and a shorter one would be cut without an error.
  sessionLimits: (limitMs, silentSeconds) => [
    `SET SESSION wait_timeout = ${silentSeconds}, group_concat_max_len = ${4 * MiB} ` +
      `/*!80000 , max_execution_time = ${limitMs} */ /*M!100101 , max_statement_time = ${limitMs / 1000} */`,
  ],
  noLimits: [
    'SET SESSION wait_timeout = 28800, lock_wait_timeout = 86400 ' +
      '/*!80000 , max_execution_time = 0 */ /*M!100101 , max_statement_time = 0 */',
  ],
  lacks: {},
};

const mariadb: Dialect = {
  ...mysql,
  product: 'MariaDB',
  oldest: [10, 11],
  history: 'positions',
};

/**
 * A vtgate before shards. Its tablets answer with 10,000 rows and 16 MiB at most, and end a transaction after 30 seconds;
 * their transactions are committed one after another, in the order in which they were begun.
 */
const vitess: Dialect = {
  ...mysql,
  product: 'Vitess',
  oldest: [8, 0],
  pairInsert: 'rows',
  integers: 'integer',
  tombstones: 'by names',
  estimate: 'sample',
  maxRows: 9999,
  maxResultBytes: 6 * MiB,
  maxStatementBytes: 14 * MiB,
  maxObjects: 32,
  gate: 'after the locks',
  gateSettlesMs: 31_000,
  namedLocks: 'lost',
  catalogue: 'partial',
  history: 'none',
  transactions: 'hidden',
  medians: 'refused',
  keys: 'copied',
  sessionLimits: (limitMs) => [`SET SESSION query_timeout = ${limitMs}`],
  noLimits: ['SET SESSION query_timeout = 0'],
  lacks: {
    snapshots: {
      what: 'snapshots in a database beside it',
      instead: 'Take backups of the shards with "vtctldclient BackupShard"',
    },
    clone: {
      what: 'copy of whole tables',
      instead: 'Move tables with "vtctldclient MoveTables" and compare them with "vtctldclient VDiff"',
    },
    accounts: {
      what: 'accounts that statements change',
      instead: "Change the user's password in the file that vtgate reads (--mysql-auth-server-static-file)",
    },
    'create database': {
      what: 'databases that statements make',
      instead: 'Make the keyspaces with "vtctldclient CreateKeyspace"',
    },
  },
};

/** Of a server that says these of itself: `VERSION()` and `@@version_comment`. */
export function dialectOf(version: string, comment = ''): Dialect {
  // vtgate can be told to give any version; its comment is its own.
  if (/vitess/i.test(version) || /^Version: .*\(Git revision/.test(comment)) return vitess;
  return /mariadb/i.test(version) ? mariadb : mysql;
}

/** Whether an error that names no class is one of a shard that is away for now, or of a transaction that it lost. */
export function isShardAway(text: string): boolean {
  return SHARD_AWAY.test(text);
}

const SHARD_AWAY =
  /no healthy tablet|VT15001|VT09032|VT09031|VT14\d{3}|code = (?:Unavailable|ClusterEvent)|Code: (?:UNAVAILABLE|CLUSTER_EVENT)|not[ _]serving|is not serving|cluster event|reparent|being resharded|denied tables|connection (?:refused|reset|error)|error reading from server|connection is closing|vttablet: .*(?:EOF|shutting down)/i;

/** The shard of several that an error comes from, as the range of keyspace ids that is its name. */
export function shardIn(text: string): string | undefined {
  const [, shard] = /target: [^\s.]+\.([0-9a-f]*-[0-9a-f]*)\./.exec(text) ?? [];
  return shard === '-' ? undefined : shard;
}

/** Whether an interrupted statement was one of too many rows, which is no better the next time. */
export function isTooManyRows(text: string): boolean {
  return /row count exceeded/i.test(text);
}

/** Throws STORAGE_LACKS where the server cannot do it, with what does it there. */
export function refuseLacking({ product, lacks }: Dialect, ability: Ability): void {
  const lacking = lacks[ability];
  if (lacking !== undefined) throw new StorageLacksError(product, lacking.what, lacking.instead);
}
