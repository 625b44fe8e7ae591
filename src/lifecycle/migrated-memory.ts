// The version that a database was migrated to, written down outside the resource: whoever deletes the resource and
// creates it again must not get below it by accident.
import { type IngesterName, MEMORY_CONFIG_MAP, migratedEntry } from '../api/admission-memory.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient } from '../kube/client.ts';

export interface MigratedMemoryOptions {
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly logger: Logger;
}

export class MigratedMemory {
  readonly #options: MigratedMemoryOptions;
  readonly #written = new Map<string, string>();
  #complained = false;

  constructor(options: MigratedMemoryOptions) {
    this.#options = options;
  }

  /** Into the namespace of the resource. Never throws: a pass goes on without it, and the next one tries again. */
  async remember(ingester: IngesterName, version: string | undefined): Promise<void> {
    const { client, logger } = this.#options;
    const key = `${ingester.namespace}/${ingester.name}`;
    if (version === undefined || this.#written.get(key) === version) return;
    const resource = { group: '', version: 'v1', plural: 'configmaps' };
    const ref = { resource, namespace: ingester.namespace, name: MEMORY_CONFIG_MAP };
    try {
      await client.mergePatch(ref, { data: migratedEntry(ingester, version) });
      this.#written.set(key, version);
      this.#complained = false;
    } catch (error) {
      logger[this.#complained ? 'debug' : 'warn'](
        { err: error, ingester: key, version },
        'Could not write down the migrated version; a resource that is created again is not compared with it',
      );
      this.#complained = true;
    }
  }
}
