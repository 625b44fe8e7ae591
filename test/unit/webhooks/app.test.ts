import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import request from 'supertest';
import type { JsonObject } from '../../../src/base/json.ts';
import { createWebhookApp } from '../../../webhooks/app.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';
import { aReview } from '../../support/review.ts';

const app = () => createWebhookApp({ logger: new RecordingLogger(), reconcilerUser: 'reconciler' });

const send = (body: string | Buffer, contentType = 'application/json') =>
  request(app()).post('/mutate?timeout=5s').set('Content-Type', contentType).send(body);

const noFinalizers = { metadata: { name: 'a' } };

describe('POST /mutate', () => {
  it('answers an AdmissionReview with the uid of the request and a base64 JSON patch', async () => {
    const { status, body } = await send(JSON.stringify(aReview({ object: noFinalizers })));
    assert.equal(status, 200);
    const { apiVersion, kind, response } = body as { apiVersion: string; kind: string; response: JsonObject };
    assert.deepEqual([apiVersion, kind], ['admission.k8s.io/v1', 'AdmissionReview']);
    assert.equal(response['uid'], 'review-uid');
    assert.equal(response['allowed'], true);
    assert.equal(response['patchType'], 'JSONPatch');
    assert.deepEqual(JSON.parse(Buffer.from(String(response['patch']), 'base64').toString()), [
      { op: 'add', path: '/metadata/finalizers', value: ['michelangelo/Ingester'] },
    ]);
    assert.deepEqual(response['auditAnnotations'], { finalizer: 'added' });
  });

  it('sends neither patch nor patchType when there is nothing to change', async () => {
    const { body } = await send(JSON.stringify(aReview()));
    const { response } = body as { response: JsonObject };
    assert.equal(response['allowed'], true);
    assert.ok(!('patch' in response) && !('patchType' in response));
    assert.deepEqual(response['auditAnnotations'], { finalizer: 'present' });
  });

  it('answers a dry run like any other request', async () => {
    const { body } = await send(JSON.stringify(aReview({ object: noFinalizers, dryRun: true })));
    assert.equal((body as { response: JsonObject }).response['patchType'], 'JSONPatch');
  });

  it('accepts two objects of 3 MB', async () => {
    const object = { ...noFinalizers, spec: { text: 'x'.repeat(3_000_000) } };
    const { status } = await send(JSON.stringify(aReview({ operation: 'UPDATE', object, oldObject: object })));
    assert.equal(status, 200);
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
      assert.match(String((answer.body as JsonObject)['message']), message);
      assert.ok(!('response' in (answer.body as JsonObject)));
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
