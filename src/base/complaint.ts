import { messageOf } from './errors.ts';
import type { LogFields, Logger } from './logger.ts';

/**
 * A failure that lasts is said once at level `warn`, and then at level `debug` until the work has succeeded again, which is
 * said once too.
 */
export class Complaint {
  readonly #logger: Logger;
  readonly #message: string;
  #reason: string | undefined;

  constructor(logger: Logger, message: string) {
    this.#logger = logger;
    this.#message = message;
  }

  /** The work has failed. */
  say(error: unknown, fields: LogFields = {}): void {
    this.#logger[this.#reason === undefined ? 'warn' : 'debug']({ ...fields, err: error }, this.#message);
    this.#reason = messageOf(error);
  }

  /** The work has succeeded. */
  over(): void {
    if (this.#reason !== undefined) this.#logger.info({ after: this.#reason }, `Over: ${this.#message}`);
    this.#reason = undefined;
  }
}
