// The express application: transport only. Every failure has a defined status, and none of them is an answer that
// allows the request: the API server then applies the failurePolicy of the registration.
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express';
import type { Clock } from '../src/base/clock.ts';
import type { JsonObject } from '../src/base/json.ts';
import type { Logger } from '../src/base/logger.ts';
import type { WebhookMetrics } from '../src/base/metrics.ts';
import { DeadlineError, timeoutOf, withinTime } from './deadline.ts';
import { encodeDecision } from './decision.ts';
import { observed } from './observed-policy.ts';
import { type FinalizerPolicyOptions, guard, mutatingPolicies } from './policies/finalizer.ts';
import { runPolicies, type ValidatingPolicy } from './policy.ts';
import { type AdmissionRequest, type Allowed, decodeReview, encodeAllowed, ReviewError } from './review.ts';

/** Two objects of at most 3 MiB each, as etcd can hold, and one for the rest of the review. */
const MAX_BODY_BYTES = 7 * 1024 * 1024;
/** What the metrics call a request whose client went away before the answer. */
const CLIENT_GONE = 499;

export interface WebhookAppOptions extends FinalizerPolicyOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly metrics: WebhookMetrics;
  /** The rules of POST /validate, in the order they are asked. */
  readonly policies: readonly ValidatingPolicy[];
  /** While true, each answer asks the API server to connect anew next time, which is to another replica. */
  readonly draining: () => boolean;
}

type WebhookMeter = ReturnType<WebhookMetrics['webhooks']['forWebhook']>;

/** What comes of one review: the body of the answer. */
type Reviewer = (review: AdmissionRequest, timeoutMs: number) => JsonObject | Promise<JsonObject>;

export function createWebhookApp(options: WebhookAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  // The path says all; the query is read where it is needed.
  app.disable('query parser');
  const mutating = options.metrics.webhooks.forWebhook('/mutate');
  const validating = options.metrics.webhooks.forWebhook('/validate');
  app.post('/mutate', ...admission(measured(mutating, options), mutator(options)));
  app.post('/validate', ...admission(measured(validating, options), validator(options)));
  app.use((_request: Request, response: Response) => {
    response.status(404).json({ message: 'not found; the admission paths are POST /mutate and POST /validate' });
  });
  app.use(failureHandler(options.logger, () => mutating.panicked()));
  return app;
}

function admission(measure: RequestHandler, review: Reviewer): readonly RequestHandler[] {
  return [
    measure,
    requireJson,
    express.raw({ type: 'application/json', limit: MAX_BODY_BYTES, inflate: false }),
    async (request: Request, response: Response) => {
      const answer = review(decodeReview(bodyOf(request)), timeoutOf(request.url));
      response.json(answer instanceof Promise ? await answer : answer);
    },
  ];
}

function mutator(options: WebhookAppOptions): Reviewer {
  const { logger, metrics } = options;
  metrics.admission.declareMutating(mutatingPolicies);
  return (review) => {
    const allowed = guard(review, options);
    logger.debug({ ...subjectOf(review), ...allowed.auditAnnotations }, 'Reviewed');
    if (!review.dryRun) count(allowed, metrics);
    return encodeAllowed(review.uid, allowed);
  };
}

function count({ patch, auditAnnotations }: Allowed, { admission: decisions }: WebhookMetrics): void {
  decisions.decided('finalizer', patch.length === 0 ? 'allowed' : 'changed');
  decisions.decided('marks-kept', 'marks-kept' in auditAnnotations ? 'changed' : 'allowed');
}

function validator({ logger, metrics, clock, policies, reconcilerUser }: WebhookAppOptions): Reviewer {
  metrics.admission.declareValidating(policies.map(({ name }) => name));
  const counted = policies.map((policy) => observed(policy, metrics.admission));
  return async (review, timeoutMs) => {
    const decision = await withinTime(clock, timeoutMs, (signal) =>
      runPolicies(counted, review, { signal, reconcilerUser }),
    );
    const subject = subjectOf(review);
    if (decision.allowed) logger.debug(subject, 'Validated');
    else {
      const { policy, message: reason } = decision;
      logger.info({ ...subject, username: review.username, rule: policy, reason }, 'Denied');
    }
    return encodeDecision(review.uid, decision);
  };
}

/** What the log says of a request: never anything of its object but the name. */
function subjectOf({ uid, plural, namespace, name, operation, dryRun }: AdmissionRequest): JsonObject {
  return { uid, plural, namespace, name, operation, dryRun };
}

function measured({ received }: WebhookMeter, { draining }: WebhookAppOptions): RequestHandler {
  return (_request, response, next) => {
    const answered = received();
    response.once('close', () => answered(response.writableFinished ? response.statusCode : CLIENT_GONE));
    if (draining()) response.setHeader('Connection', 'close');
    next();
  };
}

function requireJson(request: Request, _response: Response, next: () => void): void {
  if (request.is('application/json') === false) throw new ReviewError(415, 'expected Content-Type: application/json');
  next();
}

function bodyOf(request: Request): Buffer {
  if (!Buffer.isBuffer(request.body)) throw new ReviewError(400, 'the request has no body');
  return request.body;
}

function failureHandler(logger: Logger, panicked: () => void): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const { status, message } = describe(error);
    if (status === 500) panicked();
    logger.warn({ status, err: error }, 'Admission request refused');
    response.status(status).json({ message });
  };
}

function describe(error: unknown): { readonly status: number; readonly message: string } {
  if (error instanceof ReviewError || error instanceof DeadlineError) return error;
  switch ((error as { type?: string } | undefined)?.type) {
    case 'entity.too.large':
      return { status: 413, message: `the body is larger than ${MAX_BODY_BYTES} bytes` };
    case 'encoding.unsupported':
      return { status: 415, message: 'expected a body without Content-Encoding' };
    case 'request.aborted':
    case 'request.size.invalid':
      return { status: 400, message: 'the body could not be read' };
    default:
      return { status: 500, message: 'the webhook failed; see its log' };
  }
}
