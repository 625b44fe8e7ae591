import { CodedError } from '../base/errors.ts';

/** A newer attempt took over. What this one wrote before stands, and it writes nothing more. */
export class TaskSupersededError extends CodedError {
  constructor(task: string, attempt: string, current: string) {
    super(
      'TASK_SUPERSEDED',
      `Attempt ${attempt} at ${task} is out of date: ${current} took its place. Nothing more is written; end this attempt ` +
        'and look at the newer one.',
    );
  }
}

export class TaskLockedError extends CodedError {
  constructor(holder: string) {
    super(
      'TASK_LOCKED',
      `Another task is working on this database${holder}. Wait for it, then run the command again.`,
      { retry: 'yes' },
    );
  }
}

/** The caller asked the task to stop. */
export class TaskStoppedError extends CodedError {
  constructor(task: string) {
    super('TASK_STOPPED', `The task ${task} was asked to stop before it was done. Run it again: that is safe.`, {
      retry: 'yes',
    });
  }
}
