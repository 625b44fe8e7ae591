/** Whether running the same operation again can succeed without a change from outside. */
export type Retry = 'yes' | 'no';

export interface ErrorDetails {
  readonly retry?: Retry;
  readonly cause?: unknown;
}

/**
 * Base of every error of this program. `code` is stable and documented in docs/errors.md; the message says what is
 * wrong and, where the user has to act, what to do next. Never put a secret or a whole object into a message.
 */
export class CodedError extends Error {
  readonly code: string;
  readonly retry: Retry;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.retry = details.retry ?? 'no';
  }
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * What users of the cluster are told of what keeps the reconciler from its work. What is wrong with servers, and where they
 * are, is for their operator: `ingester status` and the log have it.
 */
export function messageForUsers(code: string, message: string): string {
  if (code.startsWith('STORAGE_')) return 'The reconciler cannot use MySQL now. Work waits and is retried.';
  if (code === 'KUBE_UNAVAILABLE') return 'The API server does not answer the reconciler. Work waits and is retried.';
  return code === 'INTERNAL' ? 'The reconciler failed; its log says why.' : message;
}

/** One thing that is wrong in a document that a user wrote, with its place. */
export interface FieldError {
  /** Dotted path from the root of the document, e.g. `ingester.requeuePeriod`. */
  readonly path: string;
  readonly message: string;
}

export function formatFieldErrors(errors: readonly FieldError[]): string {
  return errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('\n');
}
