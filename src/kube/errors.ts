import { CodedError } from '../base/errors.ts';

/**
 * Why the API server refused or did not answer.
 * - `NotFound`: the object, or for a list the whole resource, does not exist
 * - `Conflict`: the object is not in the state the call required
 * - `Expired`: the resourceVersion is too old to watch or continue from; list again
 * - `TooManyRequests`: wait and repeat the same call
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
  | 'Unavailable';

export class KubeError extends CodedError {
  readonly reason: KubeReason;
  readonly retryAfterMs: number | undefined;

  constructor(reason: KubeReason, message: string, details: { cause?: unknown; retryAfterMs?: number } = {}) {
    super(`KUBE_${reason.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase()}`, message, {
      retry: reason === 'Invalid' ? 'no' : 'yes',
      cause: details.cause,
    });
    this.reason = reason;
    this.retryAfterMs = details.retryAfterMs;
  }
}

export function isKubeError(error: unknown, reason: KubeReason): boolean {
  return error instanceof KubeError && error.reason === reason;
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

/** Reason of an HTTP status; undefined for success. A failed JSON patch test is answered with 422. */
export function reasonOfStatus(status: number, isPatch: boolean): KubeReason | undefined {
  if (status < 300) return undefined;
  if (isPatch && status === 422) return 'Conflict';
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
