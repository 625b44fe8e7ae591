import assert from 'node:assert/strict';
import type { JsonObject } from '../../src/base/json.ts';
import type { PolicyContext, ValidatingPolicy, Verdict } from '../../webhooks/policy.ts';
import { aRequest } from './review.ts';

/** What GitOps tools and kubectl read as "delete the object and create it again". */
const DANGEROUS_WORDS = /immutable|conflict|invalid|already\s*exists|not\s*found/i;

/** What one rule says to one request; allowed where it does not apply, as when all rules run. */
export async function verdictOf(
  policy: ValidatingPolicy,
  request: JsonObject,
  audience: PolicyContext['audience'] = 'api-server',
): Promise<Verdict> {
  const decoded = aRequest(request);
  if (!policy.appliesTo(decoded)) return { allowed: true };
  return policy.review(decoded, { reconcilerUser: 'reconciler', signal: new AbortController().signal, audience });
}

/** Refused with this message, which every client can show and none takes for a request to re-create. */
export function assertDenied(verdict: Verdict, message: RegExp): void {
  assert.ok(!verdict.allowed, 'was allowed');
  assert.match(verdict.message, message);
  assertMessage(verdict.message);
}

export function assertMessage(message: string): void {
  assert.ok(message.length < 200, `${message.length} characters: ${message}`);
  // Printable ASCII on one line survives headers, terminals and logs.
  assert.match(message, /^[ -~]+$/);
  assert.doesNotMatch(message, DANGEROUS_WORDS);
}

/** Allowed, with one warning that says this. */
export function assertWarned(verdict: Verdict, warning: RegExp): void {
  assert.ok(verdict.allowed, 'was refused');
  const warnings = verdict.warnings ?? [];
  assert.equal(warnings.length, 1, warnings.join('\n'));
  assert.match(warnings[0] ?? '', warning);
  warnings.forEach(assertMessage);
}
