import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { encodeDecision, runPolicies, type ValidatingPolicy, type Verdict } from '../../../webhooks/policy.ts';
import { aRequest } from '../../support/review.ts';

const context = { reconcilerUser: 'reconciler', signal: new AbortController().signal, audience: 'any-client' } as const;
const policy = (name: string, verdict: Verdict, applies = true): ValidatingPolicy => ({
  name,
  appliesTo: () => applies,
  review: () => verdict,
});
const allowed = { allowed: true } as const;

describe('validating rules together', () => {
  it('allow when there is no rule', async () => {
    assert.deepEqual(await runPolicies([], aRequest(), context), {
      allowed: true,
      warnings: [],
      auditAnnotations: {},
    });
  });

  it('end at the first denial and ask no rule after it', async () => {
    const never: ValidatingPolicy = {
      name: 'never',
      appliesTo: () => true,
      review: () => assert.fail('asked after a denial'),
    };
    const rules = [policy('first', allowed), policy('second', { allowed: false, message: 'no' }), never];
    assert.deepEqual(await runPolicies(rules, aRequest(), context), {
      allowed: false,
      policy: 'second',
      message: 'no',
      warnings: [],
    });
  });

  it('add up warnings and audit annotations, also those before a denial', async () => {
    const rules = [
      policy('a', { allowed: true, warnings: ['one'], auditAnnotations: { a: '1' } }),
      policy('b', { allowed: true, warnings: ['two'], auditAnnotations: { b: '2' } }),
    ];
    assert.deepEqual(await runPolicies(rules, aRequest(), context), {
      allowed: true,
      warnings: ['one', 'two'],
      auditAnnotations: { a: '1', b: '2' },
    });
    const denied = await runPolicies([...rules, policy('c', { allowed: false, message: 'no' })], aRequest(), context);
    assert.deepEqual(denied.warnings, ['one', 'two']);
  });

  it('leave out rules that do not apply', async () => {
    const { allowed } = await runPolicies([policy('a', { allowed: false, message: 'no' }, false)], aRequest(), context);
    assert.equal(allowed, true);
  });

  it('fail where a rule fails, so that the failurePolicy decides', async () => {
    const broken: ValidatingPolicy = {
      ...policy('a', allowed),
      review: () => Promise.reject(new RangeError('broken')),
    };
    await assert.rejects(runPolicies([broken], aRequest(), context), RangeError);
  });
});

describe('the answer to a validating review', () => {
  it('is a 403 with the reason Forbidden when refused', () => {
    assert.deepEqual(
      encodeDecision('u', { allowed: false, policy: 'same-kind', message: 'no', warnings: ['careful'] }),
      {
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: {
          uid: 'u',
          allowed: false,
          warnings: ['careful'],
          auditAnnotations: { rule: 'same-kind' },
          status: { code: 403, reason: 'Forbidden', message: 'no (docs/admission.md#same-kind)' },
        },
      },
    );
  });

  it('carries no status, patch or empty warnings when allowed', () => {
    const { response } = encodeDecision('u', { allowed: true, warnings: [], auditAnnotations: {} });
    assert.deepEqual(response, { uid: 'u', allowed: true, auditAnnotations: {} });
  });
});
