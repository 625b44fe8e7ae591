// The version that a database was migrated to, written down outside the resource: whoever deletes the resource and
// creates it again must not get below it by accident.
import {
  type IngesterName,
  MEMORY_CONFIG_MAP,
  type MemoryData,
  migratedEntry,
  recallMigrated,
  repositoryEntry,
} from '../api/admission-memory.ts';
import { isJsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, ObjectRef } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';

export interface MigratedMemoryOptions {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly logger: Logger;
}

export class MigratedMemory {
  readonly #options: MigratedMemoryOptions;
  readonly #written = new Map<string, string>();
  #complained = false;

  constructor(options: MigratedMemoryOptions) {
    this.#options = options;
  }

  /** What was written down for a resource of this name; what cannot be read ends the pass. */
  async recall(ingester: IngesterName): Promise<string | undefined> {
    try {
      const { data } = await this.#options.client.get(refOf(ingester));
      const recalled = recallMigrated(isJsonObject(data) ? (data as MemoryData) : {}, ingester);
      return recalled.state === 'known' ? recalled.value : undefined;
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** Into the namespace of the resource. Never throws: a pass goes on without it, and the next one tries again. */
  async remember(ingester: IngesterName, version: string | undefined): Promise<void> {
    if (version !== undefined) await this.#write(ingester.namespace, migratedEntry(ingester, version));
  }

  /** By what admission judges an image. Never throws; without it the controller judges alone. */
  async rememberRepository(namespace: string, repository: string | undefined): Promise<void> {
    if (repository !== undefined) await this.#write(namespace, repositoryEntry(repository));
  }

  async #write(namespace: string, entry: MemoryData): Promise<void> {
    const { client, logger } = this.#options;
    const [[key, value] = ['', '']] = Object.entries(entry);
    if (this.#written.get(`${namespace} ${key}`) === value) return;
    try {
      await client.mergePatch(refOf({ namespace }), { data: entry });
      this.#written.set(`${namespace} ${key}`, value);
      this.#complained = false;
    } catch (error) {
      logger[this.#complained ? 'debug' : 'warn'](
        { err: error, namespace, key, value },
        'Could not write down for admission what is there; a resource that is created again is not compared with it',
      );
      this.#complained = true;
    }
  }
}

function refOf({ namespace }: Pick<IngesterName, 'namespace'>): ObjectRef {
  return { resource: { group: '', version: 'v1', plural: 'configmaps' }, namespace, name: MEMORY_CONFIG_MAP };
}
