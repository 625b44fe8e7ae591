// The AdmissionReview v1 codec: bytes in, a checked request or a refusal with its HTTP status out.

import { CodedError } from '../src/base/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../src/base/json.ts';

/** A request that is not a valid review. The API server counts it as a failed call, so failurePolicy decides. */
export class ReviewError extends CodedError {
  readonly status: 400 | 413 | 415;

  constructor(status: 400 | 413 | 415, message: string) {
    super('REVIEW_INVALID', message);
    this.status = status;
  }
}

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: Operation;
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
  readonly username: string;
  readonly dryRun: boolean;
  readonly object: JsonObject | undefined;
  readonly oldObject: JsonObject | undefined;
}

export interface PatchOperation {
  readonly op: 'add';
  readonly path: string;
  readonly value: JsonValue;
}

/** A policy's answer. An empty patch changes nothing. */
export interface Allowed {
  readonly patch: readonly PatchOperation[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

const API_VERSION = 'admission.k8s.io/v1';
const operations: readonly string[] = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'];

export function decodeReview(body: Buffer): AdmissionRequest {
  const review = parseJson(body);
  if (!isJsonObject(review) || review['apiVersion'] !== API_VERSION || review['kind'] !== 'AdmissionReview') {
    throw new ReviewError(400, `expected an AdmissionReview of ${API_VERSION}`);
  }
  const { request } = review;
  if (!isJsonObject(request)) throw new ReviewError(400, 'the review has no request');
  const { uid, operation } = request;
  if (typeof uid !== 'string' || uid === '') throw new ReviewError(400, 'request.uid is missing');
  if (typeof operation !== 'string' || !operations.includes(operation)) {
    throw new ReviewError(400, `request.operation is not one of ${operations.join(', ')}`);
  }
  return {
    uid,
    operation: operation as Operation,
    plural: textOf(objectOf(request['resource'])?.['resource']),
    namespace: textOf(request['namespace']),
    name: textOf(request['name']),
    username: textOf(objectOf(request['userInfo'])?.['username']),
    dryRun: request['dryRun'] === true,
    object: objectOf(request['object']),
    oldObject: objectOf(request['oldObject']),
  };
}

/** The answer to the API server. `patch` and `patchType` are both present or both absent, as the protocol demands. */
export function encodeAllowed(uid: string, allowed: Allowed): JsonObject {
  const patch =
    allowed.patch.length === 0
      ? {}
      : { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(allowed.patch)).toString('base64') };
  return {
    apiVersion: API_VERSION,
    kind: 'AdmissionReview',
    response: { uid, allowed: true, ...patch, auditAnnotations: { ...allowed.auditAnnotations } },
  };
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    // The parser's message quotes the body, which may hold secrets.
    throw new ReviewError(400, 'the body is not JSON');
  }
}

function objectOf(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
