import type { ObjectCensus, ServedResource } from '../../webhooks/ports.ts';
import type { KindDefinition } from '../api/kind.ts';
import { GROUP } from '../api/names.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient } from '../kube/client.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import { ANSWER_MS, within } from './within.ts';

export interface CensusOptions {
  /** Those that have tables. */
  readonly kinds: readonly KindDefinition[];
  /** Connects when it is asked first. */
  readonly client: () => Promise<Pick<KubeClient, 'list'>>;
  /** Undefined where the webhook was not told of a database: nobody knows then what is archived. */
  readonly storage: (() => Promise<Pick<MetadataStorage, 'list'>>) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Looks for one object in the cluster, then for one row that is not deleted. Only changes of CRDs make it look. */
export class ClusterCensus implements ObjectCensus {
  readonly #options: CensusOptions;

  constructor(options: CensusOptions) {
    this.#options = options;
  }

  async hasObjects(resource: ServedResource, signal: AbortSignal): Promise<'some' | 'none' | 'unknown'> {
    const { clock, logger } = this.#options;
    try {
      return await within({ clock, timeoutMs: ANSWER_MS, signal }, 'unknown', (stop) => this.#look(resource, stop));
    } catch (error) {
      logger.warn(
        { plural: resource.plural, err: error },
        'Cannot find out whether a kind has objects; its CRD is guarded as if it had',
      );
      return 'unknown';
    }
  }

  async #look({ group, plural, version }: ServedResource, signal: AbortSignal): Promise<'some' | 'none' | 'unknown'> {
    const client = await this.#options.client();
    const page = await client.list({ group, version, plural }, { limit: 1, metadataOnly: true }, signal);
    if (page.items.length > 0) return 'some';
    const kind = group === GROUP ? this.#options.kinds.find((each) => each.plural === plural) : undefined;
    // Objects of other kinds are not copied, so nothing of them is archived.
    return kind === undefined ? 'none' : this.#archived(kind);
  }

  async #archived(kind: KindDefinition): Promise<'some' | 'none' | 'unknown'> {
    const storage = await this.#options.storage?.();
    if (storage === undefined) return 'unknown';
    return (await storage.list(kind, { limit: 1 })).items.length > 0 ? 'some' : 'none';
  }
}
