import assert from 'node:assert/strict';
import type { SpanAttributes, SpanReference, SpanStart, Tracer, TraceSpan } from '../../src/base/tracing.ts';

export class RecordedSpan implements TraceSpan {
  readonly name: string;
  readonly start: SpanStart;
  readonly reference: SpanReference;
  readonly attributes: Record<string, string | number> = {};
  readonly links: SpanReference[];
  failure: string | undefined;
  isOver = false;

  constructor(name: string, start: SpanStart, number: number) {
    const hex = (digits: number): string => number.toString(16).padStart(digits, '0');
    this.name = name;
    this.start = start;
    this.reference = { traceId: start.parent?.traceId ?? hex(32), spanId: hex(16), traceFlags: 1 };
    this.links = [...(start.links ?? [])];
  }

  set(attributes: SpanAttributes): void {
    Object.assign(this.attributes, attributes);
  }

  link(other: SpanReference): void {
    this.links.push(other);
  }

  end(failure?: string): void {
    this.failure = failure;
    this.isOver = true;
  }
}

/** Keeps every span, so that a test can look at it. */
export class RecordingTracer implements Tracer {
  readonly spans: RecordedSpan[] = [];
  /** Whether a span that begins a trace is sampled. */
  samples = true;

  start(name: string, start: SpanStart = {}): RecordedSpan | undefined {
    if (!this.samples && start.parent === undefined) return undefined;
    const span = new RecordedSpan(name, start, this.spans.length + 1);
    this.spans.push(span);
    return span;
  }

  /** The one span of this name. */
  only(name: string): RecordedSpan {
    const [span, ...others] = this.named(name);
    assert.ok(span !== undefined && others.length === 0, `${others.length + 1} spans ${name}`);
    return span;
  }

  named(name: string): readonly RecordedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }
}
