import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CodedError } from '../../../src/base/errors.ts';
import { activeSpan } from '../../../src/base/tracing.ts';
import type { WatchedObject } from '../../../src/kube/watched-object.ts';
import { TerminalError } from '../../../src/runtime/errors.ts';
import { done, type ReconcileResult } from '../../../src/runtime/reconcile.ts';
import { ChangeTraces } from '../../../src/sync/change-traces.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { modelKind } from '../../support/objects.ts';
import { RecordingTracer } from '../../support/recording-tracer.ts';

const later: ReconcileResult = { kind: 'requeue-after', delayMs: 1000 };

function setUp() {
  const clock = new FakeClock();
  const tracer = new RecordingTracer();
  const traces = new ChangeTraces({ kind: modelKind, tracer, clock });
  const noted: object[] = [];
  const object = (name: string, resourceVersion = '1'): WatchedObject => {
    const identity = { namespace: 'ns', name, uid: `uid-${name}`, resourceVersion };
    return { key: `ns/${name}`, identity } as unknown as WatchedObject;
  };
  const created = (name: string): boolean => traces.noted.create({ object: object(name), initial: false });
  const updated = (name: string, version: string): boolean =>
    traces.noted.update({ before: object(name), after: object(name, version) });
  const attempt = (name: string, work: () => Promise<ReconcileResult> = () => Promise.resolve(done)) =>
    traces.around(`ns/${name}`, work, { note: (fields) => noted.push(fields) });
  const fails = (name: string, error: Error = new CodedError('AWAY', 'with s3cr3t', { retry: 'yes' })) =>
    assert.rejects(attempt(name, () => Promise.reject(error)));
  const outline = (): readonly string[] => tracer.spans.map(({ name, failure = 'well' }) => `${name} ${failure}`);
  return { clock, tracer, traces, noted, object, created, updated, attempt, fails, outline };
}

describe('the trace of a change', () => {
  it('begins with its event, and has how long it waited and what was done', async () => {
    const { clock, tracer, noted, created, attempt } = setUp();
    assert.equal(created('a'), true);
    const eventMs = clock.monotonicMs();
    await clock.advance(300);
    let active: string | undefined;
    await attempt('a', async () => {
      await Promise.resolve();
      active = activeSpan()?.reference.spanId;
      return done;
    });
    const [root, queue, reconcile] = [tracer.only('sync Model'), tracer.only('queue'), tracer.only('reconcile')];
    assert.deepEqual(
      tracer.spans.map(({ name }) => name),
      ['sync Model', 'queue', 'reconcile'],
    );
    assert.deepEqual(root.start, { kind: 'consumer', sinceMs: eventMs });
    assert.deepEqual(queue.start, { parent: root.reference, sinceMs: eventMs });
    assert.deepEqual(reconcile.start, { parent: root.reference });
    const object = {
      'ingester.object.kind': 'Model',
      'k8s.namespace.name': 'ns',
      'ingester.object.name': 'a',
      'ingester.object.uid': 'uid-a',
      'ingester.object.resource_version': '1',
    };
    assert.deepEqual(root.attributes, { ...object, 'ingester.change': 'created', 'ingester.outcome': 'done' });
    assert.deepEqual(reconcile.attributes, { ...object, 'ingester.attempt': 1, 'ingester.outcome': 'done' });
    assert.ok(tracer.spans.every(({ isOver, failure }) => isOver && failure === undefined));
    assert.equal(active, reconcile.reference.spanId);
    assert.deepEqual(noted, [{ trace_id: reconcile.reference.traceId, span_id: reconcile.reference.spanId }]);
  });

  it('is one for the changes that wait together, and of the newest state', async () => {
    const { clock, tracer, created, updated, attempt } = setUp();
    const eventMs = clock.monotonicMs();
    created('a');
    await clock.advance(100);
    updated('a', '7');
    await attempt('a');
    assert.equal(tracer.only('sync Model').start.sinceMs, eventMs, 'it begins with the first');
    await attempt('a');
    assert.equal(tracer.named('sync Model').length, 1);
    assert.equal(tracer.named('sync Model')[0]?.attributes['ingester.object.resource_version'], '7');
    assert.equal(tracer.named('reconcile').length, 1);
  });

  it('goes on with the attempts after a failure, which is told by its code alone', async () => {
    const { tracer, created, updated, attempt, fails, outline } = setUp();
    created('a');
    await fails('a');
    await attempt('a', () => Promise.resolve(later));
    updated('a', '2');
    await attempt('a');
    await attempt('a');
    assert.deepEqual(outline(), [
      ...['sync Model AWAY', 'queue well', 'reconcile AWAY'],
      'reconcile well',
      ...['queue well', 'reconcile well'],
    ]);
    assert.equal(new Set(tracer.spans.map(({ reference }) => reference.traceId)).size, 1);
    assert.deepEqual(
      tracer.named('reconcile').map(({ attributes }) => attributes['ingester.attempt']),
      [1, 2, 3],
    );
    for (const { attributes } of tracer.named('reconcile')) assert.equal(attributes['ingester.object.uid'], 'uid-a');
    assert.ok(!JSON.stringify(tracer.spans).includes('s3cr3t'));
  });

  it('ends with a failure for good, and after many attempts', async () => {
    const { tracer, created, attempt, fails } = setUp();
    created('a');
    await fails('a', new TerminalError('no'));
    await attempt('a');
    assert.equal(tracer.named('reconcile').length, 1);
    created('b');
    for (let index = 0; index < 50; index += 1) await fails('b');
    assert.equal(tracer.named('reconcile').length, 1 + 32);
  });

  it('is not there for work without a change, nor where it is not sampled', async () => {
    const { tracer, noted, created, attempt, fails } = setUp();
    await attempt('a', () => Promise.resolve(later));
    tracer.samples = false;
    created('a');
    await fails('a');
    await attempt('a');
    assert.deepEqual([tracer.spans, noted], [[], []]);
  });

  it('keeps a bounded number of changes and of traces that go on', async () => {
    const { tracer, created, fails, attempt } = setUp();
    for (let index = 0; index < 10_001; index += 1) created(`o-${index}`);
    await attempt('o-10000');
    assert.deepEqual(tracer.spans, []);
    for (let index = 0; index < 1001; index += 1) await fails(`o-${index}`);
    const before = tracer.spans.length;
    await attempt('o-0');
    assert.equal(tracer.spans.length, before, 'the oldest is forgotten');
    await attempt('o-1');
    assert.equal(tracer.spans.length, before + 1);
  });
});
