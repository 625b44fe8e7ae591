import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { createWebhookMetrics } from '../../../src/metrics/metrics.ts';
import { SpanOutlet } from '../../../src/tracing/span-outlet.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { RecordingLogger } from '../../support/recording-logger.ts';

describe('the way of spans out of the process', () => {
  it('counts an export once, also where its answer comes after it was given up', async () => {
    const [clock, logger, metrics] = [new FakeClock(), new RecordingLogger(), createWebhookMetrics()];
    const answers: ((result: ExportResult) => void)[] = [];
    const exporter: SpanExporter = {
      export: (_, told) => void answers.push(told),
      shutdown: () => Promise.resolve(),
    };
    const outlet = new SpanOutlet({
      ...{ exporter, queueSpans: 10, timeoutMs: 1000, clock, logger, metrics: metrics.tracing },
      batches: (own) => new BatchSpanProcessor({ exporter: own, maxExportBatchSize: 1 }),
    });
    const tracer = new TracerProvider({ spanProcessors: [outlet] }).getTracer('test');
    tracer.startSpan('a').end();
    assert.equal(answers.length, 1);
    await clock.advance(2001);
    answers[0]?.({ code: ExportResultCode.SUCCESS });
    const text = await metrics.registry.getSingleMetricAsString('ingester_trace_spans_total');
    assert.match(text, /outcome="exported"\} 0\n.*outcome="failed"\} 1\n.*outcome="dropped"\} 0/);
    assert.equal(logger.lines.length, 1);
    assert.match(String(logger.lines[0]?.err), /no whole answer in 1000 ms/);
  });
});
