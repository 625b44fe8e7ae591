import { CodedError } from '../../base/errors.ts';
import { KubeError, type KubeReason } from '../../kube/errors.ts';

/** No object ever had the name. */
export class NothingStoredUnderNameError extends CodedError {
  constructor(what: string) {
    super('NAME_UNKNOWN', `Nothing is stored under the name ${what}, and nothing ever was.`);
  }
}

/** The user named no namespace, and that of the context has no such object. */
export class NotInNamespaceError extends CodedError {
  constructor(said: string, namespace: string) {
    super('OBJECT_NOT_FOUND', `${said} in the namespace ${namespace}, that of your context; -n names another one.`);
  }
}

/** The object is still there after the time that the user was ready to wait. */
export class StillThereError extends CodedError {
  constructor(what: string, seconds: number) {
    super(
      'STILL_THERE',
      `${what} is marked for deletion, and still there after ${seconds} s. "kubectl ingester stuck" says why.`,
      { retry: 'yes' },
    );
  }
}

/** Of those that a selector found. What became of each was printed. */
export class NotAllRestoredError extends CodedError {
  constructor(refused: number, all: number) {
    super('NOT_ALL_RESTORED', `${refused} of ${all} objects cannot be restored; each line above says why.`);
  }
}

/** The reconciler does not tell what is stuck; what was printed is what it told before. */
export class ReportOldError extends CodedError {
  constructor(at: string, seconds: number) {
    super(
      'REPORT_OLD',
      `What is stuck now is not known: the reconciler has told nothing since ${at}, ${seconds} s ago. ` +
        '"kubectl ingester status" says which part does not work.',
      { retry: 'yes' },
    );
  }
}

const codes: Readonly<Record<string, number>> = {
  CONFIGURATION_INVALID: 2,
  ARGUMENT_INVALID: 2,
  SCHEMA_NEWER: 3,
  NAME_UNKNOWN: 4,
  OBJECT_NOT_FOUND: 4,
  INGESTER_MISSING: 4,
  QUERY_API_MISSING: 6,
  QUERY_API_DOWN: 6,
  PART_FAILS: 6,
  REPORT_OLD: 6,
};

const reasons: Readonly<Partial<Record<KubeReason, number>>> = {
  NotFound: 4,
  Forbidden: 5,
  Unauthorized: 5,
  Unavailable: 6,
  TooManyRequests: 6,
};

export const EXIT_CODES_HELP: string =
  'Exit codes: 0 success, 1 failure, 2 the command line or the configuration is wrong, 4 there is no such object, ' +
  '5 you may not do that, 6 the cluster or the store does not answer.';

export function pluginExitCode(error: unknown): number {
  if (error instanceof KubeError) return reasons[error.reason] ?? 1;
  return error instanceof CodedError ? (codes[error.code] ?? 1) : 1;
}
