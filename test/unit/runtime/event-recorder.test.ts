import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { redact } from '../../../src/base/redact.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { EventRecorder, type EventRecorderOptions } from '../../../src/runtime/event-recorder.ts';
import { cutToBytes, type ObjectEvent } from '../../../src/runtime/event-series.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { FakeKubeClient } from '../../support/fake-kube-client.ts';
import { aModel } from '../../support/objects.ts';
import { ContextLogger } from './context-logger.ts';

const evicted: ObjectEvent = { type: 'Normal', reason: 'Evicted', action: 'Evict', note: 'moved to MySQL' };
const model = (name: string): KubernetesObject => aModel({ name, namespace: 'ns', uid: `uid-of-${name}` });

/** The Events that the server has, in the order of their creation. */
function eventsOf(server: FakeKubeClient, names: readonly string[]): readonly KubernetesObject[] {
  return names.map((name) => server.object(`ns/${name}`)).filter((object) => object !== undefined);
}

function setUp(more: Partial<EventRecorderOptions> = {}) {
  const clock = new FakeClock();
  const server = new FakeKubeClient();
  const logger = new ContextLogger();
  const stop = new AbortController();
  const created: string[] = [];
  const recorder = new EventRecorder({
    client: {
      create: async (resource, namespace, object) => {
        const stored = await server.create(resource, namespace, object);
        created.push(stored.metadata.name);
        return stored;
      },
      mergePatch: (ref, patch) => server.mergePatch(ref, patch),
    },
    reporter: { controller: 'michelangelo.api/ingester', instance: 'pod-1' },
    clock,
    logger,
    ...more,
  });
  const finished = recorder.run(stop.signal);
  const events = (): readonly KubernetesObject[] => eventsOf(server, created);
  const end = async (): Promise<void> => {
    stop.abort();
    await finished;
    assert.equal(clock.pending, 0, 'a timer is left');
  };
  return { clock, server, logger, recorder, stop, events, end };
}

const unavailable = (call: string) => ({ call, error: new KubeError('Unavailable', 'connection refused') });

/** Refuses events in the namespace `ns` as the API server does while it is being deleted, and keeps what it is asked for. */
function leavingNamespace() {
  const asked: { readonly namespace: string; readonly body: Record<string, unknown> }[] = [];
  const server = new FakeKubeClient();
  let leaving = true;
  const client: EventRecorderOptions['client'] = {
    create: (resource, namespace, object) => {
      asked.push({ namespace, body: object as Record<string, unknown> });
      if (leaving && namespace === 'ns') {
        const message = 'unable to create new content in namespace ns because it is being terminated';
        return Promise.reject(new KubeError('Forbidden', message));
      }
      return server.create(resource, namespace, object);
    },
    mergePatch: (ref, patch) => server.mergePatch(ref, patch),
  };
  return { client, asked, end: () => (leaving = false) };
}

describe('EventRecorder', () => {
  it('tells of a namespace that is being deleted what it cannot tell in it, as one Event however many objects wait', async () => {
    const { client, asked, end: namespaceIsBack } = leavingNamespace();
    let dropped = 0;
    const { recorder, clock, end } = setUp({ client, onDropped: () => (dropped += 1) });
    const blocked: ObjectEvent = {
      type: 'Warning',
      reason: 'TerminatingBlocked',
      action: 'Delete',
      note: 'MySQL is down',
    };
    for (let object = 0; object < 50; object += 1) recorder.record(model(`m${object}`), blocked);
    await settle();
    assert.deepEqual(
      asked.map(({ namespace }) => namespace),
      ['ns', 'default'],
    );
    const { regarding, reason, note } = asked[1]?.body ?? {};
    assert.deepEqual(
      [regarding, reason, note],
      [
        { apiVersion: 'v1', kind: 'Namespace', name: 'ns', uid: '', resourceVersion: '' },
        'TerminatingBlocked',
        'Model m0: MySQL is down',
      ],
    );
    assert.deepEqual([dropped, recorder.dropped], [0, 0]);
    namespaceIsBack();
    await clock.advance(60_000);
    recorder.record(model('later'), blocked);
    await settle();
    assert.deepEqual([asked.at(-1)?.namespace, asked.length], ['ns', 3], 'the name of a namespace may come back');
    await end();
  });

  it('writes an Event of events.k8s.io about the object', async () => {
    const { recorder, events, end } = setUp();
    recorder.record(model('a'), evicted);
    await settle();
    const [event] = events();
    assert.match(event?.metadata.name ?? '', /^a\.[0-9a-f]{16}$/);
    const { apiVersion, kind, metadata, ...rest } = event!;
    assert.deepEqual([apiVersion, kind, metadata.namespace], ['events.k8s.io/v1', 'Event', 'ns']);
    assert.deepEqual(rest, {
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'michelangelo.api/ingester',
      reportingInstance: 'pod-1',
      regarding: {
        apiVersion: 'michelangelo.api/v2',
        kind: 'Model',
        namespace: 'ns',
        name: 'a',
        uid: 'uid-of-a',
        resourceVersion: '10',
      },
      type: 'Normal',
      reason: 'Evicted',
      action: 'Evict',
      note: 'moved to MySQL',
    });
    await end();
  });

  it('makes one series of an Event that is recorded again, counts it, and writes it seldom', async () => {
    const { clock, server, recorder, events, end } = setUp();
    recorder.record(model('a'), evicted);
    await settle();
    assert.equal(events()[0]?.['series'], undefined);
    await clock.advance(1000);
    recorder.record(model('a'), { ...evicted, note: 'moved again' });
    await settle();
    assert.deepEqual(events()[0]?.['series'], { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' });
    for (let repeat = 0; repeat < 100; repeat += 1) recorder.record(model('a'), evicted);
    await settle();
    assert.equal(server.calls.length, 2, 'further repeats are only counted');
    await clock.advance(60_000);
    assert.equal((events()[0]?.['series'] as { count: number }).count, 102);
    assert.equal(events().length, 1);
    await end();
  });

  it('writes an Event that was repeated before its first write in one call', async () => {
    const { server, recorder, events, end } = setUp();
    for (let repeat = 0; repeat < 3; repeat += 1) recorder.record(model('a'), evicted);
    await settle();
    assert.deepEqual(server.calls, ['create']);
    assert.equal((events()[0]?.['series'] as { count: number }).count, 3);
    await end();
  });

  it('tells series apart by object, type, reason and action', async () => {
    const { recorder, events, end } = setUp();
    recorder.record(model('a'), evicted);
    recorder.record(model('b'), evicted);
    recorder.record(model('a'), { ...evicted, reason: 'Other' });
    recorder.record(model('a'), { ...evicted, action: 'Other' });
    recorder.record(model('a'), { ...evicted, type: 'Warning' });
    await settle();
    assert.equal(events().length, 5);
    await end();
  });

  it('forgets a series that has ended, and leaves no timer then', async () => {
    const { clock, recorder, events, end } = setUp();
    recorder.record(model('a'), evicted);
    await clock.advance(8 * 60_000);
    assert.equal(clock.pending, 0);
    recorder.record(model('a'), evicted);
    await settle();
    assert.equal(events().length, 2);
    await end();
  });

  it('starts another event when the API server has dropped the first of a series', async () => {
    const { clock, server, recorder, events, end } = setUp();
    recorder.record(model('a'), evicted);
    await settle();
    server.remove(`ns/${events()[0]?.metadata.name}`);
    await clock.advance(10);
    recorder.record(model('a'), evicted);
    await settle();
    assert.deepEqual(
      events().map((event) => (event['series'] as { count: number }).count),
      [2],
    );
    await end();
  });

  it('tries again while the API server is away, and keeps the order', async () => {
    const { clock, server, recorder, events, end } = setUp({});
    server.failures.push(unavailable('create'), unavailable('create'));
    recorder.record(model('a'), evicted);
    recorder.record(model('b'), evicted);
    await settle();
    assert.equal(events().length, 0);
    await clock.advance(10_000);
    assert.deepEqual(
      events().map((event) => (event['regarding'] as { name: string }).name),
      ['a', 'b'],
    );
    assert.equal(recorder.dropped, 0);
    await end();
  });

  it('drops what the API server refuses, and never throws', async () => {
    const { server, recorder, logger, events, end } = setUp();
    server.failures.push({ call: 'create', error: new KubeError('Forbidden', 'the namespace is terminating') });
    recorder.record(model('a'), evicted);
    recorder.record(model('b'), evicted);
    await settle();
    assert.equal(events().length, 1);
    assert.equal(recorder.dropped, 1);
    assert.deepEqual(logger.shown(), [['warn', 'An event could not be written; dropping it']]);
    await end();
  });

  it('never waits: when too many are queued, they are dropped and counted', async () => {
    const { recorder, logger, events, end } = setUp({ queueLimit: 10 });
    for (let index = 0; index < 100; index += 1) recorder.record(model(`m-${index}`), evicted);
    assert.equal(recorder.dropped, 90);
    assert.ok(logger.shown().length <= 8, 'and the log is not flooded either');
    for (let turn = 0; turn < 5; turn += 1) await settle();
    assert.equal(events().length, 10);
    await end();
  });

  it('remembers no more series than its limit', async () => {
    const { recorder, events, end } = setUp({ seriesLimit: 2 });
    for (const name of ['a', 'b', 'c', 'a']) {
      recorder.record(model(name), evicted);
      await settle();
    }
    assert.equal(events().length, 3, 'the second event about a has the name of the first');
    await end();
  });

  it('writes queued Events when it stops, and gives up when the API server is away', async () => {
    const one = setUp();
    one.recorder.record(model('a'), evicted);
    await settle();
    one.recorder.record(model('a'), evicted);
    await settle();
    one.recorder.record(model('a'), evicted);
    await one.end();
    assert.equal((one.events()[0]?.['series'] as { count: number }).count, 3);
    const two = setUp();
    for (const name of ['a', 'b', 'c']) two.recorder.record(model(name), evicted);
    two.server.failures.push(unavailable('create'));
    await two.end();
    assert.equal(two.server.calls.length, 1);
  });

  it('puts events about cluster-scoped objects into the default namespace', async () => {
    const { server, recorder, end } = setUp();
    recorder.record({ ...model('a'), metadata: { ...model('a').metadata, namespace: '' } }, evicted);
    await settle();
    assert.deepEqual(server.calls, ['create']);
    await end();
  });

  it('blots out secrets before it cuts the note to 1 KiB', async () => {
    const { recorder, events, end } = setUp();
    const secret = 'mysql://root:hunter2@db:3306';
    recorder.record(model('a'), { ...evicted, note: `${'x'.repeat(1010)} ${secret} ${'ü'.repeat(600)}` });
    await settle();
    const note = events()[0]?.['note'] as string;
    assert.ok(!note.includes('hunter'));
    assert.ok(Buffer.byteLength(note) <= 1024);
    await end();
  });
});

describe('redact', () => {
  for (const [text, expected] of [
    ['mysql://root:hunter2@db:3306/x', 'mysql://root:***@db:3306/x'],
    ['Authorization: Bearer abc.def-123', 'Authorization: ***'],
    ['sent bearer abc.def-123 to it', 'sent bearer *** to it'],
    ['password: "token": "hunter2"', 'password: ***'],
    ['password=hunter2, user=root', 'password= ***, user=root'],
    ['"token": "abc def"', '"token": ***'],
    ['the password is wrong', 'the password is wrong'],
    ['eyJhbGciOi.eyJzdWIi.c2ln is a token', '*** is a token'],
  ] as const) {
    it(`"${text}" becomes "${expected}"`, () => assert.equal(redact(text), expected));
  }
});

describe('cutToBytes', () => {
  it('leaves what fits, and never cuts a character in two', () => {
    assert.equal(cutToBytes('abc', 3), 'abc');
    assert.equal(cutToBytes('aüüü', 6), 'aü…');
    assert.equal(cutToBytes('😀😀', 7), '😀…');
  });
});
