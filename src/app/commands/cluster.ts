import { systemClock } from '../../base/clock.ts';
import { requireStorage } from '../../config/feature-switches.ts';
import type { Configuration } from '../../config/schema.ts';
import { HandoverRefusedError } from '../../storage/errors.ts';
import { handOver, type OwningCluster, showOwner } from '../../storage/mysql/clusters.ts';
import type { ClusterIdentity } from '../../storage/mysql/pool.ts';
import { ClusterMemory } from '../cluster-memory.ts';
import { commandClient } from '../kube-client.ts';
import { mysqlOptions } from '../mysql-options.ts';

export interface ClusterState {
  /** The uid of the namespace kube-system of this cluster. */
  readonly own: string;
  /** Since when this cluster has had the database that it remembers: RFC 3339. Missing where it remembers none. */
  readonly remembered?: string;
  /** The cluster that has the database that is configured; missing where none has written to it. */
  readonly owner?: string;
  /** Since when it has it: RFC 3339. */
  readonly since?: string;
}

export async function showCluster(configuration: Configuration): Promise<ClusterState> {
  return inThisCluster(configuration, async ({ identity }) => stateOf(identity, await ownerIn(configuration)));
}

/** Throws HANDOVER_REFUSED where the database is not that of `from`. Running it again is success. */
export async function takeOver(configuration: Configuration, from: string): Promise<ClusterState> {
  return inThisCluster(configuration, async ({ memory, identity }) => {
    const owner = await handOver(mysqlOptions(configuration), systemClock, { from, to: identity.uid });
    await memory.remember(owner.since);
    return stateOf({ ...identity, database: owner.since }, owner);
  });
}

/**
 * The cluster takes the database that is configured, once it writes. Throws HANDOVER_REFUSED where `from` is not since when it
 * has had the one of before.
 */
export async function changeDatabase(configuration: Configuration, from: string): Promise<ClusterState> {
  return inThisCluster(configuration, async ({ memory, identity }) => {
    if (identity.database !== from) throw HandoverRefusedError.database(from, identity.database);
    await memory.remember(undefined);
    return stateOf({ uid: identity.uid }, await ownerIn(configuration));
  });
}

function ownerIn(configuration: Configuration): Promise<OwningCluster | undefined> {
  return showOwner(mysqlOptions(configuration), systemClock);
}

function stateOf({ uid, database }: ClusterIdentity, owner: OwningCluster | undefined): ClusterState {
  return {
    own: uid,
    ...(database === undefined ? {} : { remembered: database }),
    ...(owner === undefined ? {} : { owner: owner.uid, since: owner.since }),
  };
}

async function inThisCluster(
  configuration: Configuration,
  work: (parts: { readonly memory: ClusterMemory; readonly identity: ClusterIdentity }) => Promise<ClusterState>,
): Promise<ClusterState> {
  requireStorage(configuration, 'its database is the one that belongs to a cluster');
  const client = commandClient(configuration, systemClock);
  const memory = new ClusterMemory({ client, configuration, clock: systemClock });
  try {
    return await work({ memory, identity: await memory.identity() });
  } finally {
    await client.close();
  }
}
