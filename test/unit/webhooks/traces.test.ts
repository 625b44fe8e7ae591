import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import request from 'supertest';
import { activeSpan, callersSpan } from '../../../src/base/tracing.ts';
import type { WebhookAppOptions } from '../../../webhooks/app.ts';
import type { ValidatingPolicy } from '../../../webhooks/policy.ts';
import { RecordingTracer } from '../../support/recording-tracer.ts';
import { aReview } from '../../support/review.ts';
import { aWebhookApp } from '../../support/webhook-app.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

function setUp(policies: readonly ValidatingPolicy[] = [], more: Partial<WebhookAppOptions> = {}) {
  const tracer = new RecordingTracer();
  const { app } = aWebhookApp({ tracer, isIngested: () => true, policies, ...more });
  const post = (path: string, review: object, headers: Readonly<Record<string, string>> = {}) =>
    request(app)
      .post(path)
      .set({ 'Content-Type': 'application/json', ...headers })
      .send(JSON.stringify(review));
  return { tracer, post };
}

describe('the trace of an admission call', () => {
  it('says which object was reviewed, how, and what came of it', async () => {
    const { tracer, post } = setUp();
    await post('/mutate', aReview({ object: { metadata: { name: 'a-model', uid: 'a-uid' } } }));
    const span = tracer.only('POST /mutate');
    assert.deepEqual(span.start, { kind: 'server', parent: undefined });
    assert.deepEqual(span.attributes, {
      'http.request.method': 'POST',
      'http.route': '/mutate',
      'http.response.status_code': 200,
      'ingester.object.kind': 'Model',
      'ingester.object.name': 'a-model',
      'ingester.object.uid': 'a-uid',
      'k8s.namespace.name': 'a-namespace',
      'ingester.admission.operation': 'CREATE',
      'ingester.admission.outcome': 'changed',
    });
    assert.deepEqual([span.isOver, span.failure], [true, undefined]);
  });

  it('is that of the API server, where it names its span', async () => {
    const { tracer, post } = setUp();
    await post('/mutate', aReview(), { traceparent: `00-${TRACE}-${SPAN}-01` });
    assert.deepEqual(tracer.spans[0]?.start.parent, { traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true });
  });

  it('names the rule that refused, and nothing of the object', async () => {
    let seen: unknown;
    const refusing: ValidatingPolicy = {
      name: 'no-models',
      appliesTo: () => true,
      review: async () => {
        await Promise.resolve();
        seen = activeSpan();
        return { allowed: false, message: 'no' };
      },
    };
    const { tracer, post } = setUp([refusing]);
    await post('/validate', aReview({ object: { metadata: { name: 'a' }, spec: { token: 's3cr3t' } }, dryRun: true }));
    const span = tracer.only('POST /validate');
    assert.equal(span.attributes['ingester.admission.outcome'], 'denied');
    assert.equal(span.attributes['ingester.admission.rule'], 'no-models');
    assert.equal(span.attributes['ingester.admission.dry_run'], 'true');
    assert.equal(seen, span);
    assert.ok(!JSON.stringify(span).includes('s3cr3t'));
  });

  it('fails with the status of an answer that is none', async () => {
    const broken: ValidatingPolicy = {
      name: 'is-broken',
      appliesTo: () => true,
      review: () => Promise.reject(new Error('x')),
    };
    const { tracer, post } = setUp([broken]);
    assert.equal((await post('/validate', aReview())).status, 500);
    assert.equal(tracer.spans[0]?.failure, '500');
  });

  it('is not there for a caller that is not answered', async () => {
    const { tracer, post } = setUp([], { caller: 'api-server' });
    assert.equal((await post('/mutate', aReview(), { traceparent: `00-${TRACE}-${SPAN}-01` })).status, 401);
    assert.deepEqual(tracer.spans, []);
  });

  it('is not there for a call that is not sampled, which is answered all the same', async () => {
    const { tracer, post } = setUp();
    tracer.samples = false;
    assert.equal((await post('/mutate', aReview())).status, 200);
    assert.deepEqual(tracer.spans, []);
  });
});

describe('the header traceparent', () => {
  it('names a span in the version that is known, and in later ones', () => {
    const span = { traceId: TRACE, spanId: SPAN, traceFlags: 0, isRemote: true };
    assert.deepEqual(callersSpan(`00-${TRACE}-${SPAN}-00`), span);
    assert.deepEqual(callersSpan(`cc-${TRACE}-${SPAN}-01-what-comes`), { ...span, traceFlags: 1 });
  });

  it('names none where it is not well-formed', () => {
    const zeros = '0'.repeat(32);
    for (const text of [
      ...[undefined, '', 'x', ['00'], `00-${TRACE}-${SPAN}`, `ff-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01x`],
      ...[`00-${zeros}-${SPAN}-01`, `00-${TRACE}-${zeros.slice(16)}-01`, `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ]) {
      assert.equal(callersSpan(text), undefined, String(text));
    }
  });
});
