// The way of spans out of the process, which bounds and counts them: how many wait, how long an export may take, and what
// became of each. A collector that is away, slow or silent costs the spans and nothing else.
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { BatchSpanProcessor, ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import type { Clock } from '../base/clock.ts';
import { Complaint } from '../base/complaint.ts';
import { CodedError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { TracingMetrics } from '../metrics/tracing.ts';

/** The collector did not take spans. They are lost; nothing else is. */
export class TraceExportError extends CodedError {
  constructor(cause: unknown) {
    super('TRACE_EXPORT_FAILED', `The collector did not take spans: ${messageOf(cause)}`, { retry: 'yes' });
  }
}

/** The exporter ends a call in which nothing comes for its timeout; a collector that drips has so much more. */
const GRACE_MS = 1000;

export interface OutletOptions {
  readonly exporter: SpanExporter;
  /** Spans that wait; more are dropped. */
  readonly queueSpans: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: TracingMetrics;
  /** What gathers spans and hands batches to the exporter that it is given. */
  readonly batches: (exporter: SpanExporter) => BatchSpanProcessor;
}

export class SpanOutlet implements SpanProcessor {
  readonly #options: OutletOptions;
  readonly #batches: BatchSpanProcessor;
  readonly #complaint: Complaint;
  #waiting = 0;

  constructor(options: OutletOptions) {
    this.#options = options;
    const { exporter } = options;
    this.#complaint = new Complaint(options.logger, 'Traces cannot be exported; spans are lost meanwhile');
    this.#batches = options.batches({
      export: (spans, told) => this.#export(spans, told),
      shutdown: () => exporter.shutdown(),
    });
  }

  onStart(): void {
    // Nothing is kept of a span before it ends.
  }

  onEnd(span: ReadableSpan): void {
    const { queueSpans, metrics } = this.#options;
    if (this.#waiting >= queueSpans) {
      metrics.left('dropped', 1);
      return;
    }
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }

  #export(spans: ReadableSpan[], told: (result: ExportResult) => void): void {
    const { exporter, clock, timeoutMs } = this.#options;
    this.#waiting -= spans.length;
    let isOver = false;
    const over = (result: ExportResult): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      this.#count(spans.length, result);
      told(result);
    };
    const fail = (error: Error): void => over({ code: ExportResultCode.FAILED, error });
    const cancel = clock.schedule(timeoutMs + GRACE_MS, () => fail(new Error(`no whole answer in ${timeoutMs} ms`)));
    exporter.export(spans, over);
  }

  #count(spans: number, { code, error }: ExportResult): void {
    const { metrics } = this.#options;
    if (code === ExportResultCode.SUCCESS) {
      metrics.left('exported', spans);
      this.#complaint.over();
      return;
    }
    metrics.left('failed', spans);
    this.#complaint.say(new TraceExportError(error ?? 'no reason is known'));
  }
}
