// `ingester evict` on one object: the reconciler's flow, with every check that the reconciler has.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FINALIZER } from '../../../src/api/names.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { evictNow, verdict } from '../../../src/sync/eviction/evict-now.ts';
import { ChosenObjects } from '../../../src/sync/eviction/eviction-scan.ts';
import { EvictionPace } from '../../../src/sync/flows/eviction-pace.ts';
import type { FlowOptions } from '../../../src/sync/flows/flow.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { MemoryStorage } from '../../support/memory-storage.ts';
import { aModel, deleting, modelKind } from '../../support/objects.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const KEY = 'a-namespace/a-model';

function setUp(more: Partial<FlowOptions> = {}) {
  const client = new FakeKubeClient();
  const storage = new MemoryStorage();
  const clock = new FakeClock();
  const ends: string[] = [];
  const events: string[] = [];
  const { metadata } = client.put(aModel());
  const { namespace, name, uid, resourceVersion } = metadata;
  const chosen = { namespace, name, uid, resourceVersion, rule: 'old' };
  const objects = new ChosenObjects();
  objects.replace([chosen]);
  const flow: FlowOptions = {
    kind: modelKind,
    resource: { group: 'michelangelo.api', version: 'v2', plural: 'models' },
    ...{ client, storage, clock, logger: new RecordingLogger(), encode: encodeObject, evictImmutableKinds: false },
    chosenBy: (object) => objects.ruleFor(object),
    tombstones: { add: (_kind, _object, end) => Promise.resolve(void ends.push(end)) },
    recordEvent: (_object, reason) => events.push(reason),
    ...more,
  };
  const run = async () => {
    const running = evictNow(chosen, flow, new AbortController().signal);
    for (let step = 0; step < 100; step += 1) await clock.advance(200);
    return running;
  };
  const state = async () => (await storage.getById(modelKind, uid))?.state;
  return { client, storage, run, state, ends, events, uid };
}

describe('evicting one object by command', () => {
  it('ends as in the reconciler, with its name written down and its events', async () => {
    const { client, run, state, ends, events } = setUp();
    assert.equal((await run()).outcome, 'evicted');
    assert.equal(client.object(KEY), undefined);
    assert.equal(await state(), 'evicted');
    assert.deepEqual(ends, ['evicted', 'evicted']);
    assert.deepEqual(events, []);
  });

  it('leaves to the reconciler an object that was deleted or marked meanwhile, by whichever client', async () => {
    for (const change of [
      (client: FakeKubeClient) => client.remove(KEY),
      (client: FakeKubeClient) => void client.put(aModel({ annotations: deleting })),
    ]) {
      const { client, storage, run } = setUp();
      change(client);
      const before = client.object(KEY);
      assert.equal((await run()).outcome, 'changed');
      assert.equal(client.object(KEY), before);
      assert.deepEqual(
        storage.calls.filter((call) => !call.startsWith('get')),
        [],
      );
    }
  });

  it('heeds the breaker where the mark comes between its look and its work', async () => {
    const breaker = { admit: () => 'is open', takeBack: () => undefined } as unknown as FlowOptions['breaker'];
    const { client, run, state, events } = setUp(breaker === undefined ? {} : { breaker });
    const get = client.get.bind(client);
    let looks = 0;
    client.get = (ref): Promise<KubernetesObject> => {
      if (++looks === 2) client.put(aModel({ annotations: deleting }));
      return get(ref);
    };
    assert.equal((await run()).outcome, 'changed');
    assert.deepEqual(events, ['DeletionsPaused']);
    assert.equal(await state(), 'live');
    assert.equal(client.object(KEY)?.metadata.deletionTimestamp, undefined);
  });

  it('stops where eviction is paused, and goes at its pace', async () => {
    const clock = new FakeClock();
    const pace = new EvictionPace({ perSecond: 0, paused: () => true, clock });
    const { run, storage, client } = setUp({ pace });
    assert.deepEqual(
      [(await run()).reason, storage.calls.includes('requestEviction')],
      ['eviction was paused meanwhile', false],
    );
    assert.equal(client.object(KEY)?.metadata.deletionTimestamp, undefined);
  });
});

describe('the next step of a command with an object it has chosen', () => {
  const chosen = { resourceVersion: '7' };
  const at = (resourceVersion: string) => aModel({ resourceVersion });
  const terminating = aModel({ resourceVersion: '8', deletionTimestamp: '2026-01-03T00:00:00Z' });

  it('is to begin with exactly the object that was chosen, and to end an eviction that it began', () => {
    assert.equal(verdict(chosen, at('7'), undefined), undefined);
    assert.equal(verdict(chosen, at('7'), { state: 'evicting' }), undefined);
    assert.equal(verdict(chosen, terminating, { state: 'evicting' }), undefined);
    assert.equal(verdict(chosen, undefined, { state: 'evicted' })?.outcome, 'evicted');
    const held = { ...terminating, metadata: { ...terminating.metadata, finalizers: [FINALIZER] } };
    assert.equal(verdict(chosen, held, { state: 'evicted' }), undefined, 'our finalizer is still to come off');
    const orphaning = { ...held, metadata: { ...held.metadata, finalizers: ['orphan'] } };
    assert.equal(verdict(chosen, orphaning, { state: 'evicted' })?.outcome, 'evicted');
  });

  it('is none where the object has changed, is being deleted or is gone', () => {
    for (const [object, row] of [
      [at('8'), undefined],
      [terminating, undefined],
      [terminating, { state: 'live' }],
      [terminating, { state: 'deleted' }],
      [undefined, undefined],
      [undefined, { state: 'deleted' }],
    ] as const)
      assert.equal(verdict(chosen, object, row)?.outcome, 'changed');
  });
});
