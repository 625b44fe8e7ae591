// Every failure of the query API is a Kubernetes Status, so that kubectl and client libraries show it as their own.
import { CodedError, messageOf } from '../base/errors.ts';
import type { JsonObject } from '../base/json.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import {
  ContinueInvalidError,
  QueryParametersInvalidError,
  QueryTemplateUnknownError,
  QueryUnsupportedError,
  SelectorInvalidError,
  StorageAccessDeniedError,
  StorageDatabaseMissingError,
  StorageFailureError,
  StoragePermissionError,
  StorageSchemaMissingError,
  StorageUnavailableError,
} from '../storage/errors.ts';

/** HTTP status of each reason that this API answers with. Source: the StatusReason list of apimachinery. */
const statusOf = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;

export type QueryReason = keyof typeof statusOf;

export interface QueryErrorDetails {
  readonly retryAfterSeconds?: number;
  readonly plural?: string;
  readonly name?: string;
  readonly cause?: unknown;
}

export class QueryError extends CodedError {
  readonly reason: QueryReason;
  readonly details: QueryErrorDetails;

  constructor(reason: QueryReason, message: string, details: QueryErrorDetails = {}) {
    super('QUERY_REFUSED', message, {
      retry: details.retryAfterSeconds === undefined ? 'no' : 'yes',
      cause: details.cause,
    });
    this.reason = reason;
    this.details = details;
  }

  get status(): number {
    return statusOf[this.reason];
  }
}

/** Seconds between two tries. kubectl makes ten before it shows the error, so a longer time would hide it. */
const RETRY_SECONDS = 1;

const callersFaults = [
  QueryUnsupportedError,
  ContinueInvalidError,
  SelectorInvalidError,
  QueryTemplateUnknownError,
  QueryParametersInvalidError,
];

/** The answer for anything that was thrown. The inner text of an unknown error stays in the log. */
export function queryErrorOf(error: unknown): QueryError {
  if (error instanceof QueryError) return error;
  if (callersFaults.some((fault) => error instanceof fault)) {
    return new QueryError('BadRequest', messageOf(error), { cause: error });
  }
  if (isKubeError(error, 'TooManyRequests') || isKubeError(error, 'Unavailable')) return unavailable(error);
  if (error instanceof KubeError) {
    return new QueryError('InternalError', 'the API server refused a call of the query API; see its log', {
      cause: error,
    });
  }
  if (error instanceof CodedError && error.retry === 'yes') return unavailable(error);
  return new QueryError('InternalError', 'the query API failed; see its log', { cause: error });
}

/** They name the server, its users and databases. */
const serverErrors = [
  StorageUnavailableError,
  StorageAccessDeniedError,
  StorageDatabaseMissingError,
  StoragePermissionError,
  StorageSchemaMissingError,
  StorageFailureError,
];

/** Where the servers behind this one are is for its operator, in the log. */
function unavailable(error: unknown): QueryError {
  const isAway = serverErrors.some((fault) => error instanceof fault);
  const away = isAway ? 'MySQL is not available; repeat the call' : undefined;
  const silent = isKubeError(error, 'Unavailable') ? 'the API server does not answer; repeat the call' : undefined;
  const message = away ?? silent ?? messageOf(error);
  return new QueryError('ServiceUnavailable', message, { retryAfterSeconds: RETRY_SECONDS, cause: error });
}

/** The `Status` object of a failure. */
export function statusObject({ reason, status, message, details }: QueryError, group: string): JsonObject {
  const { plural, name, retryAfterSeconds } = details;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    details: {
      ...(name === undefined ? {} : { name }),
      ...(plural === undefined ? {} : { group, kind: plural }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
    code: status,
  };
}
