import { CodedError } from '../base/errors.ts';

/** A step that is not in the table: a mistake of this program. */
export class UnknownStepError extends CodedError {
  constructor(name: string) {
    super('LIFECYCLE_STEP_UNKNOWN', `There is no step ${name}.`);
  }
}
