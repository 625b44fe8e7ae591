// A span for each call of the API server. Its parent is the span of the API server where that names one, which it does where
// its own tracing is on.
import type { RequestHandler } from 'express';
import { isJsonObject, type JsonObject, valueAt } from '../src/base/json.ts';
import { activeSpan, callersSpan, type SpanAttributes, type Tracer, withSpan } from '../src/base/tracing.ts';
import type { AdmissionRequest } from './review.ts';

type Reviewer = (review: AdmissionRequest, timeoutMs: number) => Promise<JsonObject>;

/** From the head of a request until its answer is sent, or its client is gone: `statusOf` says which. */
export function traced(tracer: Tracer, path: string, statusOf: (response: Answered) => number): RequestHandler {
  return (request, response, next) => {
    const parent = callersSpan(request.headers['traceparent']);
    const span = tracer.start(`POST ${path}`, { kind: 'server', parent });
    if (span === undefined) {
      next();
      return;
    }
    span.set({ 'http.request.method': 'POST', 'http.route': path });
    response.once('close', () => {
      const status = statusOf(response);
      span.set({ 'http.response.status_code': status });
      span.end(status >= 499 ? String(status) : undefined);
    });
    withSpan(span, next);
  };
}

export interface Answered {
  readonly writableFinished: boolean;
  readonly statusCode: number;
}

/** Says of the span what was reviewed, and what came of it. */
export function tracedReview(reviewer: Reviewer): Reviewer {
  return async (review, timeoutMs) => {
    const span = activeSpan();
    span?.set(reviewed(review));
    const answer = await reviewer(review, timeoutMs);
    span?.set(outcomeOf(answer));
    return answer;
  };
}

/** Of the object no more than which one it is. One that is created has no uid yet, and none of its names may be known. */
function reviewed({
  operation,
  kind,
  subresource,
  namespace,
  name,
  dryRun,
  object,
  oldObject,
}: AdmissionRequest): SpanAttributes {
  const uid = [oldObject, object]
    .map((each) => valueAt(each, ['metadata', 'uid']))
    .find((each) => typeof each === 'string');
  const known = { 'k8s.namespace.name': namespace, 'ingester.object.name': name, 'ingester.object.uid': uid };
  const told = Object.entries(known).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '');
  return {
    'ingester.object.kind': kind.kind,
    'ingester.admission.operation': operation,
    ...(subresource === '' ? {} : { 'ingester.admission.subresource': subresource }),
    ...(dryRun ? { 'ingester.admission.dry_run': 'true' } : {}),
    ...Object.fromEntries(told),
  };
}

function outcomeOf({ response }: JsonObject): SpanAttributes {
  if (!isJsonObject(response)) return {};
  const { allowed, patch, auditAnnotations } = response;
  if (allowed === true) return { 'ingester.admission.outcome': patch === undefined ? 'allowed' : 'changed' };
  return {
    'ingester.admission.outcome': 'denied',
    'ingester.admission.rule': String(valueAt(auditAnnotations, ['rule'])),
  };
}
