import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import request from 'supertest';
import { valueAt } from '../../../src/base/json.ts';
import { aReview } from '../../support/review.ts';
import { aWebhookApp } from '../../support/webhook-app.ts';

const app = () => aWebhookApp().app;

const send = (body: string | Buffer, contentType = 'application/json') =>
  request(app()).post('/mutate?timeout=5s').set('Content-Type', contentType).send(body);

const ours = '["michelangelo/Ingester"]';
const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
const noFinalizers = { metadata: { name: 'a' } };

/** The `response` of the review that came back. */
async function review(request: Parameters<typeof aReview>[0]): Promise<Record<string, unknown>> {
  const answer = await send(JSON.stringify(aReview(request)));
  assert.equal(answer.status, 200);
  assert.equal(valueAt(answer.body, ['apiVersion']), 'admission.k8s.io/v1');
  assert.equal(valueAt(answer.body, ['kind']), 'AdmissionReview');
  return valueAt(answer.body, ['response']) as Record<string, unknown>;
}

describe('POST /mutate', () => {
  it('answers an AdmissionReview with the uid of the request and a base64 JSON patch', async () => {
    const { patch, ...response } = await review({ object: noFinalizers });
    assert.deepEqual(response, {
      uid: 'review-uid',
      allowed: true,
      patchType: 'JSONPatch',
      auditAnnotations: { finalizer: 'added' },
    });
    assert.ok(typeof patch === 'string');
    assert.deepEqual(JSON.parse(Buffer.from(patch, 'base64').toString()), [
      { op: 'add', path: '/metadata/finalizers', value: ['michelangelo/Ingester'] },
    ]);
  });

  it('sends neither patch nor patchType when there is nothing to change', async () => {
    assert.deepEqual(await review({}), {
      uid: 'review-uid',
      allowed: true,
      auditAnnotations: { finalizer: 'present' },
    });
  });

  it('answers a dry run like any other request', async () => {
    assert.equal((await review({ object: noFinalizers, dryRun: true }))['patchType'], 'JSONPatch');
  });

  it('accepts two objects of 3 MB', async () => {
    const object = { ...noFinalizers, spec: { text: 'x'.repeat(3_000_000) } };
    const { status } = await send(JSON.stringify(aReview({ operation: 'UPDATE', object, oldObject: object })));
    assert.equal(status, 200);
  });

  const odd: readonly { name: string; object: string; added: boolean }[] = [
    {
      name: 'text of any script and half a surrogate pair',
      object: '{"metadata":{"name":"ä\\ud83d 模型"}}',
      added: true,
    },
    { name: 'numbers that no double holds', object: '{"metadata":{},"spec":{"id":9007199254740993}}', added: true },
    { name: 'ten thousand lists inside each other', object: `{"metadata":{},"spec":${deep}}`, added: true },
    {
      name: 'a key twice: the last one counts',
      object: `{"metadata":{"finalizers":[],"finalizers":${ours}}}`,
      added: false,
    },
    { name: 'finalizers under __proto__', object: `{"metadata":{"__proto__":{"finalizers":${ours}}}}`, added: true },
    {
      name: 'finalizers under constructor',
      object: `{"metadata":{"constructor":{"finalizers":${ours}}}}`,
      added: true,
    },
    { name: 'metadata inside spec', object: `{"spec":{"metadata":{"finalizers":${ours}}},"metadata":{}}`, added: true },
    {
      name: 'a finalizer that only looks like ours',
      object: '{"metadata":{"finalizers":["michelangelo/ingester"]}}',
      added: true,
    },
  ];
  for (const { name, object, added } of odd) {
    it(`decides by the object's own metadata with ${name}`, async () => {
      const body = JSON.stringify(aReview({ object: 0 })).replace('"object":0', `"object":${object}`);
      const answer = await send(body);
      assert.equal(answer.status, 200);
      assert.equal(valueAt(answer.body, ['response', 'patchType']), added ? 'JSONPatch' : undefined);
    });
  }

  it('refuses a compressed body with 415', async () => {
    const sent = request(app()).post('/mutate').set('Content-Type', 'application/json').set('Content-Encoding', 'gzip');
    const { status } = await sent.send(JSON.stringify(aReview()));
    assert.equal(status, 415);
  });

  const refusals: readonly { name: string; body: string; contentType?: string; status: number; message: RegExp }[] = [
    { name: 'no JSON', body: '{"kind":', status: 400, message: /not JSON/ },
    { name: 'no body', body: '', status: 400, message: /no body|not JSON/ },
    { name: 'JSON that is no review', body: '{"kind":"Pod"}', status: 400, message: /AdmissionReview/ },
    { name: 'an array', body: '[]', status: 400, message: /AdmissionReview/ },
    {
      name: 'another version of the protocol',
      body: JSON.stringify({ ...aReview(), apiVersion: 'admission.k8s.io/v1beta1' }),
      status: 400,
      message: /admission\.k8s\.io\/v1/,
    },
    {
      name: 'a review without request',
      body: '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
      status: 400,
      message: /no request/,
    },
    { name: 'a request without uid', body: JSON.stringify(aReview({ uid: '' })), status: 400, message: /uid/ },
    {
      name: 'an unknown operation',
      body: JSON.stringify(aReview({ operation: 'PATCH' })),
      status: 400,
      message: /operation/,
    },
    {
      name: 'another content type',
      body: JSON.stringify(aReview()),
      contentType: 'text/plain',
      status: 415,
      message: /application\/json/,
    },
    { name: 'a body above 7 MiB', body: `"${'x'.repeat(7 * 1024 * 1024)}"`, status: 413, message: /larger than/ },
  ];

  for (const { name, body, contentType, status, message } of refusals) {
    it(`refuses ${name} with ${status}, and never as an allowed review`, async () => {
      const answer = await send(body, contentType);
      assert.equal(answer.status, status);
      assert.match(answer.text, message);
      assert.equal(valueAt(answer.body, ['response']), undefined);
    });
  }

  it('does not repeat the body in an error', async () => {
    const { text } = await send('{"password": "s3cr3t"');
    assert.doesNotMatch(text, /s3cr3t/);
  });

  it('answers 404 elsewhere and says where admission is', async () => {
    const { status, text } = await request(app()).get('/');
    assert.equal(status, 404);
    assert.match(text, /POST \/mutate/);
  });
});
