// The name of the user beside the token of a decision.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../../src/base/json.ts';
import { isOfIngester, reviewDecision } from '../../../../webhooks/policies/decision-by.ts';
import { aRequest } from '../../../support/review.ts';

const approve = 'michelangelo/approve-upgrade';
const reject = 'michelangelo/reject-upgrade';

function patchOf(annotations: JsonObject, before: JsonObject = {}, more: JsonObject = {}): readonly unknown[] {
  const request = aRequest({
    operation: 'UPDATE',
    resource: { group: 'ingester.michelangelo.api', version: 'v1', resource: 'ingesters' },
    userInfo: { username: 'alice' },
    object: { metadata: { annotations } },
    oldObject: { metadata: { annotations: before } },
    ...more,
  });
  assert.ok(isOfIngester(request));
  return reviewDecision(request).patch;
}

const add = (name: string): object => {
  return { op: 'add', path: `/metadata/annotations/michelangelo~1${name}`, value: 'alice' };
};

describe('who sets the token of a decision on an Ingester', () => {
  it('is named beside it, whatever the user wrote there', () => {
    assert.deepEqual(patchOf({ [approve]: 't' }), [add('approved-by')]);
    assert.deepEqual(patchOf({ [reject]: 't', 'michelangelo/rejected-by': 'bob' }), [add('rejected-by')]);
    assert.deepEqual(patchOf({ [approve]: 'u' }, { [approve]: 't' }), [add('approved-by')]);
    assert.deepEqual(patchOf({ [approve]: 't', [reject]: 't' }), [add('approved-by'), add('rejected-by')]);
  });

  it('stays named as before where a later update leaves the token alone', () => {
    assert.deepEqual(patchOf({ [approve]: 't', other: 'x' }, { [approve]: 't' }), []);
    assert.deepEqual(patchOf({}, { [approve]: 't' }), []);
  });

  it('is not named where nothing can wait for a decision: a create, a status, an object that is being deleted', () => {
    assert.deepEqual(patchOf({ [approve]: 't' }, {}, { operation: 'CREATE', oldObject: null }), []);
    assert.deepEqual(patchOf({ [approve]: 't' }, {}, { subResource: 'status' }), []);
    const deleting = { metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' } };
    assert.deepEqual(patchOf({ [approve]: 't' }, {}, { oldObject: deleting }), []);
    assert.deepEqual(patchOf({ [approve]: '' }), []);
  });
});
