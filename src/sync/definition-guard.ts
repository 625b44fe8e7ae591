// Tells the removal of a whole CustomResourceDefinition from the deletion of its objects: then the API server deletes
// every object, without anybody having asked for any of them to be forgotten.
import type { Logger } from '../base/logger.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';

const DEFINITIONS: Resource = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };

export interface DefinitionGuardOptions {
  readonly client: Pick<KubeClient, 'list'>;
  /** Such as `models.michelangelo.api`. */
  readonly definition: string;
  readonly logger: Logger;
}

export class DefinitionGuard {
  readonly #options: DefinitionGuardOptions;
  #asking: Promise<boolean> | undefined;
  #askingNext: Promise<boolean> | undefined;
  #warned = false;

  constructor(options: DefinitionGuardOptions) {
    this.#options = options;
  }

  /**
   * Whether the definition is being removed. The question is asked after the call, because an older answer says nothing
   * about an object that was deleted since; all who wait share the next one.
   */
  isBeingRemoved(): Promise<boolean> {
    if (this.#asking === undefined) return this.#start();
    this.#askingNext ??= this.#asking.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#askingNext;
  }

  #start(): Promise<boolean> {
    this.#askingNext = undefined;
    const asking = this.#ask().finally(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    this.#asking = asking;
    return asking;
  }

  async #ask(): Promise<boolean> {
    const { client, definition, logger } = this.#options;
    try {
      const options = { fieldSelector: `metadata.name=${definition}`, metadataOnly: true, limit: 1 };
      const { items } = await client.list(DEFINITIONS, options, new AbortController().signal);
      const [found] = items;
      return found === undefined || found.metadata.deletionTimestamp !== undefined;
    } catch (error) {
      // Without the right to look, deletions must not come to a halt.
      if (!isKubeError(error, 'Forbidden')) throw error;
      if (!this.#warned)
        logger.warn({ err: error }, 'Removal of definitions goes unnoticed; apply the RBAC of the bundle');
      this.#warned = true;
      return false;
    }
  }
}
