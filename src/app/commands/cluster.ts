import { systemClock } from '../../base/clock.ts';
import { requireStorage } from '../../config/feature-switches.ts';
import type { Configuration } from '../../config/schema.ts';
import { handOver, type OwningCluster, showOwner } from '../../storage/mysql/clusters.ts';
import { clusterUid } from '../cluster-uid.ts';
import { commandClient } from '../kube-client.ts';
import { mysqlOptions } from '../mysql-options.ts';

export interface ClusterState {
  /** The uid of the namespace kube-system of this cluster. */
  readonly own: string;
  /** That of the cluster that has the database; missing where none has written to it. */
  readonly owner?: string;
  /** RFC 3339. */
  readonly since?: string;
}

export async function showCluster(configuration: Configuration): Promise<ClusterState> {
  return inThisCluster(configuration, () => showOwner(mysqlOptions(configuration), systemClock));
}

/** Throws HANDOVER_REFUSED where the database is not that of `from`. */
export async function takeOver(configuration: Configuration, from: string): Promise<ClusterState> {
  return inThisCluster(configuration, (to) => handOver(mysqlOptions(configuration), systemClock, { from, to }));
}

async function inThisCluster(
  configuration: Configuration,
  ask: (own: string) => Promise<OwningCluster | undefined>,
): Promise<ClusterState> {
  requireStorage(configuration, 'its database is the one that belongs to a cluster');
  const client = commandClient(configuration, systemClock);
  try {
    const own = await clusterUid(client)();
    const owner = await ask(own);
    return { own, ...(owner === undefined ? {} : { owner: owner.uid, since: owner.since }) };
  } finally {
    await client.close();
  }
}
