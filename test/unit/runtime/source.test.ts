// The scenarios of controller-runtime's source tests and internal event handler tests.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CodedError } from '../../../src/base/errors.ts';
import type { KnownObject } from '../../../src/kube/watched-object.ts';
import { type EventHandler, enqueueForObject } from '../../../src/runtime/handler.ts';
import { type Predicate, predicateFuncs } from '../../../src/runtime/predicate.ts';
import { kindSource } from '../../../src/runtime/source.ts';
import { LOW_PRIORITY } from '../../../src/runtime/work-queue.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { aModel } from '../../support/objects.ts';
import { ContextLogger } from './context-logger.ts';
import { FakeInformer } from './fake-informer.ts';
import { RecordingQueue } from './recording-queue.ts';

const model = (name: string, resourceVersion = '1') => aModel({ name, namespace: 'ns', resourceVersion });

function context() {
  const stop = new AbortController();
  return { clock: new FakeClock(), logger: new ContextLogger(), queue: new RecordingQueue(), stop };
}

async function startKind(informer: FakeInformer, more: { handler?: EventHandler; predicates?: Predicate[] } = {}) {
  const parts = context();
  const source = kindSource({ name: 'kind', informer: () => informer, handler: enqueueForObject(), ...more });
  await source.start(parts, parts.stop.signal);
  return { ...parts, source, keys: () => parts.queue.take().map(([key]) => key) };
}

/** Records what reaches it; throws as often as told. */
function recordingHandler(failures = 0) {
  const events: unknown[] = [];
  const record = (type: string, event: object): void => {
    failures -= 1;
    if (failures >= 0) throw new CodedError('HANDLER', 'broken');
    events.push([type, event]);
  };
  const whole = ({ watched }: KnownObject) => watched?.parse();
  const handler: EventHandler = {
    create: ({ object, initial }) => record('create', { object: whole(object), initial }),
    update: ({ before, after }) => record('update', { before: whole(before), after: whole(after) }),
    delete: ({ object, finalStateUnknown }) => record('delete', { object: whole(object), finalStateUnknown }),
  };
  return { handler, events };
}

describe('Kind source', () => {
  it('should provide a Create, an Update and a Delete event, tombstones marked as such', async () => {
    const informer = new FakeInformer();
    const { handler, events } = recordingHandler();
    await startKind(informer, { handler });
    const [one, two] = [model('a', '1'), model('a', '2')];
    informer.add(one);
    informer.update(one, two);
    informer.delete(two, true);
    assert.deepEqual(events, [
      ['create', { object: one, initial: false }],
      ['update', { before: one, after: two }],
      ['delete', { object: two, finalStateUnknown: true }],
    ]);
  });

  it('brings the initial list with low priority', async () => {
    const { queue } = await startKind(new FakeInformer([model('a')]));
    assert.deepEqual(queue.take(), [['ns/a', { priority: LOW_PRIORITY }]]);
  });

  it('lets an event through only if all predicates agree', async () => {
    const informer = new FakeInformer();
    const asked: string[] = [];
    const says = (name: string, verdict: boolean): Predicate =>
      predicateFuncs({ create: () => (asked.push(name), verdict) });
    const { keys } = await startKind(informer, {
      predicates: [says('yes', true), says('no', false), says('late', true)],
    });
    informer.add(model('a'));
    assert.deepEqual(keys(), []);
    assert.deepEqual(asked, ['yes', 'no']);
    informer.update(model('a', '1'), model('a', '2'));
    assert.deepEqual(keys(), ['ns/a']);
  });

  it('is synced when this handler was given the whole initial list', async () => {
    const informer = new FakeInformer();
    const { source, clock, stop } = await startKind(informer);
    let synced = false;
    const waited = source.waitForSync?.(stop.signal).then(() => (synced = true));
    await clock.advance(1000);
    assert.equal(synced, false);
    informer.synced = true;
    await clock.advance(100);
    assert.equal(synced, true);
    await waited;
    assert.equal(clock.pending, 0);
  });

  it('asks for the informer again every ten seconds while there is none', async () => {
    const parts = context();
    const informer = new FakeInformer();
    let installed = false;
    const source = kindSource({
      name: 'kind',
      informer: () => (installed ? informer : undefined),
      handler: enqueueForObject(),
    });
    await source.start(parts, parts.stop.signal);
    await parts.clock.advance(20_000);
    installed = true;
    assert.equal(informer.handlers.size, 0);
    await parts.clock.advance(10_000);
    assert.equal(informer.handlers.size, 1);
    parts.stop.abort();
    assert.equal(parts.clock.pending, 0);
  });

  it('leaves no timer when it is stopped while there is no informer', async () => {
    const parts = context();
    const source = kindSource({ name: 'kind', informer: () => undefined, handler: enqueueForObject() });
    await source.start(parts, parts.stop.signal);
    const waited = source.waitForSync?.(parts.stop.signal);
    parts.stop.abort();
    await waited;
    await settle();
    assert.equal(parts.clock.pending, 0);
  });

  it('takes its handler back from the informer when it is stopped', async () => {
    const informer = new FakeInformer();
    const { stop } = await startKind(informer);
    await settle();
    assert.equal(informer.handlers.size, 1);
    stop.abort();
    assert.equal(informer.handlers.size, 0);
  });
});

describe('Kind source, when a handler throws', () => {
  it('delivers the event again until the handler takes it, and the others at once', async () => {
    const informer = new FakeInformer();
    const { handler, events } = recordingHandler(2);
    const { clock, logger, stop } = await startKind(informer, { handler });
    informer.add(model('a'));
    await clock.advance(1000);
    informer.add(model('b'));
    assert.deepEqual(events, [['create', { object: model('b'), initial: false }]]);
    await clock.advance(2000);
    assert.deepEqual(events.at(-1), ['create', { object: model('a'), initial: false }]);
    assert.deepEqual(logger.shown(), [['error', 'An event handler failed; delivering again']]);
    stop.abort();
    assert.equal(clock.pending, 0);
  });

  it('keeps the order of the events of one object, and one update of many', async () => {
    const informer = new FakeInformer();
    const { handler, events } = recordingHandler(1);
    const { clock } = await startKind(informer, { handler });
    informer.add(model('a', '1'));
    informer.update(model('a', '1'), model('a', '2'));
    informer.update(model('a', '2'), model('a', '3'));
    informer.delete(model('a', '3'));
    assert.deepEqual(events, []);
    await clock.advance(1000);
    assert.deepEqual(events, [
      ['create', { object: model('a', '1'), initial: false }],
      ['update', { before: model('a', '1'), after: model('a', '3') }],
      ['delete', { object: model('a', '3'), finalStateUnknown: false }],
    ]);
  });

  it('leaves no timer when it is stopped meanwhile', async () => {
    const informer = new FakeInformer();
    const { clock, stop } = await startKind(informer, { handler: recordingHandler(9).handler });
    informer.add(model('a'));
    await settle();
    assert.equal(clock.pending, 1);
    stop.abort();
    assert.equal(clock.pending, 0);
  });
});
