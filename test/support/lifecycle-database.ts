// Databases and Secrets for the tasks of an Ingester resource.
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { migrate } from '../../src/storage/mysql/tasks/migrate.ts';
import { migrationOptions } from './migrations.ts';
import { aModelRow, kindNamed } from './objects.ts';
import { type LifecycleCluster, SYSTEM } from './use-lifecycle.ts';

export async function applySecret(
  cluster: LifecycleCluster,
  name: string,
  stringData: Readonly<Record<string, string>>,
): Promise<void> {
  const metadata = { namespace: SYSTEM, name };
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata, stringData });
  await cluster.bundle.controlPlane.kubectlRun(['apply', '-f', '-'], { input });
}

/** The Secret with which a client logs in to the bundle's database. */
export async function applyCredentials(
  cluster: LifecycleCluster,
  name: string,
  account: { readonly user: string; readonly password: string; readonly database?: string },
): Promise<void> {
  const { databaseLink, database } = cluster.bundle;
  const { host, port } = databaseLink;
  await applySecret(cluster, name, { host, port: String(port), database: database.name, ...account });
}

/** Another metadata database on the server, with Models of these names, and the Secret with which it can be read. */
export async function aSource(
  cluster: LifecycleCluster,
  secret: string,
  names: readonly string[],
): Promise<BundleDatabase> {
  const source = await createBundleDatabase(cluster.bundle.server);
  await migrate(migrationOptions(accessTo(cluster, source), ['Model', 'Project'].map(kindNamed)));
  await addToSource(cluster, source, names);
  await applyCredentials(cluster, secret, { ...source.migrator, database: source.name });
  return source;
}

export async function addToSource(
  cluster: LifecycleCluster,
  source: BundleDatabase,
  names: readonly string[],
): Promise<void> {
  const storage = new MysqlMetadataStorage(accessTo(cluster, source), systemClock);
  for (const name of names) await storage.upsert(aModelRow({ uid: `uid-${name}`, name, namespace: 'copied' }));
  await storage.close();
}

function accessTo({ bundle: { server } }: LifecycleCluster, { migrator, name }: BundleDatabase): MysqlOptions {
  const { host, port } = server;
  return { host, port, ...migrator, database: name, maxOpenConns: 2, maxIdleConns: 2, connMaxLifetimeMs: 0 };
}
