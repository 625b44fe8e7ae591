// Whether a server confirms a transaction only when another one has it. Read from what any user may see.
import type { SqlSession } from './pool.ts';

/**
 * `waits`: another server has each transaction before it is confirmed. `fell-back`: it is set up so, and goes on without.
 * `alone`: it confirms by itself. `unknown`: the server does not tell.
 */
export type Replication = 'waits' | 'fell-back' | 'alone' | 'unknown';

/** Semi-synchronous replication by its names in MySQL since 8.0.26, and before; MariaDB has the older ones. */
const SEMI_SYNC = ['rpl_semi_sync_source', 'rpl_semi_sync_master'];
const ENABLED = SEMI_SYNC.map((name) => `${name}_enabled`);
const STATUS = SEMI_SYNC.map((name) => `${name}_status`);
/** Set where group replication, Galera or the storage of a cloud keeps several copies of each transaction. */
const OTHERS = ['group_replication_group_name', 'wsrep_on', 'aurora_version'];

export async function readReplication(session: SqlSession): Promise<Replication> {
  try {
    const settings = await namedIn(session, 'VARIABLES', [...ENABLED, ...OTHERS]);
    if (OTHERS.some((name) => isSet(settings.get(name)))) return 'waits';
    if (!ENABLED.some((name) => isSet(settings.get(name)))) return 'alone';
    const status = await namedIn(session, 'STATUS', STATUS);
    return STATUS.some((name) => isSet(status.get(name))) ? 'waits' : 'fell-back';
  } catch {
    // A proxy or another dialect: nothing is claimed, and a connection that broke fails in the next statement.
    return 'unknown';
  }
}

async function namedIn(
  session: SqlSession,
  where: 'VARIABLES' | 'STATUS',
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const list = names.map((name) => `'${name}'`).join(', ');
  const rows = await session.query(`SHOW GLOBAL ${where} WHERE Variable_name IN (${list})`);
  return new Map(rows.map(([name, value]) => [String(name).toLowerCase(), String(value)]));
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && !['', 'OFF', '0'].includes(value.toUpperCase());
}
