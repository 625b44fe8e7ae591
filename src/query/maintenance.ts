// Stands in for the query API while the database is worked on. Discovery is answered as ever, so that the API server keeps
// the API registered and nothing that asks for all resources fails; every object is 503.
import express, { type Express, type Request, type Response } from 'express';
import type { KindDefinition } from '../api/kind.ts';
import { sendDocument, sendJson } from './documents.ts';
import { QueryError, statusObject } from './errors.ts';
import { type MaintenanceText, maintenancePage } from './maintenance-page.ts';
import { STORED_GROUP } from './names.ts';
import { parseAccept } from './negotiate.ts';

export interface MaintenanceOptions {
  readonly kinds: readonly KindDefinition[];
  readonly text: MaintenanceText;
  readonly retryAfterSeconds: number;
}

const PAGE_SECONDS = 15;
/** Nothing but the page's own style. */
const PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";

export function createMaintenanceApp(options: MaintenanceOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.disable('query parser');
  app.use((request: Request, response: Response) => {
    // The next request shall find whoever serves then, not this process by an old connection.
    response.setHeader('Connection', 'close');
    response.setHeader('Cache-Control', 'no-store');
    // What describes the API is no secret and needs no database.
    if (sendDocument(request, response, options.kinds)) return;
    sendUnavailable(request, response, options);
  });
  return app;
}

function sendUnavailable(request: Request, response: Response, { text, retryAfterSeconds }: MaintenanceOptions): void {
  response.status(503);
  response.setHeader('Retry-After', String(retryAfterSeconds));
  response.setHeader('Vary', 'Accept');
  if (!wantsPage(request.headers.accept)) {
    const error = new QueryError('ServiceUnavailable', `${text.title}: ${text.message}`, { retryAfterSeconds });
    sendJson(response, statusObject(error, STORED_GROUP));
    return;
  }
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.setHeader('Content-Security-Policy', PAGE_POLICY);
  response.end(maintenancePage(text, PAGE_SECONDS));
}

/** Browsers name HTML before anything else that could be meant; API clients do not name it. */
function wantsPage(accept: string | undefined): boolean {
  const types = parseAccept(accept).map(({ type }) => type);
  const html = types.indexOf('text/html');
  const json = types.indexOf('application/json');
  return html >= 0 && (json < 0 || html < json);
}
