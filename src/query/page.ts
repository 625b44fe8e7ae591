// The web page: four files with nothing from elsewhere; the script is generated from the modules in ui. They hold no data,
// so they need no authentication; what the page shows it requests from this API, as the user of the browser.
//
// The same page stands below the group's path, where the API server passes it on: kubectl proxy, then
// http://127.0.0.1:8001/apis/stored.michelangelo.api/v2/ui/ shows it without a token.

import { readFileSync } from 'node:fs';
import type { RequestHandler } from 'express';
import { ownValue } from '../base/json.ts';
import { programFile } from '../base/program-files.ts';
import { GROUP_PATH } from './names.ts';

const file = (name: string): string => readFileSync(programFile(`src/query/ui/${name}`), 'utf8');

interface PageFile {
  readonly type: string;
  readonly text: string;
}

const files: Readonly<Record<string, PageFile>> = {
  '/': { type: 'text/html; charset=utf-8', text: file('public/index.html') },
  '/object.css': { type: 'text/css; charset=utf-8', text: file('public/object.css') },
  '/page.css': { type: 'text/css; charset=utf-8', text: file('public/page.css') },
  '/page.js': { type: 'text/javascript; charset=utf-8', text: file('generated/page.js') },
};

/** Nothing may be loaded from elsewhere, nothing inline runs, and no other site may frame the page. */
const headers: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
};

export const sendPage: RequestHandler = (request, response, next) => {
  const { method, path } = request;
  const base = ['/ui', `${GROUP_PATH}/ui`].find((prefix) => path === prefix || path.startsWith(`${prefix}/`));
  if (base === undefined || method !== 'GET') {
    next();
    return;
  }
  if (path === base) {
    // Relative, because the page may stand behind a prefix.
    response.redirect(308, 'ui/');
    return;
  }
  const found = ownValue(files, path.slice(base.length));
  if (found === undefined) {
    next();
    return;
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader('Content-Type', found.type);
  response.end(found.text);
};
