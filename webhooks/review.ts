// The AdmissionReview v1 codec: bytes in, a checked request or a refusal with its HTTP status out.

import { CodedError } from '../src/base/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../src/base/json.ts';

/** A request that is not a valid review. The API server counts it as a failed call, so failurePolicy decides. */
export class ReviewError extends CodedError {
  readonly status: 400 | 401 | 411 | 413 | 415;

  constructor(status: 400 | 401 | 411 | 413 | 415, message: string) {
    super('REVIEW_INVALID', message);
    this.status = status;
  }
}

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: Operation;
  /** Group and version of the resource, as the rule that matched names it. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** What the object in this review is. */
  readonly kind: GroupVersionKind;
  /** What the client sent; differs from `kind` where the API server has converted it. */
  readonly requestKind: GroupVersionKind;
  readonly namespace: string;
  readonly name: string;
  readonly username: string;
  readonly userUid: string;
  readonly groups: readonly string[];
  /** Whatever else the authenticator knows of the user. */
  readonly userExtra: Readonly<Record<string, readonly string[]>>;
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
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

export const API_VERSION = 'admission.k8s.io/v1';
/** The API server cuts longer warnings once there are many. */
const MAX_WARNING = 256;
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
    ...resourceOf(request),
    ...userOf(objectOf(request['userInfo'])),
    namespace: textOf(request['namespace']),
    name: textOf(request['name']),
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
    response: {
      uid,
      allowed: true,
      ...patch,
      ...warningsOf(allowed),
      auditAnnotations: { ...allowed.auditAnnotations },
    },
  };
}

function resourceOf(
  request: JsonObject,
): Pick<AdmissionRequest, 'group' | 'version' | 'plural' | 'subresource' | 'kind' | 'requestKind'> {
  const resource = objectOf(request['resource']);
  const kind = groupVersionKind(request['kind']);
  return {
    group: textOf(resource?.['group']),
    version: textOf(resource?.['version']),
    plural: textOf(resource?.['resource']),
    subresource: textOf(request['subResource']),
    kind,
    requestKind: objectOf(request['requestKind']) === undefined ? kind : groupVersionKind(request['requestKind']),
  };
}

function userOf(user: JsonObject | undefined): Pick<AdmissionRequest, 'username' | 'userUid' | 'groups' | 'userExtra'> {
  return {
    username: textOf(user?.['username']),
    userUid: textOf(user?.['uid']),
    groups: textsOf(user?.['groups']),
    userExtra: extraOf(user?.['extra']),
  };
}

/** As the protocol wants them: one line each, and no more than the API server passes on whole. */
export function warningsOf({ warnings }: { readonly warnings: readonly string[] }): { readonly warnings?: string[] } {
  return warnings.length === 0 ? {} : { warnings: warnings.map((warning) => oneLine(warning, MAX_WARNING)) };
}

/** Printable ASCII, which survives every header, terminal and log on its way, cut at this many characters. */
export function oneLine(text: string, maximum: number): string {
  const blank = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, ' ');
  const line = blank.replace(/[^ -~]/gu, '?').trim();
  return line.length <= maximum ? line : `${line.slice(0, maximum - 3)}...`;
}

function groupVersionKind(value: unknown): GroupVersionKind {
  const found = objectOf(value);
  return { group: textOf(found?.['group']), version: textOf(found?.['version']), kind: textOf(found?.['kind']) };
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

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function extraOf(value: unknown): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(Object.entries(objectOf(value) ?? {}).map(([key, items]) => [key, textsOf(items)]));
}
