import type { LogFields, Logger } from './logger.ts';

/** A failure that lasts is said once at level `warn`, and then at level `debug` until the work has succeeded again. */
export class Complaint {
  readonly #logger: Logger;
  readonly #message: string;
  #isSaid = false;

  constructor(logger: Logger, message: string) {
    this.#logger = logger;
    this.#message = message;
  }

  /** The work has failed. */
  say(error: unknown, fields: LogFields = {}): void {
    this.#logger[this.#isSaid ? 'debug' : 'warn']({ ...fields, err: error }, this.#message);
    this.#isSaid = true;
  }

  /** The work has succeeded. */
  over(): void {
    this.#isSaid = false;
  }
}
