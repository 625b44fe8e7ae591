// Stands in for the query API while the database is worked on. Discovery is answered as ever, so that the API server keeps
// the API registered and nothing that asks for all resources fails; every object is 503.
import express, { type Express, type Request, type Response } from 'express';
import type { KindDefinition } from '../api/kind.ts';
import { sendDocument, sendJson } from './documents.ts';
import { QueryError, statusObject } from './errors.ts';
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
    // The next request must reach the server of that moment, not this process over an old connection.
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

// The page that a browser shows while the query API is away. One file without scripts, fonts or pictures.

export interface MaintenanceText {
  readonly title: string;
  readonly message: string;
}

const STYLE = `
  :root { color-scheme: light dark; font: 1.1rem/1.5 system-ui, sans-serif; }
  body { display: grid; min-height: 100vh; margin: 0; place-items: center; }
  main { max-width: 34rem; padding: 2rem; }
  h1 { margin: 0 0 1rem; font-size: 1.8rem; line-height: 1.2; }
  p { margin: 0 0 1rem; }
  small { opacity: 0.75; }
`;

export function maintenancePage({ title, message }: MaintenanceText, refreshSeconds: number): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${refreshSeconds}">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(message)}</p>
<p><small>This page looks again every ${refreshSeconds} seconds.</small></p>
</main>
</body>
</html>
`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}
