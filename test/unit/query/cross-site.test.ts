import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import request from 'supertest';
import { isCrossSite } from '../../../src/query/app.ts';
import { base, queryApp } from '../../support/query-app.ts';

const host = '127.0.0.1:8001';

describe('a request that changes something', () => {
  for (const [what, headers, refused] of [
    ['a program', {}, false],
    ['the page of this server', { 'sec-fetch-site': 'same-origin', origin: `http://${host}` }, false],
    ['the address bar of a browser', { 'sec-fetch-site': 'none' }, false],
    [
      'the page behind a proxy of another name',
      { 'sec-fetch-site': 'same-origin', origin: 'https://ui.example' },
      false,
    ],
    ['the page in a browser that says nothing of sites', { origin: `http://${host}` }, false],
    ['a page of another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, true],
    ['a page of another host of the site', { 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:3000' }, true],
    ['another site in a browser that says nothing of sites', { origin: 'https://evil.example' }, true],
    ['a page without an origin', { origin: 'null' }, true],
  ] as const) {
    it(`is ${refused ? 'refused' : 'let through'} from ${what}`, () => {
      assert.equal(isCrossSite({ method: 'POST', headers: { host, ...headers } }), refused);
      assert.equal(isCrossSite({ method: 'GET', headers: { host, ...headers } }), false);
    });
  }

  it('is refused with 403 before anything is asked or done', async () => {
    const { app } = queryApp();
    const send = (path: string) => request(app).post(`${base}${path}`).set('Sec-Fetch-Site', 'cross-site');
    for (const path of ['/namespaces/a/models/m1/restore', '/models/-/search']) {
      assert.equal((await send(path)).status, 403, path);
    }
  });
});
