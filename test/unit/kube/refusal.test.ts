import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError, type KubeReason } from '../../../src/kube/errors.ts';
import { explained, isNamedBy, testsHold } from '../../../src/kube/http/refusal.ts';
import { addFinalizerPatch, removeFinalizerPatch } from '../../../src/sync/finalizer.ts';
import { aModel } from '../../support/objects.ts';

const object = aModel({ resourceVersion: '7', annotations: { 'a/b~c': 'x' } });
const changed = aModel({ resourceVersion: '8' });

function reasonOf(answered: KubeReason, read: () => Promise<typeof object>): Promise<string> {
  const write = () => Promise.reject(new KubeError(answered, 'the words of the server', { retryAfterMs: 5 }));
  return explained(write, { read, holds: (found) => found.metadata.resourceVersion === '7' }).then(
    () => 'none',
    (error: unknown) => {
      assert.ok(error instanceof KubeError && error.message === 'the words of the server', String(error));
      return error.reason;
    },
  );
}

describe('a write that was refused', () => {
  it('is refused, and no lost race, where the object still is as the call required', async () => {
    for (const answered of ['Conflict', 'NotFound', 'Invalid'] as const)
      assert.equal(await reasonOf(answered, () => Promise.resolve(object)), 'Refused');
  });

  it('is a conflict where the object has changed', async () => {
    for (const answered of ['Conflict', 'NotFound', 'Invalid'] as const)
      assert.equal(await reasonOf(answered, () => Promise.resolve(changed)), 'Conflict');
  });

  it('says that the object is gone, or that nothing is known, only where a second look says so', async () => {
    for (const found of ['NotFound', 'Unavailable'] as const) {
      const read = () => Promise.reject(new KubeError(found, 'the words of the server'));
      assert.equal(await reasonOf('Conflict', read), found);
    }
  });

  it('costs no second look where the status has one meaning only', async () => {
    const read = () => Promise.reject(new KubeError('Unavailable', 'was asked'));
    for (const answered of ['Forbidden', 'TooManyRequests', 'Unauthorized', 'Unavailable'] as const)
      assert.equal(await reasonOf(answered, read), answered);
  });
});

describe('what a write requires', () => {
  it('holds for a patch while each of its tests does', () => {
    const guarded = aModel({ resourceVersion: '7' });
    assert.ok(testsHold(removeFinalizerPatch(guarded), guarded));
    assert.ok(testsHold(addFinalizerPatch(guarded), guarded));
    assert.ok(!testsHold(removeFinalizerPatch(guarded), changed));
    assert.ok(!testsHold(removeFinalizerPatch(guarded), aModel({ resourceVersion: '7', finalizers: ['other'] })));
    const annotation = { op: 'test', path: '/metadata/annotations/a~1b~0c', value: 'x' } as const;
    assert.ok(testsHold([annotation], object));
    assert.ok(!testsHold([annotation], changed));
  });

  it('holds for a DELETE while the object has the uid and the version that it names', () => {
    const { uid } = object.metadata;
    assert.ok(isNamedBy({ uid, resourceVersion: '7' }, object));
    assert.ok(isNamedBy({}, object));
    assert.ok(!isNamedBy({ uid, resourceVersion: '7' }, changed));
    assert.ok(!isNamedBy({ uid: 'another' }, object));
  });
});
