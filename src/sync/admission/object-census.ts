import type { KindDefinition } from '../../api/kind.ts';
import { GROUP } from '../../api/names.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';
import { ask } from './ask.ts';

export interface CensusOptions {
  /** Those that have tables. */
  readonly kinds: readonly KindDefinition[];
  /** Connects when it is asked first. */
  readonly client: () => Promise<Pick<KubeClient, 'list'>>;
  /** Undefined where the webhook has no database configured: what is archived is unknown then. */
  readonly storage: (() => Promise<Pick<MetadataStorage, 'list'>>) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Looks for one object in the cluster, then for one row that is not deleted. Only changes of CRDs make it look. */
export class ClusterCensus {
  readonly #options: CensusOptions;

  constructor(options: CensusOptions) {
    this.#options = options;
  }

  hasObjects(resource: Resource, signal: AbortSignal): Promise<'some' | 'none' | 'unknown'> {
    const failure = 'Cannot find out whether a kind has objects; its CRD is protected as if it had';
    const about = { plural: resource.plural };
    return ask({ ...this.#options, signal, failure, about }, 'unknown', (stop) => this.#look(resource, stop));
  }

  async #look({ group, plural, version }: Resource, signal: AbortSignal): Promise<'some' | 'none' | 'unknown'> {
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
