import { CodedError } from '../base/errors.ts';

/**
 * Why the API server refused or did not answer.
 * - `NotFound`: the object, or for a list the whole resource, does not exist
 * - `Conflict`: the object is not in the state the call required
 * - `Expired`: the resourceVersion is too old to watch or continue from; list again
 * - `TooManyRequests`: wait and repeat the same call
 * - `Refused`: the object is as the call required, and the write was refused all the same: by a policy, a webhook, a quota
 * - `Unavailable`: no answer, a broken stream or a 5xx
 */
export type KubeReason =
  | 'NotFound'
  | 'Conflict'
  | 'Expired'
  | 'Forbidden'
  | 'Unauthorized'
  | 'TooManyRequests'
  | 'Invalid'
  | 'Refused'
  | 'Unavailable';

interface KubeErrorDetails {
  readonly cause?: unknown;
  readonly retryAfterMs?: number;
  readonly continueToken?: string | undefined;
  readonly status?: number;
  readonly said?: string;
}

export class KubeError extends CodedError {
  readonly reason: KubeReason;
  readonly retryAfterMs: number | undefined;
  /** HTTP status of the answer; undefined where no answer came. */
  readonly status: number | undefined;
  /** With `Expired` of a page: goes on behind the page before, with what is there now. */
  readonly continueToken: string | undefined;
  /** The message of the answer's Status, without the call; undefined where no answer came. */
  readonly said: string | undefined;

  constructor(reason: KubeReason, message: string, details: KubeErrorDetails = {}) {
    super(`KUBE_${reason.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()}`, message, {
      retry: reason === 'Invalid' ? 'no' : 'yes',
      cause: details.cause,
    });
    this.reason = reason;
    this.retryAfterMs = details.retryAfterMs;
    this.status = details.status;
    this.continueToken = details.continueToken;
    this.said = details.said;
  }
}

export function isKubeError(error: unknown, reason: KubeReason): boolean {
  return error instanceof KubeError && error.reason === reason;
}

/** Of a create in a namespace that is being deleted, or is not there. The API server says so in words only. */
export function isNamespaceGone(error: unknown): boolean {
  if (isNamespaceTerminating(error)) return true;
  return (
    isKubeError(error, 'NotFound') && error instanceof Error && /\bnamespaces "[^"]*" not found/.test(error.message)
  );
}

export function isNamespaceTerminating(error: unknown): boolean {
  return isKubeError(error, 'Forbidden') && error instanceof Error && error.message.includes(TERMINATING);
}

const TERMINATING = 'because it is being terminated';

/** A page has more bytes than the caller can take: ask for fewer objects. */
export class PageTooLargeError extends CodedError {
  constructor(mostBytes: number) {
    super('PAGE_TOO_LARGE', `The API server's answer has more than ${mostBytes} bytes; ask for fewer objects at once`);
  }
}

/** No usable kubeconfig and not in a pod. */
export class KubeconfigError extends CodedError {
  constructor(what: string) {
    super(
      'KUBECONFIG_INVALID',
      `No connection to Kubernetes: ${what}. Set kubernetes.kubeconfig or KUBECONFIG, or run in a pod with a service account.`,
    );
  }
}

/** Reason of an HTTP status; undefined for success. */
export function reasonOfStatus(status: number): KubeReason | undefined {
  if (status < 300) return undefined;
  switch (status) {
    case 401:
      return 'Unauthorized';
    case 403:
      return 'Forbidden';
    case 404:
      return 'NotFound';
    case 409:
      return 'Conflict';
    case 410:
      return 'Expired';
    case 429:
      return 'TooManyRequests';
    default:
      return status >= 500 || status === 408 ? 'Unavailable' : 'Invalid';
  }
}
