// Tells the removal of a whole CustomResourceDefinition from the deletion of its objects: then the API server deletes
// every object, although no user deleted one.
import { Complaint } from '../../base/complaint.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { definitions } from '../../kube/resources.ts';

export interface DefinitionCheckOptions {
  readonly client: Pick<KubeClient, 'list'>;
  /** Such as `models.michelangelo.api`. */
  readonly definition: string;
  readonly logger: Logger;
}

export class DefinitionCheck {
  readonly #options: DefinitionCheckOptions;
  #asking: Promise<boolean> | undefined;
  #askingNext: Promise<boolean> | undefined;
  readonly #complaint: Complaint;

  constructor(options: DefinitionCheckOptions) {
    this.#options = options;
    const message = 'Removal of definitions goes unnoticed; apply the RBAC of the bundle';
    this.#complaint = new Complaint(options.logger, message);
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
    const { client, definition } = this.#options;
    try {
      const options = { fieldSelector: `metadata.name=${definition}`, metadataOnly: true, limit: 1 };
      const { items } = await client.list(definitions, options, new AbortController().signal);
      const [found] = items;
      this.#complaint.over();
      return found === undefined || found.marks().deletionTimestamp !== undefined;
    } catch (error) {
      // Without the right to look, deletions must not come to a halt.
      if (!isKubeError(error, 'Forbidden')) throw error;
      this.#complaint.say(error);
      return false;
    }
  }
}
