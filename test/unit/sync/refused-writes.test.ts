// What an object that the API server does not let us write to is told, and how often it is tried again.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError, type KubeReason } from '../../../src/kube/errors.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import type { NoticeReason } from '../../../src/sync/notice.ts';
import { ObjectReconciler } from '../../../src/sync/reconciler.ts';
import { Troubles } from '../../../src/sync/troubles.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, deleting, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const KEY = 'a-namespace/a-model';
const TERMINATING_SINCE_MS = 2 * 24 * 3_600_000;

function setUp() {
  const client = new FakeKubeClient();
  const clock = new FakeClock();
  const failed: string[] = [];
  const troubles = new Troubles(clock, (kind, code) => failed.push(`${kind} ${code}`));
  const notices: NoticeReason[] = [];
  const reconciler = new ObjectReconciler({
    kind: modelKind,
    resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
    getObject: (key) => Promise.resolve(client.object(key)),
    ...{ client, clock, troubles, storage: new MemoryStorage(), logger: new RecordingLogger() },
    ...{ encode: encodeObject, evictImmutableKinds: false },
    witness: (_object, reason) => notices.push(reason),
  });
  const fail = (call: string, reason: KubeReason): unknown =>
    client.failures.push({ call, error: new KubeError(reason, 'says a policy') });
  return { client, clock, failed, troubles, notices, fail, reconcile: () => reconciler.reconcile(KEY) };
}

describe('a write to the object that is refused', () => {
  it('fails the attempt, and is an event, a trouble and a count at once, until it is let through', async () => {
    for (const reason of ['Refused', 'Forbidden', 'Invalid'] as const) {
      const { client, fail, reconcile, troubles, notices, failed } = setUp();
      client.put(aModel());
      client.remove(KEY);
      fail('patch', reason);
      await assert.rejects(reconcile(), { reason });
      assert.deepEqual(notices, ['WriteRefused']);
      assert.deepEqual(
        troubles.list().map(({ message }) => message),
        ['says a policy'],
      );
      assert.deepEqual(failed, [`Model KUBE_${reason.toUpperCase()}`]);
      await reconcile();
      assert.equal(troubles.count, 0);
      assert.equal(client.object(KEY), undefined);
    }
  });

  it('is told for a DELETE of a marked object too', async () => {
    const { client, fail, reconcile, notices } = setUp();
    client.put(aModel({ annotations: deleting }));
    fail('delete:default', 'Refused');
    await assert.rejects(reconcile(), { reason: 'Refused' });
    assert.deepEqual(notices, ['WriteRefused']);
  });

  it('is no refusal where the API server is busy or away: that passes', async () => {
    for (const reason of ['TooManyRequests', 'Unavailable'] as const) {
      const { client, fail, reconcile, notices, troubles } = setUp();
      client.put(aModel());
      client.remove(KEY);
      fail('patch', reason);
      await assert.rejects(reconcile(), { reason });
      assert.deepEqual(notices, []);
      assert.equal(troubles.count, 1);
    }
  });

  it('says after a minute that races are lost again and again', async () => {
    const { client, clock, fail, reconcile, notices } = setUp();
    client.put(aModel());
    client.remove(KEY);
    await clock.advance(TERMINATING_SINCE_MS + 30_000);
    fail('patch', 'Conflict');
    assert.equal((await reconcile()).kind, 'requeue-after');
    assert.deepEqual(notices, []);
    await clock.advance(40_000);
    fail('patch', 'Conflict');
    assert.equal((await reconcile()).kind, 'requeue-after');
    assert.deepEqual(notices, ['TerminatingBlocked']);
  });

  it('is a trouble also where the object cannot even be read', async () => {
    const troubles = new Troubles(new FakeClock());
    const reconciler = new ObjectReconciler({
      kind: modelKind,
      resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
      getObject: () => Promise.reject(new KubeError('Forbidden', 'no right to get')),
      ...{ client: new FakeKubeClient(), clock: new FakeClock(), troubles, storage: new MemoryStorage() },
      ...{ logger: new RecordingLogger(), encode: encodeObject, evictImmutableKinds: false },
    });
    await assert.rejects(reconciler.reconcile(KEY), { reason: 'Forbidden' });
    assert.deepEqual(
      troubles.list().map(({ name, code }) => [name, code]),
      [['a-model', 'KUBE_FORBIDDEN']],
    );
  });
});
