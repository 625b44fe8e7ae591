// Tells the removal of a whole CustomResourceDefinition from the deletion of its objects: then the API server deletes
// every object, although no user deleted one.
import { Complaint } from '../../base/complaint.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { definitions } from '../../kube/resources.ts';
import { arrivals } from '../../kube/watched-object.ts';

export interface DefinitionCheckOptions {
  readonly client: Pick<KubeClient, 'list'>;
  /** Such as `models.michelangelo.api`. */
  readonly definition: string;
  readonly logger: Logger;
}

export class DefinitionCheck {
  readonly #options: DefinitionCheckOptions;
  #asking: { readonly answer: Promise<boolean>; readonly covers: number } | undefined;
  #askingNext: Promise<boolean> | undefined;
  /** Objects up to this one were received before the definition was last seen to stay. */
  #stays = 0;
  readonly #complaint: Complaint;

  constructor(options: DefinitionCheckOptions) {
    this.#options = options;
    const message = 'Removal of definitions goes unnoticed; apply the RBAC of the bundle';
    this.#complaint = new Complaint(options.logger, message);
  }

  /**
   * Whether the definition was being removed when the object that arrived so was deleted. A definition that is seen to stay
   * says so of every object that had arrived, as deleted, before the question was asked, and nothing of a later one: those
   * share the next answer.
   */
  async isBeingRemoved(arrival: number): Promise<boolean> {
    if (arrival <= this.#stays) return false;
    if (this.#asking === undefined) return this.#start();
    if (arrival <= this.#asking.covers) return this.#asking.answer;
    const { answer } = this.#asking;
    this.#askingNext ??= answer.then(
      () => this.#start(),
      () => this.#start(),
    );
    return this.#askingNext;
  }

  #start(): Promise<boolean> {
    this.#askingNext = undefined;
    const covers = arrivals();
    const answer = this.#ask().finally(() => {
      if (this.#asking?.answer === answer) this.#asking = undefined;
    });
    this.#asking = { answer, covers };
    return answer.then((isRemoved) => {
      if (!isRemoved) this.#stays = Math.max(this.#stays, covers);
      return isRemoved;
    });
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
