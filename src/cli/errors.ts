import { CodedError } from '../base/errors.ts';

/** An argument of a command makes no sense. */
export class ArgumentError extends CodedError {
  constructor(what: string) {
    super('ARGUMENT_INVALID', `${what}.`);
  }
}
