import { Counter, type Registry } from 'prom-client';

/** What became of a span that was recorded: sent, refused or not answered by the collector, or one too many in the queue. */
export const spanOutcomes = ['exported', 'failed', 'dropped'] as const;
export type SpanOutcome = (typeof spanOutcomes)[number];

export class TracingMetrics {
  readonly #spans: Counter<'outcome'>;

  constructor(registry: Registry) {
    this.#spans = new Counter({
      name: 'ingester_trace_spans_total',
      help: 'Spans of traces that were recorded: exported, failed (the collector did not take them) or dropped (too many waited)',
      labelNames: ['outcome'],
      registers: [registry],
    });
    for (const outcome of spanOutcomes) this.#spans.inc({ outcome }, 0);
  }

  left(outcome: SpanOutcome, spans: number): void {
    this.#spans.inc({ outcome }, spans);
  }
}
