// A server that ends for all cells at once: each cell comes to its step, and the last one to arrive ends the server.
import type { Disturbance } from './run.ts';
import type { Outage, ServerStages } from './server-stage.ts';

export class SharedOutage {
  readonly #stages: ServerStages;
  readonly #outage: Outage;
  readonly #struck = Promise.withResolvers<undefined>();
  #expected: number;
  /** Whether a cell waits for it. */
  #awaited = false;

  /** `expected`: how many cells there are; each must come to its step or leave. */
  constructor(stages: ServerStages, outage: Outage, expected: number) {
    this.#stages = stages;
    this.#outage = outage;
    this.#expected = expected;
  }

  /** What happens to one cell, and how it says that it is over, whether or not it has come to its step. */
  cell(name: string): { readonly disturbance: Disturbance; readonly leave: () => void } {
    let expected = true;
    const leave = (): void => {
      if (expected) this.#noLongerExpected();
      expected = false;
    };
    const at = async (): Promise<undefined> => {
      this.#awaited = true;
      leave();
      return this.#struck.promise;
    };
    return { disturbance: { name, interferes: false, at }, leave };
  }

  #noLongerExpected(): void {
    this.#expected -= 1;
    if (this.#expected > 0 || !this.#awaited) return;
    this.#stages.strike(this.#outage).then(() => this.#struck.resolve(undefined), this.#struck.reject);
  }
}
