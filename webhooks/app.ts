// The express application: transport only. Every failure has a defined status, and none of them is an answer that
// allows the request: the API server then applies the failurePolicy of the registration.
import { TLSSocket } from 'node:tls';
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import { type Clock, within } from '../src/base/clock.ts';
import { parseDurationMs } from '../src/base/duration.ts';
import { CodedError } from '../src/base/errors.ts';
import type { JsonObject } from '../src/base/json.ts';
import type { Logger } from '../src/base/logger.ts';
import { LogLimit } from '../src/base/rate-limits.ts';
import type { Tracer } from '../src/base/tracing.ts';
import type { WebhookMetrics } from '../src/metrics/metrics.ts';
import { Bodies, BusyError } from './bodies.ts';
import { isOfIngester, reviewDecision } from './policies/decision-by.ts';
import { type FinalizerPolicyOptions, mutatingPolicies, reviewFinalizer } from './policies/finalizer.ts';
import { type Decision, encodeDecision, observed, runPolicies, type ValidatingPolicy } from './policy.ts';
import { type AdmissionRequest, type Allowed, decodeReview, encodeAllowed, ReviewError } from './review.ts';
import { type Answered, traced, tracedReview } from './traces.ts';

/** What the metrics call a request whose client went away before the answer. */
const CLIENT_GONE = 499;

export interface WebhookAppOptions extends FinalizerPolicyOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
  /** The rules, in the order they are asked. */
  readonly policies: readonly ValidatingPolicy[];
  /** While true, each answer asks the API server to connect anew next time, which is to another replica. */
  readonly shuttingDown: () => boolean;
  /**
   * Missing: every caller is answered. Otherwise only those whose client certificate the server has accepted, and that
   * have this common name unless it is empty.
   */
  readonly caller?: string;
  /** Missing: no call leaves a trace. */
  readonly tracer?: Tracer | undefined;
}

type WebhookMeter = ReturnType<WebhookMetrics['webhooks']['forWebhook']>;

/** What comes of one review: the body of the answer. */
type Reviewer = (review: AdmissionRequest, timeoutMs: number) => Promise<JsonObject>;

export function createWebhookApp(options: WebhookAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // The path says all; the query is read where it is needed.
  app.disable('query parser');
  const mutating = options.metrics.webhooks.forWebhook('/mutate');
  const validating = options.metrics.webhooks.forWebhook('/validate');
  const bodies = new Bodies(options.clock);
  const known = options.caller === undefined ? [] : [requireCaller(options.caller)];
  options.metrics.admission.declareValidating(options.policies.map(({ name }) => name));
  const lines = new LogLimit(options.clock);
  const asSent = judgedBy(
    options.policies.filter(({ storedOnly }) => storedOnly !== true),
    options,
    lines,
  );
  const asStored = judgedBy(options.policies, options, lines);
  const { tracer } = options;
  const route = (path: '/mutate' | '/validate', meter: WebhookMeter, reviewer: Reviewer): void => {
    const spans = tracer === undefined ? [] : [traced(tracer, path, statusOf)];
    const review = tracer === undefined ? reviewer : tracedReview(reviewer);
    app.post(path, measured(meter, options), ...known, ...spans, ...admission(bodies, review));
  };
  route('/mutate', mutating, mutator(options, asSent));
  route('/validate', validating, validator(asStored));
  app.use((_request: Request, response: Response) => {
    response.status(404).json({ message: 'not found; the admission paths are POST /mutate and POST /validate' });
  });
  app.use(failureHandler(options, () => mutating.panicked()));
  return app;
}

function admission(bodies: Bodies, review: Reviewer): readonly RequestHandler[] {
  return [
    requireJson,
    async (request: Request, response: Response) => {
      const body = await bodies.read(request);
      try {
        response.json(await review(decodeReview(body.bytes), timeoutOf(request.url)));
      } finally {
        body.release();
      }
    },
  ];
}

/**
 * Whatever can refuse a create as it was sent is asked here, so that the API server need not call a second time. The
 * finalizer is added where nothing refuses.
 */
function mutator(options: WebhookAppOptions, judge: Judge): Reviewer {
  const { logger, metrics } = options;
  metrics.admission.declareMutating(mutatingPolicies);
  const mutate = (review: AdmissionRequest): Allowed => {
    const allowed = reviewFinalizer(review, options);
    logger.debug({ ...subjectOf(review), ...allowed.auditAnnotations }, 'Reviewed');
    if (!review.dryRun) count(allowed, metrics);
    return allowed;
  };
  return async (review, timeoutMs) => {
    if (isOfIngester(review)) return encodeAllowed(review.uid, named(review, options));
    if (review.operation !== 'CREATE') return encodeAllowed(review.uid, mutate(review));
    const decision = await judge(review, timeoutMs);
    return decision.allowed
      ? encodeAllowed(review.uid, both(mutate(review), decision))
      : encodeDecision(review.uid, decision);
  };
}

function named(review: AdmissionRequest, { metrics }: WebhookAppOptions): Allowed {
  const allowed = reviewDecision(review);
  if (!review.dryRun) metrics.admission.decided('decision-by', allowed.patch.length === 0 ? 'allowed' : 'changed');
  return allowed;
}

function both(mutated: Allowed, { warnings, auditAnnotations }: Omit<Allowed, 'patch'>): Allowed {
  return {
    patch: mutated.patch,
    warnings: [...mutated.warnings, ...warnings],
    auditAnnotations: { ...auditAnnotations, ...mutated.auditAnnotations },
  };
}

function count({ patch, auditAnnotations }: Allowed, { admission: decisions }: WebhookMetrics): void {
  decisions.decided('finalizer', patch.length === 0 ? 'allowed' : 'changed');
  decisions.decided('marks-kept', 'marks-kept' in auditAnnotations ? 'changed' : 'allowed');
}

function validator(judge: Judge): Reviewer {
  return async (review, timeoutMs) => encodeDecision(review.uid, await judge(review, timeoutMs));
}

type Judge = (review: AdmissionRequest, timeoutMs: number) => Promise<Decision>;

/** Asks these rules, counts what each says and logs a refusal. */
function judgedBy(policies: readonly ValidatingPolicy[], options: WebhookAppOptions, lines: LogLimit): Judge {
  const { logger, metrics, clock, reconcilerUser, caller } = options;
  const audience = caller === undefined ? 'any-client' : 'api-server';
  const counted = policies.map((policy) => observed(policy, metrics.admission));
  return async (review, timeoutMs) => {
    const decision = await withinTime(clock, timeoutMs, (signal) =>
      runPolicies(counted, review, { signal, reconcilerUser, audience }),
    );
    const subject = subjectOf(review);
    if (decision.allowed) logger.debug(subject, 'Validated');
    else {
      const { policy, message: reason } = decision;
      // By the rule: who sends a review may say of it what it likes, and so be another user each time.
      const line = lines.take(policy);
      if (line !== undefined)
        logger.info({ ...subject, username: review.username, rule: policy, reason, ...line }, 'Denied');
    }
    return decision;
  };
}

/** What the log says of a request: never anything of its object but the name. */
function subjectOf({ uid, plural, namespace, name, operation, dryRun }: AdmissionRequest): JsonObject {
  return { uid, plural, namespace, name, operation, dryRun };
}

function measured({ received }: WebhookMeter, { shuttingDown }: WebhookAppOptions): RequestHandler {
  return (_request, response, next) => {
    const answered = received();
    response.once('close', () => answered(statusOf(response)));
    if (shuttingDown()) response.setHeader('Connection', 'close');
    next();
  };
}

function statusOf({ writableFinished, statusCode }: Answered): number {
  return writableFinished ? statusCode : CLIENT_GONE;
}

/** Before anything of the body is read. */
function requireCaller(commonName: string): RequestHandler {
  return ({ socket }, _response, next) => {
    const accepted = socket instanceof TLSSocket && socket.authorized;
    const shown = accepted ? socket.getPeerCertificate().subject.CN : undefined;
    if (!accepted || (commonName !== '' && shown !== commonName)) {
      throw new ReviewError(
        401,
        'only the API server is answered; it shows the client certificate of the configuration',
      );
    }
    next();
  };
}

function requireJson(request: Request, _response: Response, next: () => void): void {
  if (request.is('application/json') === false) throw new ReviewError(415, 'expected Content-Type: application/json');
  next();
}

function failureHandler({ logger, clock }: WebhookAppOptions, panicked: () => void): ErrorRequestHandler {
  const lines = new LogLimit(clock);
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const { status, message } = describe(error);
    if (status === 500) panicked();
    if (error instanceof BusyError) response.setHeader('Retry-After', String(error.retryAfterSeconds));
    // Many at once are an attack, which must not fill the log too; the metrics count them.
    const line = lines.take(String(status));
    if (line !== undefined) logger.warn({ status, err: error, ...line }, 'Admission request refused');
    response.status(status).json({ message });
  };
}

function describe(error: unknown): { readonly status: number; readonly message: string } {
  if (error instanceof ReviewError || error instanceof DeadlineError || error instanceof BusyError) return error;
  return { status: 500, message: 'the webhook failed; see its log' };
}

// The API server says in the query how long it waits. An answer that says "failed" in time is better than none: the
// API server then knows at once, applies the failurePolicy, and shows our reason.

/** What the API server waits where the registration says nothing, and at most. */
const DEFAULT_MS = 10_000;
const MAX_MS = 30_000;
/** Share of the time that is ours; the rest is for the way back. */
const SHARE = 0.9;

class DeadlineError extends CodedError {
  readonly status = 504;

  constructor(timeoutMs: number) {
    super('REVIEW_TIMEOUT', `no answer within ${timeoutMs} ms, which is what the API server left for it`, {
      retry: 'yes',
    });
  }
}

/** Milliseconds for an answer, from the `?timeout=5s` of the request. */
export function timeoutOf(url: string): number {
  const text = new URLSearchParams(url.split('?')[1]).get('timeout') ?? '';
  const asked = parseDurationMs(text) ?? DEFAULT_MS;
  return Math.min(asked === 0 ? DEFAULT_MS : asked, MAX_MS) * SHARE;
}

/** Rejects with a DeadlineError once the time is over. */
function withinTime<T>(clock: Clock, timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return within({ clock, timeoutMs }, work, () => {
    throw new DeadlineError(timeoutMs);
  });
}
