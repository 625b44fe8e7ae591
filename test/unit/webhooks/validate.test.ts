import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Express } from 'express';
import request from 'supertest';
import { type JsonObject, valueAt } from '../../../src/base/json.ts';
import type { ValidatingPolicy, Verdict } from '../../../webhooks/policy.ts';
import { aReview } from '../../support/review.ts';
import { aWebhookApp } from '../../support/webhook-app.ts';

const rule = (verdict: Verdict): ValidatingPolicy => ({
  name: 'same-kind',
  appliesTo: ({ operation }) => operation !== 'DELETE',
  review: () => verdict,
});

const refusing = rule({ allowed: false, message: 'spec.version 2 -> 1 is a downgrade; do not' });

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly body: unknown;
}

async function post(app: Express, review: JsonObject, query = '?timeout=5s', path = '/validate'): Promise<Answered> {
  const sent = request(app).post(`${path}${query}`).set('Content-Type', 'application/json');
  const { status, text, body } = (await sent.send(JSON.stringify(review))) as Answered;
  return { status, text, body };
}

describe('POST /validate', () => {
  it('refuses with HTTP 200, code 403, reason Forbidden and the message of the rule', async () => {
    const { app } = aWebhookApp({ policies: [refusing] });
    const { status, body } = await post(app, aReview());
    assert.equal(status, 200);
    assert.deepEqual(body, {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: {
        uid: 'review-uid',
        allowed: false,
        auditAnnotations: { rule: 'same-kind' },
        status: {
          code: 403,
          reason: 'Forbidden',
          message: 'spec.version 2 -> 1 is a downgrade; do not (docs/admission.md#same-kind)',
        },
      },
    });
  });

  it('logs each denial with who, what and which rule, and nothing of the object', async () => {
    const { app, logger } = aWebhookApp({ policies: [refusing] });
    await post(app, aReview({ object: { metadata: { name: 'a-model' }, spec: { token: 's3cr3t' } } }));
    const denials = logger.lines.filter(({ message }) => message === 'Denied');
    assert.equal(denials.length, 1);
    const { uid: _uid, level: _level, ...denial } = denials[0]!;
    assert.deepEqual(denial, {
      plural: 'models',
      namespace: 'a-namespace',
      name: 'a-model',
      operation: 'CREATE',
      dryRun: false,
      username: 'a-user',
      rule: 'same-kind',
      reason: 'spec.version 2 -> 1 is a downgrade; do not',
      message: 'Denied',
    });
    assert.doesNotMatch(JSON.stringify(logger.lines), /s3cr3t/);
  });

  it('logs few of the denials that a client brings about, whatever user it names, and counts every denial', async () => {
    const { app, logger, metrics } = aWebhookApp({ policies: [refusing] });
    for (let index = 0; index < 50; index += 1) await post(app, aReview({ userInfo: { username: `user-${index}` } }));
    assert.equal(logger.lines.filter(({ message }) => message === 'Denied').length, 20);
    const [counted] = await metrics('ingester_admission_decisions_total{policy="same-kind",outcome="denied"}');
    assert.match(counted ?? '', / 50$/);
  });

  it('passes warnings on, each on one line and no longer than the API server takes', async () => {
    const warned = rule({ allowed: true, warnings: ['first\nsecond', 'x'.repeat(300)] });
    const { body } = await post(aWebhookApp({ policies: [warned] }).app, aReview());
    const warnings = valueAt(body, ['response', 'warnings']) as string[];
    assert.equal(warnings[0], 'first second');
    assert.equal(warnings[1]?.length, 256);
  });

  it('cuts a message to one line of 2000 characters', async () => {
    const { app } = aWebhookApp({ policies: [rule({ allowed: false, message: `a\r\n${'b'.repeat(5000)}` })] });
    const { body } = await post(app, aReview());
    const message = valueAt(body, ['response', 'status', 'message']) as string;
    assert.match(message, /^a b+\.\.\. \(docs\/admission\.md#same-kind\)$/);
    assert.equal(message.length, 2000);
  });

  it('answers 500 where a rule fails, so that the failurePolicy decides', async () => {
    const broken: ValidatingPolicy = { ...refusing, review: () => Promise.reject(new RangeError('s3cr3t')) };
    const { app, metrics } = aWebhookApp({ policies: [broken] });
    const { status, text } = await post(app, aReview());
    assert.equal(status, 500);
    assert.doesNotMatch(text, /allowed|s3cr3t/);
    assert.deepEqual(await metrics('controller_runtime_webhook_panics_total'), [
      'controller_runtime_webhook_panics_total 1',
    ]);
  });

  it('answers 504 before the API server gives up, and tells the rule to stop', async () => {
    let stopped = false;
    const endless: ValidatingPolicy = {
      ...refusing,
      review: (_request, { signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => (stopped = true));
        }),
    };
    const { status, text } = await post(aWebhookApp({ policies: [endless] }).app, aReview(), '?timeout=100ms');
    assert.equal(status, 504);
    assert.match(text, /no answer within 90 ms/);
    assert.doesNotMatch(text, /allowed/);
    assert.equal(stopped, true);
  });

  it('counts what each rule decides, from zero on, and no dry run', async () => {
    const { app, metrics } = aWebhookApp({ policies: [refusing] });
    const lines = (): Promise<readonly string[]> =>
      metrics('ingester_admission_decisions_total{policy="same-kind",outcome="denied"}');
    assert.deepEqual(await lines(), ['ingester_admission_decisions_total{policy="same-kind",outcome="denied"} 0']);
    await post(app, aReview());
    await post(app, aReview({ dryRun: true }));
    await post(app, aReview({ operation: 'DELETE' }));
    assert.deepEqual(await lines(), ['ingester_admission_decisions_total{policy="same-kind",outcome="denied"} 1']);
    assert.deepEqual(await metrics('controller_runtime_webhook_requests_total{webhook="/validate",code="200"}'), [
      'controller_runtime_webhook_requests_total{webhook="/validate",code="200"} 3',
    ]);
  });
});

describe('POST /mutate', () => {
  const mutate = (policy: ValidatingPolicy, review: JsonObject) =>
    post(aWebhookApp({ policies: [policy] }).app, review, '?timeout=5s', '/mutate');

  it('refuses a create that a rule refuses, as POST /validate does, without a patch', async () => {
    const created = aReview({ object: { metadata: { name: 'a' } } });
    const { status, body } = await mutate(refusing, created);
    assert.equal(status, 200);
    assert.deepEqual(body, (await post(aWebhookApp({ policies: [refusing] }).app, created)).body);
    assert.deepEqual(
      [valueAt(body, ['response', 'allowed']), valueAt(body, ['response', 'patch'])],
      [false, undefined],
    );
  });

  it('adds the finalizer to a create with the warnings of the rules', async () => {
    const warning = rule({ allowed: true, warnings: ['spec.x is odd'], auditAnnotations: { seen: 'yes' } });
    const { body } = await mutate(warning, aReview({ object: { metadata: { name: 'a' } } }));
    assert.equal(valueAt(body, ['response', 'patchType']), 'JSONPatch');
    assert.deepEqual(valueAt(body, ['response', 'warnings']), ['spec.x is odd']);
    assert.deepEqual(valueAt(body, ['response', 'auditAnnotations']), { seen: 'yes', finalizer: 'added' });
  });

  it('asks no rule about an update, and none about a create that judges only what is stored', async () => {
    const update = aReview({ operation: 'UPDATE', oldObject: { metadata: { name: 'a' } } });
    for (const answer of [await mutate(refusing, update), await mutate({ ...refusing, storedOnly: true }, aReview())])
      assert.equal(valueAt(answer.body, ['response', 'allowed']), true);
  });
});
