// The library as it is configured, with a collector that decodes what it gets, is away, silent or unwilling.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuthority } from '../../../hack/local/certificates.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { SpanStart, TraceSpan } from '../../../src/base/tracing.ts';
import { createWebhookMetrics } from '../../../src/metrics/metrics.ts';
import { startOpenTelemetry, type Tracing } from '../../../src/tracing/open-telemetry.ts';
import { readTraceSettings } from '../../../src/tracing/settings.ts';
import { eventually } from '../../support/eventually.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../../support/otlp-receiver.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

let receiver: OtlpReceiver;
let usual: NodeJS.ProcessEnv;
const open: Tracing[] = [];

before(async () => {
  usual = { ...process.env };
  receiver = await startOtlpReceiver();
});

afterEach(async () => {
  for (const tracing of open.splice(0)) await tracing.close();
  process.env = { ...usual };
  Object.assign(receiver, { answer: 200 });
  receiver.spans.length = 0;
  receiver.requests.length = 0;
});

after(() => receiver.close());

/** As a pod with these variables has it. */
function start(env: Readonly<Record<string, string>> = {}) {
  Object.assign(process.env, {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
    OTEL_EXPORTER_OTLP_TIMEOUT: '300',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    ...env,
  });
  const { settings, problems } = readTraceSettings(process.env);
  assert.ok(settings !== undefined, problems.join(' '));
  const logger = new RecordingLogger();
  const metrics = createWebhookMetrics();
  const parts = { role: 'webhook', version: '1.2.3', clock: systemClock, logger, metrics: metrics.tracing };
  const tracing = startOpenTelemetry(settings, parts);
  open.push(tracing);
  const counted = async (): Promise<Readonly<Record<string, number>>> => {
    const text = await metrics.registry.getSingleMetricAsString('ingester_trace_spans_total');
    const lines = [...text.matchAll(/outcome="(\w+)"\} (\d+)/g)];
    return Object.fromEntries(lines.map(([, outcome = '', count]) => [outcome, Number(count)]));
  };
  const spans = (count: number): void => {
    for (let index = 0; index < count; index += 1) tracing.start(`span ${index}`)?.end();
  };
  return { tracing, logger, counted, spans };
}

function started(tracing: Tracing, name: string, start: SpanStart): TraceSpan {
  const span = tracing.start(name, start);
  assert.ok(span !== undefined, name);
  return span;
}

function arrived(name: string): ReceivedSpan {
  const [span] = receiver.spans.filter((each) => each.name === name);
  assert.ok(span !== undefined, name);
  return span;
}

const complaint = 'Traces cannot be exported; spans are lost meanwhile';

describe('traces', () => {
  it('arrive with names, times, parents, links and what they are told', async () => {
    const { tracing, logger, counted } = start({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20s3cr3t',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    });
    const parent = { traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true } as const;
    const began = Date.now();
    const outer = started(tracing, 'outer', { kind: 'server', parent, sinceMs: performance.now() - 1000 });
    const other = started(tracing, 'other', { kind: 'consumer' });
    const inner = started(tracing, 'inner', { kind: 'client', parent: outer.reference, links: [other.reference] });
    inner.set({ 'ingester.object.name': 'x'.repeat(1000), 'ingester.attempt': 2 });
    other.link(inner.reference);
    inner.end('STORAGE_UNAVAILABLE');
    outer.end();
    other.end();
    assert.deepEqual([inner.isOver, outer.isOver], [true, true]);
    await eventually(() => assert.equal(receiver.spans.length, 3));
    const [first, second, third] = [arrived('inner'), arrived('outer'), arrived('other')];
    assert.deepEqual([first.traceId, first.parentId, first.kind], [TRACE, second.spanId, 3]);
    assert.deepEqual([second.parentId, second.kind, third.parentId, third.kind], [SPAN, 2, '', 5]);
    assert.deepEqual([first.links, third.links], [[third.spanId], [first.spanId]]);
    assert.deepEqual(first.attributes, {
      'ingester.object.name': 'x'.repeat(256),
      'ingester.attempt': 2,
      'error.type': 'STORAGE_UNAVAILABLE',
    });
    assert.deepEqual([first.failed, second.failed], [true, false]);
    const lastedMs = second.endMs - second.startMs;
    assert.ok(lastedMs >= 1000 && lastedMs < 2000, `${lastedMs} ms`);
    assert.ok(Math.abs(first.startMs - began) < 1000);
    assert.ok(first.startMs >= second.startMs);
    const { resource } = first;
    assert.equal(resource['service.name'], 'ingester-webhook');
    assert.equal(resource['service.version'], '1.2.3');
    assert.equal(resource['deployment.environment.name'], 'test');
    assert.equal(receiver.requests[0]?.headers.authorization, 'Bearer s3cr3t');
    await eventually(async () => assert.deepEqual(await counted(), { exported: 3, failed: 0, dropped: 0 }));
    assert.deepEqual(logger.messages(), ['Traces are exported']);
    assert.ok(!JSON.stringify(logger.lines).includes('s3cr3t'));
  });

  it('are named after OTEL_SERVICE_NAME, and sampled as OTEL_TRACES_SAMPLER says, with the traces they belong to', async () => {
    const { tracing, spans } = start({
      OTEL_SERVICE_NAME: 'mine',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
    });
    spans(100);
    const parent = { traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true } as const;
    assert.equal(tracing.start('not of a trace'), undefined);
    assert.equal(tracing.start('of one that is not sampled', { parent: { ...parent, traceFlags: 0 } }), undefined);
    tracing.start('of one that is', { parent })?.end();
    await eventually(() =>
      assert.deepEqual(
        receiver.spans.map(({ name }) => name),
        ['of one that is'],
      ),
    );
    assert.equal(receiver.spans[0]?.service, 'mine');
  });

  for (const answer of [429, 503, 401, 'never', 'drips'] as const) {
    it(`are lost, counted and complained of once, where the collector answers ${answer}; the rest arrives later`, async () => {
      const { logger, counted, spans } = start({ OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '5' });
      Object.assign(receiver, { answer });
      spans(10);
      await eventually(async () => assert.equal((await counted())['failed'], 10));
      assert.equal(logger.messages().filter((message) => message === complaint).length, 2);
      assert.equal(logger.lines.filter(({ level }) => level === 'warn').length, 1);
      Object.assign(receiver, { answer: 200 });
      spans(1);
      await eventually(async () => assert.equal((await counted())['exported'], 1));
      assert.equal(logger.messages().at(-1), `Over: ${complaint}`);
    });
  }

  it('arrive in the end where the collector asks for a moment', async () => {
    const { logger, counted, spans } = start({ OTEL_EXPORTER_OTLP_TIMEOUT: '10000' });
    Object.assign(receiver, { answer: 503 });
    spans(3);
    await eventually(() => assert.equal(receiver.requests.length, 1));
    Object.assign(receiver, { answer: 200 });
    await eventually(async () => assert.deepEqual(await counted(), { exported: 3, failed: 0, dropped: 0 }));
    assert.deepEqual(logger.messages(), ['Traces are exported']);
  });

  it('go over HTTPS to a collector whose authority is OTEL_EXPORTER_OTLP_CERTIFICATE, and to no other', async () => {
    const authority = await createAuthority('collector-ca');
    const folder = mkdtempSync(join(tmpdir(), 'traces-'));
    const file = join(folder, 'ca.crt');
    writeFileSync(file, authority.caPem);
    const own = await startOtlpReceiver(await authority.issue({ commonName: 'collector', hosts: ['127.0.0.1'] }));
    try {
      const unknown = start({ OTEL_EXPORTER_OTLP_ENDPOINT: own.endpoint });
      unknown.spans(1);
      await eventually(async () => assert.equal((await unknown.counted())['failed'], 1));
      assert.match(String(unknown.logger.lines.find(({ level }) => level === 'warn')?.err), /certificate/);
      start({ OTEL_EXPORTER_OTLP_ENDPOINT: own.endpoint, OTEL_EXPORTER_OTLP_CERTIFICATE: file }).spans(1);
      await eventually(() => assert.equal(own.spans.length, 1));
    } finally {
      await own.close();
      rmSync(folder, { recursive: true });
    }
  });

  it('are dropped beyond the queue while the collector is silent, and take no memory of their own', async () => {
    const { counted, spans } = start({ OTEL_BSP_MAX_QUEUE_SIZE: '20', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10' });
    Object.assign(receiver, { answer: 'never' });
    spans(1000);
    assert.deepEqual(await counted(), { exported: 0, failed: 0, dropped: 970 });
  });

  it('cost nothing where no collector listens', async () => {
    const { logger, counted, spans } = start({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
    spans(3);
    await eventually(async () => assert.equal((await counted())['failed'], 3));
    const [line] = logger.lines.filter(({ level }) => level === 'warn');
    assert.match(String(line?.err), /ECONNREFUSED/);
  });

  it('are sent when the process ends, and hold up its end for two seconds at most', async () => {
    const sent = start({ OTEL_BSP_SCHEDULE_DELAY: '60000' });
    sent.spans(3);
    await sent.tracing.close();
    assert.equal(receiver.spans.length, 3);
    Object.assign(receiver, { answer: 'never' });
    const silent = start({ OTEL_BSP_SCHEDULE_DELAY: '60000', OTEL_EXPORTER_OTLP_TIMEOUT: '60000' });
    silent.spans(3);
    const began = performance.now();
    await silent.tracing.close();
    const tookMs = performance.now() - began;
    assert.ok(tookMs >= 1900 && tookMs < 3000, `${tookMs} ms`);
    // What is closed takes no more.
    silent.spans(1);
    await delay(0);
  });
});
