// The express application of the query API: authenticates, authorizes and answers each request.

import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import type { Clock } from '../base/clock.ts';
import { programVersion } from '../base/program-files.ts';
import { LogLimit, RateLimits } from '../base/rate-limits.ts';
import { Clusters } from './clusters.ts';
import { type Context, sendText, type User } from './context.ts';
import { sendDocument, sendJson } from './documents.ts';
import { QueryError, queryErrorOf, statusObject } from './errors.ts';
import { answerGenerator, GENERATOR_PATH } from './generator.ts';
import { isWatch } from './list-request.ts';
import { GROUP_PATH, STORED_GROUP, STORED_GROUP_VERSION } from './names.ts';
import { OPENAPI_PATH, OpenApi, type OpenApiText, openApiIndex } from './openapi.ts';
import type { QueryAppOptions } from './options.ts';
import { sendPage } from './page.ts';
import { Places } from './places.ts';
import { RequestTime } from './request-time.ts';

export function createQueryApp(options: QueryAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.disable('query parser');
  const clusters = new Clusters(options);
  const { clock, limits } = options;
  const rates = new RateLimits({ clock, perSecond: limits.userPerSecond, burst: limits.userBurst });
  const openApi = new OpenApi(options);
  const places = new Places(limits.maxInFlight);
  app.use(audited(options));
  app.use(cutSlowReaders(clock));
  // Before every limit: while the API server cannot read them, it deletes no namespace of the cluster.
  app.use(discovery(options));
  app.use(sendPage);
  app.use(refuseCrossSite);
  app.use(async (request: Request, response: Response) => {
    const time = new RequestTime(clock, limits, response);
    const user = await time.within(options.authenticator.authenticate(request, time.signal));
    response.locals['user'] = user.name;
    refuseTooOften(user, rates);
    const leavePlace = takePlace(user, response, places);
    const query = new URLSearchParams(request.url.split('?')[1] ?? '');
    const context = { request, response, user, time, query, leavePlace };
    if (await sendDescription(context, openApi)) return;
    if (request.path === GENERATOR_PATH) await answerGenerator(context, options);
    else await clusters.answer(context);
  });
  app.use(failureHandler(options));
  return app;
}

/** Is no secret, as on the maintenance page, and costs nothing. */
function discovery({ kinds }: QueryAppOptions): express.RequestHandler {
  return (request, response, next) => {
    if (!sendDocument(request, response, kinds)) next();
  };
}

function refuseTooOften(user: User, limits: RateLimits): void {
  const wait = limits.take(user.name);
  if (wait === undefined) return;
  throw new QueryError('TooManyRequests', `User "${user.name}" asks too often; wait ${Math.ceil(wait)} s`, {
    retryAfterSeconds: Math.ceil(wait),
  });
}

/** Documents that cost more than discovery does, for authenticated users. */
async function sendDescription({ request, response, time }: Context, openApi: OpenApi): Promise<boolean> {
  if (request.method !== 'GET') return false;
  switch (request.path) {
    case '/openapi/v3':
      sendJson(response, openApiIndex());
      return true;
    case OPENAPI_PATH:
      sendOpenApi(request, response, await time.within(openApi.document(time.signal)));
      return true;
    case `${GROUP_PATH}/version`:
      sendJson(response, { kind: 'StoredVersion', apiVersion: STORED_GROUP_VERSION, version: programVersion() });
      return true;
    default:
      return false;
  }
}

function sendOpenApi({ headers }: Request, response: Response, { text, etag }: OpenApiText): void {
  response.setHeader('ETag', etag);
  if (headers['if-none-match'] === etag) response.status(304).end();
  else sendText(response, text, 'application/json');
}

/** Characters of a query in the log. */
const MOST_LOGGED = 1000;

/** Until the answer has been read, its reader is gone, or the place is left. */
function takePlace({ name }: User, response: Response, places: Places): () => void {
  if (response.closed) return () => undefined;
  if (!places.tryTake(name)) {
    const message = `User "${name}" has as many requests under way as there is room for; try again`;
    throw new QueryError('TooManyRequests', message, { retryAfterSeconds: 1 });
  }
  let held = true;
  const leave = (): void => {
    if (held) places.give(name);
    held = false;
  };
  response.once('close', leave);
  return leave;
}

/**
 * One line for each request that a user was served: who read what. Of refused requests, and of documents that need no
 * authentication, only some. Never the content that was read.
 */
function audited({ logger, clock, onAnswered }: QueryAppOptions): express.RequestHandler {
  const lines = new LogLimit(clock);
  return (request, response, next) => {
    const started = clock.monotonicMs();
    response.once('close', () => {
      const durationMs = Math.round(clock.monotonicMs() - started);
      const complete = response.writableFinished;
      const query = request.url.split('?')[1] ?? '';
      // It lasts as long as the client likes, which says nothing about how fast it was.
      const method = isWatch(new URLSearchParams(query)) ? 'WATCH' : request.method;
      const { path } = request;
      const { statusCode: status } = response;
      const cluster = (response.locals['cluster'] as string | undefined) ?? '';
      onAnswered?.({ method, code: status, cluster, seconds: durationMs / 1000 });
      const user = (response.locals['user'] as string | undefined) ?? '';
      const more = user !== '' && status < 400 ? {} : lines.take(`${status} ${user}`);
      if (more === undefined) return;
      const from = request.socket.remoteAddress ?? '';
      const line = {
        method,
        path,
        query: query.slice(0, MOST_LOGGED),
        user,
        from,
        status,
        durationMs,
        complete,
        ...more,
      };
      logger.info(line, 'Answered');
    });
    next();
  };
}

function failureHandler({ logger, clock }: QueryAppOptions): ErrorRequestHandler {
  const lines = new LogLimit(clock);
  return (thrown: unknown, request: Request, response: Response, _next) => {
    // The client is gone.
    if (response.closed) return;
    const error = queryErrorOf(thrown);
    const line = error.status >= 500 ? lines.take(String(error.status)) : undefined;
    if (line !== undefined) logger.warn({ path: request.path, err: thrown, ...line }, 'Request failed');
    if (response.headersSent) {
      // Half an answer must not look like a whole one.
      response.destroy();
      return;
    }
    // Nothing waits for the rest of a body that is of no use any more.
    if (!request.complete) response.setHeader('Connection', 'close');
    const { retryAfterSeconds } = error.details;
    if (retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(retryAfterSeconds));
    response.status(error.status);
    sendJson(response, statusObject(error, STORED_GROUP));
  };
}

// Behind kubectl proxy, or an ingress that logs users in, a browser has rights that pages of other sites must not use. So
// what changes or searches something is refused where a browser says that the request comes from another site: what
// browsers themselves say of a request, else the origin they name. Programs say neither.

const safeMethods = ['GET', 'HEAD', 'OPTIONS'];
/** `none`: the user asked for it, not a page. */
const own = ['same-origin', 'none'];

export const refuseCrossSite: RequestHandler = (request, _response, next) => {
  if (isCrossSite(request)) {
    throw new QueryError('Forbidden', 'this request comes from a page of another site, which may not write here');
  }
  next();
};

export function isCrossSite({ method = '', headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  if (safeMethods.includes(method)) return false;
  const site = headers['sec-fetch-site'];
  if (typeof site === 'string') return !own.includes(site);
  const { origin, host = '' } = headers;
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host;
}

// Readers that take nothing. What an answer holds (a place, a page of objects, a connection to the database) is for
// readers: one that leaves it lying is cut off, long before the answer may take no more time.

/**
 * Answers are written in pieces of 64 KiB, so this is as slow as a reader may be: a piece in ten seconds. It is found
 * within twice that.
 */
const LOOK_MS = 10_000;

/** Ends the connection of a reader that has not taken a byte from one look to the next, though there was one. */
export function cutSlowReaders(clock: Clock): RequestHandler {
  return (request, response, next) => {
    const { socket } = request;
    const taken = (): number => socket.bytesWritten - socket.writableLength;
    let before: number | undefined;
    let cancel: () => void;
    const look = (): void => {
      const now = response.writableLength > 0 ? taken() : undefined;
      if (now !== undefined && now === before) {
        socket.destroy();
        return;
      }
      before = now;
      cancel = clock.schedule(LOOK_MS, look);
    };
    cancel = clock.schedule(LOOK_MS, look);
    response.once('close', () => cancel());
    next();
  };
}
