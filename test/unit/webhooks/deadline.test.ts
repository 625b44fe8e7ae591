import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { timeoutOf } from '../../../webhooks/app.ts';

describe('the time for an answer', () => {
  const cases: readonly { name: string; url: string; expected: number }[] = [
    { name: 'is nine tenths of what the API server waits', url: '/validate?timeout=5s', expected: 4500 },
    { name: 'follows parts of seconds', url: '/validate?timeout=500ms', expected: 450 },
    { name: 'is that of ten seconds where nothing is said', url: '/validate', expected: 9000 },
    { name: 'is that of ten seconds where it cannot be read', url: '/validate?timeout=soon', expected: 9000 },
    { name: 'is that of ten seconds for zero', url: '/validate?timeout=0s', expected: 9000 },
    { name: 'is never more than that of the longest wait of an API server', url: '/?timeout=5m', expected: 27_000 },
  ];
  for (const { name, url, expected } of cases) {
    it(name, () => assert.equal(timeoutOf(url), expected));
  }
});
