// The express application: transport only. Every failure has a defined status, and none of them is an answer that
// allows the request: the API server then applies the failurePolicy of the registration.
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import type { Logger } from '../src/base/logger.ts';
import { type FinalizerPolicyOptions, injectFinalizer } from './policies/finalizer.ts';
import { decodeReview, encodeAllowed, ReviewError } from './review.ts';

/** Two objects of at most 3 MiB each, as etcd can hold, and one for the rest of the review. */
const MAX_BODY_BYTES = 7 * 1024 * 1024;

export interface WebhookAppOptions extends FinalizerPolicyOptions {
  readonly logger: Logger;
}

export function createWebhookApp(options: WebhookAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.post(
    '/mutate',
    requireJson,
    express.raw({ type: 'application/json', limit: MAX_BODY_BYTES }),
    (request: Request, response: Response) => {
      const review = decodeReview(bodyOf(request));
      const allowed = injectFinalizer(review, options);
      const { plural, namespace, name, operation, dryRun } = review;
      options.logger.debug({ plural, namespace, name, operation, dryRun, ...allowed.auditAnnotations }, 'Reviewed');
      response.json(encodeAllowed(review.uid, allowed));
    },
  );
  app.use((_request: Request, response: Response) => {
    response.status(404).json({ message: 'not found; the admission path is POST /mutate' });
  });
  app.use(failureHandler(options.logger));
  return app;
}

function requireJson(request: Request, _response: Response, next: () => void): void {
  if (request.is('application/json') === false) throw new ReviewError(415, 'expected Content-Type: application/json');
  next();
}

function bodyOf(request: Request): Buffer {
  if (!Buffer.isBuffer(request.body)) throw new ReviewError(400, 'the request has no body');
  return request.body;
}

function failureHandler(logger: Logger): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const { status, message } = describe(error);
    logger.warn({ status, err: error }, 'Admission request refused');
    response.status(status).json({ message });
  };
}

function describe(error: unknown): { readonly status: number; readonly message: string } {
  if (error instanceof ReviewError) return error;
  switch ((error as { type?: string }).type) {
    case 'entity.too.large':
      return { status: 413, message: `the body is larger than ${MAX_BODY_BYTES} bytes` };
    case 'request.aborted':
    case 'request.size.invalid':
    case 'encoding.unsupported':
      return { status: 400, message: 'the body could not be read' };
    default:
      return { status: 500, message: 'the webhook failed; see its log' };
  }
}
