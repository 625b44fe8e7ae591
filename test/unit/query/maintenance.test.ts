import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import request from 'supertest';
import { programVersion } from '../../../src/base/program-files.ts';
import { createMaintenanceApp } from '../../../src/query/maintenance.ts';
import { modelKind } from '../../support/objects.ts';

const text = { title: 'Back <soon>', message: 'Nothing & no object is lost.' };
const app = createMaintenanceApp({ kinds: [modelKind], text, retryAfterSeconds: 2 });
const MODELS = '/apis/stored.michelangelo.api/v2/namespaces/ml/models';
/** As Firefox and Chromium send it. */
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const KUBECTL = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

describe('the maintenance page', () => {
  it('answers API clients with 503, Retry-After and a Status that says why', async () => {
    const answer = await request(app).get(MODELS).set('Accept', KUBECTL);
    assert.equal(answer.status, 503);
    assert.equal(answer.headers['retry-after'], '2');
    assert.match(answer.headers['content-type'] ?? '', /^application\/json/);
    const body = answer.body as Record<string, unknown>;
    assert.deepEqual(body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Back <soon>: Nothing & no object is lost.',
      reason: 'ServiceUnavailable',
      details: { retryAfterSeconds: 2 },
      code: 503,
    });
  });

  it('answers a browser with a page, in which text is text', async () => {
    const answer = await request(app).get('/').set('Accept', BROWSER);
    assert.equal(answer.status, 503);
    assert.equal(answer.headers['retry-after'], '2');
    assert.match(answer.headers['content-type'] ?? '', /^text\/html/);
    assert.match(answer.text, /<h1>Back &lt;soon&gt;<\/h1>/);
    assert.match(answer.text, /Nothing &amp; no object is lost\./);
    assert.doesNotMatch(answer.text, /<script|https?:/);
    assert.match(answer.headers['content-security-policy'] ?? '', /default-src 'none'/);
  });

  it('answers every path and method with 503 that is about objects', async () => {
    for (const path of [MODELS, `${MODELS}/one`, `${MODELS}?watch=true`, '/api/v1/pods', '/']) {
      assert.equal((await request(app).get(path)).status, 503, path);
    }
    assert.equal((await request(app).post(MODELS).send({ kind: 'Model' })).status, 503);
    assert.equal((await request(app).delete(`${MODELS}/one`)).status, 503);
    assert.equal((await request(app).head(MODELS)).status, 503);
  });

  it('describes the API as ever, so that it stays registered and discovery stays whole', async () => {
    const resources = await request(app).get('/apis/stored.michelangelo.api/v2');
    assert.equal(resources.status, 200);
    assert.deepEqual(
      (resources.body as { resources: { name: string }[] }).resources.map(({ name }) => name),
      ['models'],
    );
    const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const discovery = await request(app).get('/apis').set('Accept', `${aggregated},application/json`);
    assert.equal(discovery.headers['content-type'], aggregated);
    assert.equal((await request(app).get('/apis').set('Accept', 'application/json')).status, 200);
    assert.equal((await request(app).get('/openapi/v2')).status, 200);
  });

  it('says the version of the program, as the query API does', async () => {
    assert.deepEqual((await request(app).get('/version')).body, { gitVersion: programVersion() });
  });

  it('keeps no client on an old connection, and is not remembered by caches', async () => {
    for (const path of [MODELS, '/apis']) {
      const { headers } = await request(app).get(path);
      assert.equal(headers['connection'], 'close');
      assert.equal(headers['cache-control'], 'no-store');
    }
  });
});
