// Behind kubectl proxy, or an ingress that logs users in, a browser acts with rights that no page of others may use. So
// what changes or searches something is refused where a browser says that the request comes from another site: what
// browsers themselves say of a request, else the origin they name. Programs say neither.
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { QueryError } from './errors.ts';

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
