// Which transactions a server knows. One that does not know what was confirmed before has lost it: a replica that was
// behind took over, or the database was restored from a backup.
//
// MySQL has sets of GTIDs and compares them itself. MariaDB has positions: of each domain, the last number that each server
// has written. Another server goes on from where it stood, so what is compared is always the number of the same server.
import type { Dialect } from './dialect.ts';
import type { SqlSession } from './pool.ts';
import { type Replication, readReplication } from './server-replication.ts';

export interface ServerHistory {
  /** Names the server: its uuid, or its id. */
  readonly server: string;
  /** GTIDs that it knows; empty where it has none, or too many to compare. */
  readonly known: string;
  /** Those that were asked for and that it does not know; empty where it knows them all. */
  readonly missing: string;
  /** Settings under which a crash of its machine loses what it confirmed, e.g. `sync_binlog=0`. */
  readonly weak: readonly string[];
  readonly replication: Replication;
}

/** Longer ones come of hundreds of servers, or of gaps; nothing is claimed then. */
const LONGEST = 64 * 1024;

export async function readServerHistory(session: SqlSession, seen: string): Promise<ServerHistory> {
  const { history: how } = session.dialect;
  const replication = how === 'none' ? 'unknown' : await readReplication(session);
  const history = { ...(await readers[how](session, seen)), replication };
  return history.known.length > LONGEST ? { ...history, known: '' } : history;
}

type Transactions = Omit<ServerHistory, 'replication'>;

/** Each shard has a history of its own, and vtgate shows that of any of them. */
const nothingKnown: Transactions = { server: '', known: '', missing: '', weak: [] };

const readers: Readonly<Record<Dialect['history'], (session: SqlSession, seen: string) => Promise<Transactions>>> = {
  'gtid sets': readMysql,
  positions: readMariadb,
  none: () => Promise.resolve(nothingKnown),
};

const DURABILITY = '@@GLOBAL.`innodb_flush_log_at_trx_commit`, IF(@@GLOBAL.`log_bin`, @@GLOBAL.`sync_binlog`, 1)';

async function readMysql(session: SqlSession, seen: string): Promise<Transactions> {
  const [row = []] = await session.query(
    `SELECT @@GLOBAL.server_uuid, @@GLOBAL.gtid_executed, GTID_SUBTRACT(?, @@GLOBAL.gtid_executed), ${DURABILITY}`,
    [seen],
  );
  const [server, known, missing] = row.map((value) => String(value).replaceAll(/\s/g, ''));
  return { server: server ?? '', known: known ?? '', missing: missing ?? '', weak: weakSettings(row[3], row[4]) };
}

async function readMariadb(session: SqlSession, seen: string): Promise<Transactions> {
  const [row = []] = await session.query(
    'SELECT @@GLOBAL.server_id, @@GLOBAL.gtid_current_pos, ' +
      `CONCAT_WS(',', @@GLOBAL.gtid_binlog_state, @@GLOBAL.gtid_slave_pos), ${DURABILITY}`,
  );
  const [server, known, all] = row.map(String);
  const missing = missingPositions(seen, all ?? '').join(',');
  return { server: server ?? '', known: known ?? '', missing, weak: weakSettings(row[3], row[4]) };
}

function weakSettings(flush: unknown, sync: unknown): readonly string[] {
  return [
    ...(Number(flush) === 1 ? [] : [`innodb_flush_log_at_trx_commit=${Number(flush)}`]),
    ...(Number(sync) === 1 ? [] : [`sync_binlog=${Number(sync)}`]),
  ];
}

/**
 * Pure: the positions of MariaDB (`domain-server-number`) that a server is known not to have. Where it knows nothing of
 * the server that wrote one and has come further itself, that is unknown.
 */
export function missingPositions(seen: string, known: string): readonly string[] {
  const last = new Map<string, bigint>();
  const note = (key: string, number: bigint): void => {
    if (number > (last.get(key) ?? -1n)) last.set(key, number);
  };
  for (const { domain, server, number } of positionsIn(known)) {
    note(domain, number);
    note(`${domain}-${server}`, number);
  }
  return positionsIn(seen)
    .filter(({ domain, server, number }) => (last.get(`${domain}-${server}`) ?? last.get(domain) ?? -1n) < number)
    .map(({ domain, server, number }) => `${domain}-${server}-${number}`);
}

function positionsIn(
  text: string,
): readonly { readonly domain: string; readonly server: string; readonly number: bigint }[] {
  return [...text.matchAll(/(\d+)-(\d+)-(\d+)/g)].map(([, domain = '', server = '', number = '']) => {
    return { domain, server, number: BigInt(number) };
  });
}
