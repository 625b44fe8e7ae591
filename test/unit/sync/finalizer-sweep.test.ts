import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FINALIZER, UNGUARDED_ANNOTATION } from '../../../src/api/names.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { FailingObjects } from '../../../src/sync/flows/failing-objects.ts';
import { FinalizerSweep } from '../../../src/sync/flows/finalizer-sweep.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { aModel, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const KEY = 'a-namespace/a-model';
const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

function setUp(mayAddFinalizer: 'yes' | 'no' | 'unknown' = 'yes') {
  const client = new FakeKubeClient();
  const state = { mayAddFinalizer, swept: 0, paced: 0 };
  const clock = new FakeClock();
  const failingObjects = new FailingObjects(clock);
  const events: string[] = [];
  const sweep = new FinalizerSweep({
    ...{ kind: modelKind, clock, failingObjects, resource },
    recordEvent: (_object, reason) => events.push(reason),
    getObject: (key) => Promise.resolve(asWatched(client.object(key))),
    client,
    mayAddFinalizer: () => state.mayAddFinalizer,
    pace: () => Promise.resolve((state.paced += 1)),
    onAdded: () => (state.swept += 1),
    logger: new RecordingLogger(),
  });
  const reconcile = () => sweep.reconcile(KEY, { signal: new AbortController().signal });
  const finalizers = () => client.object(KEY)?.metadata.finalizers;
  return { client, state, reconcile, finalizers, failingObjects, events };
}

describe('FinalizerSweep', () => {
  it('adds the finalizer to an object without any, at the pace it is given', async () => {
    const { client, reconcile, finalizers, state } = setUp();
    const { finalizers: _, ...metadata } = aModel().metadata;
    client.put({ ...aModel(), metadata });
    assert.deepEqual(await reconcile(), { kind: 'done' });
    assert.deepEqual(finalizers(), [FINALIZER]);
    assert.deepEqual([state.swept, state.paced], [1, 1]);
  });

  it('adds the finalizer behind the finalizers of others', async () => {
    const { client, reconcile, finalizers } = setUp();
    client.put(aModel({ finalizers: ['other/finalizer'] }));
    await reconcile();
    assert.deepEqual(finalizers(), ['other/finalizer', FINALIZER]);
  });

  it('never writes to an object that is guarded, being deleted, opted out or gone', async () => {
    for (const metadata of [
      {},
      { finalizers: ['other/finalizer'], deletionTimestamp: '2026-01-03T00:00:00Z' },
      { finalizers: [], annotations: { [UNGUARDED_ANNOTATION]: 'true' } },
    ]) {
      const { client, reconcile } = setUp();
      client.put(aModel(metadata));
      assert.deepEqual(await reconcile(), { kind: 'done' });
      assert.ok(!client.calls.includes('patch'));
    }
    const { client, reconcile } = setUp();
    assert.deepEqual(await reconcile(), { kind: 'done' });
    assert.deepEqual(client.calls, []);
  });

  it('adds nothing during an uninstall, also one that begins while it waits for its turn', async () => {
    const { client, reconcile, finalizers, state } = setUp('no');
    client.put(aModel({ finalizers: [] }));
    assert.deepEqual(await reconcile(), { kind: 'done' });
    state.mayAddFinalizer = 'unknown';
    assert.equal((await reconcile()).kind, 'requeue-after');
    state.mayAddFinalizer = 'yes';
    const running = reconcile();
    state.mayAddFinalizer = 'no';
    assert.deepEqual(await running, { kind: 'done' });
    assert.deepEqual(finalizers(), []);
    assert.equal(state.swept, 0);
  });

  it('comes again after a lost race, lets go what is gone, and fails for everything else', async () => {
    const outcomes = new Map([
      ['Conflict', 'requeue-after'],
      ['NotFound', 'done'],
    ] as const);
    for (const [reason, kind] of outcomes) {
      const { client, reconcile, state } = setUp();
      client.put(aModel({ finalizers: [] }));
      client.failures.push({ call: 'patch', error: new KubeError(reason, reason) });
      assert.equal((await reconcile()).kind, kind);
      assert.equal(state.swept, 0);
    }
    const { client, reconcile } = setUp();
    client.put(aModel({ finalizers: [] }));
    client.failures.push({ call: 'patch', error: new KubeError('Forbidden', 'no') });
    await assert.rejects(reconcile, KubeError);
  });

  it('says on the object and in the list of failing objects that its finalizer is refused, until it is let through', async () => {
    const { client, reconcile, failingObjects, events, finalizers } = setUp();
    client.put(aModel({ finalizers: [] }));
    client.failures.push({ call: 'patch', error: new KubeError('Refused', 'says a policy') });
    await assert.rejects(reconcile, { reason: 'Refused' });
    assert.deepEqual(events, ['WriteRefused']);
    assert.equal(failingObjects.count, 1);
    await reconcile();
    assert.equal(failingObjects.count, 0);
    assert.deepEqual(finalizers(), [FINALIZER]);
  });
});
