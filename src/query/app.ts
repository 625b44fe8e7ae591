// The express application of the query API: who asks, what for, may they, and the answer.
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import type { Logger } from '../base/logger.ts';
import { programVersion } from '../base/program-files.ts';
import { sendDocument, sendJson } from './documents.ts';
import { QueryError, queryErrorOf, statusObject } from './errors.ts';
import { answerGenerator, GENERATOR_PATH } from './generator.ts';
import { GROUP_PATH, STORED_GROUP, STORED_GROUP_VERSION } from './names.ts';
import { OPENAPI_PATH, openApiIndex, openApiV3 } from './openapi.ts';
import type { QueryAppOptions } from './options.ts';
import { sendPage } from './page.ts';
import { RequestTime } from './request-time.ts';
import { ResourceHandler } from './resources.ts';
import type { User } from './user.ts';
import { UserLimits } from './user-limits.ts';

export function createQueryApp(options: QueryAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.disable('query parser');
  const resources = new ResourceHandler(options);
  const { clock, limits } = options;
  const userLimits = new UserLimits({ clock, perSecond: limits.userPerSecond, burst: limits.userBurst });
  app.use(limitInFlight(limits.maxInFlight));
  app.use(audited(options));
  app.use(sendPage);
  app.use(async (request: Request, response: Response) => {
    const time = new RequestTime(clock, limits, response);
    const user = await time.within(options.authenticator.authenticate(request));
    response.locals['user'] = user.name;
    refuseTooOften(user, userLimits);
    if (await sendDescription(request, response, options)) return;
    const query = new URLSearchParams(request.url.split('?')[1] ?? '');
    const context = { request, response, user, time, query };
    if (request.path === GENERATOR_PATH) await answerGenerator(context, options);
    else await resources.answer(context);
  });
  app.use(failureHandler(options.logger));
  return app;
}

function refuseTooOften(user: User, limits: UserLimits): void {
  const wait = limits.take(user.name);
  if (wait === undefined) return;
  throw new QueryError('TooManyRequests', `User "${user.name}" asks too often; wait ${wait} s`, {
    retryAfterSeconds: wait,
  });
}

/** The documents that describe the API. Everybody who is somebody may read them, as in Kubernetes. */
async function sendDescription(
  request: Request,
  response: Response,
  { kinds, client }: QueryAppOptions,
): Promise<boolean> {
  if (sendDocument(request, response, kinds)) return true;
  if (request.method !== 'GET') return false;
  switch (request.path) {
    case '/openapi/v3':
      sendJson(response, openApiIndex());
      return true;
    case OPENAPI_PATH:
      sendJson(response, await openApiV3(client, kinds));
      return true;
    case `${GROUP_PATH}/version`:
      sendJson(response, { kind: 'StoredVersion', apiVersion: STORED_GROUP_VERSION, version: programVersion() });
      return true;
    default:
      return false;
  }
}

/** Characters of a query in the log. */
const MOST_LOGGED = 1000;

function limitInFlight(most: number): express.RequestHandler {
  let inFlight = 0;
  return (_request, response, next) => {
    if (inFlight >= most) {
      throw new QueryError('TooManyRequests', `more than ${most} requests are being answered; try again`, {
        retryAfterSeconds: 1,
      });
    }
    inFlight += 1;
    response.once('close', () => {
      inFlight -= 1;
    });
    next();
  };
}

/** One line for each request: who read what, and what came of it. Never anything that was read. */
function audited({ logger, clock }: QueryAppOptions): express.RequestHandler {
  return (request, response, next) => {
    const started = clock.monotonicMs();
    response.once('close', () => {
      const durationMs = Math.round(clock.monotonicMs() - started);
      const complete = response.writableFinished;
      const { method, path } = request;
      const user = (response.locals['user'] as string | undefined) ?? '';
      const asked = (request.url.split('?')[1] ?? '').slice(0, MOST_LOGGED);
      const from = request.socket.remoteAddress ?? '';
      const line = { method, path, query: asked, user, from, status: response.statusCode, durationMs, complete };
      logger.info(line, 'Answered');
    });
    next();
  };
}

function failureHandler(logger: Logger): ErrorRequestHandler {
  return (thrown: unknown, request: Request, response: Response, _next) => {
    // Nobody is there to be told.
    if (response.closed) return;
    const error = queryErrorOf(thrown);
    if (error.status >= 500) logger.warn({ path: request.path, err: thrown }, 'Request failed');
    if (response.headersSent) {
      // Half an answer must not look like a whole one.
      response.destroy();
      return;
    }
    const { retryAfterSeconds } = error.details;
    if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(retryAfterSeconds));
    response.status(error.status);
    sendJson(response, statusObject(error, STORED_GROUP));
  };
}
