// What an object that the API server does not let us write to is told, and how often it is tried again.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError, type KubeReason } from '../../../src/kube/errors.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import type { EventReason } from '../../../src/sync/events.ts';
import { FailingObjects } from '../../../src/sync/flows/failing-objects.ts';
import { ObjectReconciler } from '../../../src/sync/flows/reconciler.ts';
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
  const failingObjects = new FailingObjects(clock, (kind, code) => failed.push(`${kind} ${code}`));
  const events: EventReason[] = [];
  const reconciler = new ObjectReconciler({
    kind: modelKind,
    resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
    getObject: (key) => Promise.resolve(asWatched(client.object(key))),
    ...{ client, clock, failingObjects, storage: new MemoryStorage(), logger: new RecordingLogger() },
    ...{ encode: encodeObject, evictImmutableKinds: false },
    recordEvent: (_object, reason) => events.push(reason),
  });
  const fail = (call: string, reason: KubeReason): unknown =>
    client.failures.push({ call, error: new KubeError(reason, 'says a policy') });
  return { client, clock, failed, failingObjects, events, fail, reconcile: () => reconciler.reconcile(KEY) };
}

describe('a write to the object that is refused', () => {
  it('fails the attempt, and is an event, a failing object and a count at once, until it is let through', async () => {
    for (const reason of ['Refused', 'Forbidden', 'Invalid'] as const) {
      const { client, fail, reconcile, failingObjects, events, failed } = setUp();
      client.put(aModel());
      client.remove(KEY);
      fail('patch', reason);
      await assert.rejects(reconcile(), { reason });
      assert.deepEqual(events, ['WriteRefused']);
      assert.deepEqual(
        failingObjects.list().map(({ message }) => message),
        ['says a policy'],
      );
      assert.deepEqual(failed, [`Model KUBE_${reason.toUpperCase()}`]);
      await reconcile();
      assert.equal(failingObjects.count, 0);
      assert.equal(client.object(KEY), undefined);
    }
  });

  it('is reported for a DELETE of a marked object too', async () => {
    const { client, fail, reconcile, events } = setUp();
    client.put(aModel({ annotations: deleting }));
    fail('delete:default', 'Refused');
    await assert.rejects(reconcile(), { reason: 'Refused' });
    assert.deepEqual(events, ['WriteRefused']);
  });

  it('is no refusal where the API server is busy or away, which passes', async () => {
    for (const reason of ['TooManyRequests', 'Unavailable'] as const) {
      const { client, fail, reconcile, events, failingObjects } = setUp();
      client.put(aModel());
      client.remove(KEY);
      fail('patch', reason);
      await assert.rejects(reconcile(), { reason });
      assert.deepEqual(events, []);
      assert.equal(failingObjects.count, 1);
    }
  });

  it('is reported after a minute where races are lost again and again', async () => {
    const { client, clock, fail, reconcile, events } = setUp();
    client.put(aModel());
    client.remove(KEY);
    await clock.advance(TERMINATING_SINCE_MS + 30_000);
    fail('patch', 'Conflict');
    assert.equal((await reconcile()).kind, 'requeue-after');
    assert.deepEqual(events, []);
    await clock.advance(40_000);
    fail('patch', 'Conflict');
    assert.equal((await reconcile()).kind, 'requeue-after');
    assert.deepEqual(events, ['TerminatingBlocked']);
  });

  it('is a failing object also where the object cannot even be read', async () => {
    const failingObjects = new FailingObjects(new FakeClock());
    const reconciler = new ObjectReconciler({
      kind: modelKind,
      resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
      getObject: () => Promise.reject(new KubeError('Forbidden', 'no right to get')),
      ...{ client: new FakeKubeClient(), clock: new FakeClock(), failingObjects, storage: new MemoryStorage() },
      ...{ logger: new RecordingLogger(), encode: encodeObject, evictImmutableKinds: false },
    });
    await assert.rejects(reconciler.reconcile(KEY), { reason: 'Forbidden' });
    assert.deepEqual(
      failingObjects.list().map(({ name, code }) => [name, code]),
      [['a-model', 'KUBE_FORBIDDEN']],
    );
  });
});
