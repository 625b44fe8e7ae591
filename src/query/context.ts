import type { Request, Response } from 'express';
import type { RequestTime } from './request-time.ts';
import type { User } from './user.ts';

/** One request on its way to its answer. */
export interface Context {
  readonly request: Request;
  readonly response: Response;
  readonly user: User;
  readonly time: RequestTime;
  readonly query: URLSearchParams;
}

export function sendJson({ response, time }: Pick<Context, 'response' | 'time'>, document: object, status = 200): void {
  time.begun();
  response.status(status);
  response.setHeader('Content-Type', 'application/json');
  response.end(`${JSON.stringify(document)}\n`);
}
