// A Vitess of two shards where a bundle has its MySQL.
import { queryAsRoot } from '../../hack/local/bundle-database.ts';
import type { BundleServers } from '../../hack/local/bundle-servers.ts';
import { SHARDED, type VitessCluster } from '../../hack/local/vitess/cluster.ts';

/** Its server is killed and frozen as the MySQL behind the shards is; the bundle disposes of all. */
export function databaseOf(vitess: VitessCluster): Pick<BundleServers, 'server' | 'database'> {
  const { host, port, mysql } = vitess;
  // Of a vtgate that lets any user in.
  const account = { user: 'ingester', password: 'any' };
  const server = {
    ...mysql,
    host,
    port,
    rootUser: account.user,
    rootPassword: account.password,
    dispose: () => vitess.dispose(),
  };
  const query: BundleServers['database']['query'] = (sql, parameters = []) =>
    queryAsRoot(server, SHARDED, sql, parameters);
  const drop = (): Promise<void> => Promise.resolve();
  return { server, database: { name: SHARDED, migrator: account, writer: account, query, drop } };
}
