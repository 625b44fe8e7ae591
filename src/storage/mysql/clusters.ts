// Which cluster a database belongs to. What is missing in a cluster counts as deleted there, so a second cluster that
// writes to the same database would end the rows of the first.
//
// A cluster is named by the uid of its namespace kube-system. The first one that writes to a database has it from then on,
// until an operator hands it over. The moment at which it got it tells the database from every other one: the cluster remembers
// it, so that an empty database in its place is not taken for one in which nothing is stored.
import type { Clock } from '../../base/clock.ts';
import { HandoverRefusedError, OtherClusterError, OtherDatabaseError } from '../errors.ts';
import { type ClusterIdentity, type MysqlOptions, type SqlSession, withPool } from './pool.ts';
import { fromSqlTime } from './sql-time.ts';

export const CLUSTERS_TABLE = 'ingester_clusters';

export interface OwningCluster {
  /** Of its namespace kube-system. */
  readonly uid: string;
  /** When it wrote first, or was handed the database: RFC 3339. */
  readonly since: string;
}

/** To be used in the transaction of a write: the database is this cluster's afterwards, or the error of `refuseOther` is thrown. */
export async function claim(session: SqlSession, cluster: ClusterIdentity): Promise<void> {
  if (cluster.database === undefined)
    await session.execute(
      `INSERT IGNORE INTO \`${CLUSTERS_TABLE}\` (\`id\`, \`uid\`, \`since\`) VALUES (1, ?, UTC_TIMESTAMP(6))`,
      [cluster.uid],
    );
  await refuseOther(session, cluster);
}

/** Whether a cluster that has a database since then, in MySQL's words, has it in its memory. */
export function isDatabaseOf({ database }: ClusterIdentity, since: string | undefined): boolean {
  return since !== undefined && (database === undefined || fromSqlTime(since) === database);
}

/**
 * Throws STORAGE_OTHER_CLUSTER where the database has an owner and that is not this cluster, and STORAGE_OTHER_DATABASE where
 * it is not the one that the cluster remembers. Gives since when the cluster has it; undefined where no cluster has it.
 */
export async function refuseOther(
  session: SqlSession,
  { uid, database }: ClusterIdentity,
): Promise<string | undefined> {
  const owner = await readOwner(session);
  if (owner !== undefined && owner.uid !== uid) throw new OtherClusterError(owner.uid, uid);
  if (database !== undefined && owner?.since !== database) throw new OtherDatabaseError(database, owner?.since);
  return owner?.since;
}

/** How long a cluster that has lost its database may go on reading it, as long as rights are kept. */
const CONFIRMED_MS = 10_000;

/** Whose objects a storage reads and writes; undefined for a task that works on rows as they are. */
export class OwnCluster {
  readonly #identity: MysqlOptions['cluster'];
  readonly #clock: Clock;
  #confirmedMs = Number.NEGATIVE_INFINITY;

  constructor({ cluster }: Pick<MysqlOptions, 'cluster'>, clock: Clock) {
    this.#identity = cluster;
    this.#clock = clock;
  }

  async identity(): Promise<ClusterIdentity | undefined> {
    return this.#identity?.();
  }

  /** Before a read: rows of another cluster say nothing about this one, and its rights are not asked for them. */
  async confirm(session: SqlSession, cluster: ClusterIdentity | undefined): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    if (cluster === undefined || nowMs - this.#confirmedMs < CONFIRMED_MS) return;
    await refuseOther(session, cluster);
    this.#confirmedMs = nowMs;
  }
}

async function readOwner(session: SqlSession): Promise<OwningCluster | undefined> {
  const [row] = await session.query(`SELECT \`uid\`, \`since\` FROM \`${CLUSTERS_TABLE}\` WHERE \`id\` = 1`);
  return row === undefined ? undefined : { uid: String(row[0]), since: fromSqlTime(String(row[1])) };
}

/** Undefined where no cluster has written to the database. */
export function showOwner(options: MysqlOptions, clock: Clock): Promise<OwningCluster | undefined> {
  return withPool(options, clock, (pool) => pool.read(readOwner));
}

export interface Handover {
  /** The cluster that has the database. */
  readonly from: string;
  readonly to: string;
}

/**
 * Gives the database of one cluster to another one. Waits for the writes of the first that are under way; later ones are
 * refused. Up to which resourceVersion it is complete is forgotten: the numbers are those of the cluster before. Running it
 * again is success.
 */
export function handOver(options: MysqlOptions, clock: Clock, { from, to }: Handover): Promise<OwningCluster> {
  return withPool(options, clock, (pool) =>
    pool.transaction(async (session) => {
      const changed = await session.execute(
        `UPDATE \`${CLUSTERS_TABLE}\` SET \`uid\` = ?, \`since\` = UTC_TIMESTAMP(6) WHERE \`id\` = 1 AND \`uid\` = ?`,
        [to, from],
      );
      if (changed > 0) await session.execute('DELETE FROM `ingester_positions`');
      const owner = await readOwner(session);
      if (owner?.uid !== to) throw HandoverRefusedError.cluster(from, owner?.uid);
      return owner;
    }),
  );
}
