// Which cluster this is, and which database it has. Kubernetes has no name for a cluster; the uid of the namespace kube-system
// lives as long as its etcd. The database is in the control ConfigMap, so it is forgotten with the cluster and not with MySQL.
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient, ObjectRef } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { dataOf, namespaces } from '../kube/resources.ts';
import { ClusterUnknownError } from '../storage/errors.ts';
import type { ClusterIdentity } from '../storage/mysql/pool.ts';
import { controlRef, databaseMemory, rememberedDatabase } from '../sync/flows/control-state.ts';

interface IdentityOptions {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly configuration: Pick<Configuration, 'kubernetes'>;
  readonly clock: Clock;
}

/** How long a change of the memory by an operator may go unnoticed. */
const READ_AGAIN_MS = 5000;

export class ClusterMemory {
  readonly #client: IdentityOptions['client'];
  readonly #control: ObjectRef;
  readonly #clock: Clock;
  #known: ClusterIdentity | undefined;
  #readMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<ClusterIdentity> | undefined;

  constructor({ client, configuration, clock }: IdentityOptions) {
    this.#client = client;
    this.#control = controlRef(configuration.kubernetes.namespace);
    this.#clock = clock;
  }

  /**
   * Asks for the uid until there is an answer, and then no more; for the database now and then. Where that fails later, what
   * was known goes on: writes do not end with the API server. Throws STORAGE_CLUSTER_UNKNOWN.
   */
  readonly identity = (): Promise<ClusterIdentity> => {
    if (this.#known !== undefined && this.#clock.monotonicMs() - this.#readMs < READ_AGAIN_MS)
      return Promise.resolve(this.#known);
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  };

  async #read(): Promise<ClusterIdentity> {
    try {
      const uid = this.#known?.uid ?? (await this.#readUid());
      this.#known = { uid, database: await this.#readDatabase() };
    } catch (error) {
      if (this.#known === undefined) throw new ClusterUnknownError(messageOf(error), error);
    }
    this.#readMs = this.#clock.monotonicMs();
    return this.#known;
  }

  async #readUid(): Promise<string> {
    const { metadata } = await this.#client.get({ resource: namespaces, namespace: '', name: 'kube-system' });
    return metadata.uid;
  }

  /** An installation without the ConfigMap, or without the right to read it, remembers no database. */
  async #readDatabase(): Promise<string | undefined> {
    try {
      return rememberedDatabase(dataOf(await this.#client.get(this.#control)));
    } catch (error) {
      if (isKubeError(error, 'NotFound') || isKubeError(error, 'Forbidden')) return undefined;
      throw error;
    }
  }

  /** Remembers the database that the cluster has, unless it remembers one. */
  async note(since: string): Promise<void> {
    const read = await this.#client.get(this.#control);
    if (rememberedDatabase(dataOf(read)) !== undefined) return;
    await this.remember(since, read.metadata.resourceVersion);
  }

  /** Undefined: it remembers none any more. Where a version is given, the ConfigMap must still have it. */
  async remember(since: string | undefined, resourceVersion?: string): Promise<void> {
    const unchanged = resourceVersion === undefined ? {} : { metadata: { resourceVersion } };
    await this.#client.mergePatch(this.#control, { ...unchanged, data: databaseMemory(since) });
    if (this.#known !== undefined) this.#known = { ...this.#known, database: since };
  }
}
