// What a role tells of its work as spans of traces (OpenTelemetry). A port: only src/tracing knows the library, and only where
// traces are switched on. The span that work is done in goes with it through promises, so that what the work logs and
// writes can name it.
import { AsyncLocalStorage } from 'node:async_hooks';

export type SpanAttributes = Readonly<Record<string, string | number>>;

/** Names a span to others: those whose parent it is, and those that are linked with it. */
export interface SpanReference {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  /** Of another process. */
  readonly isRemote?: true;
}

export interface TraceSpan {
  readonly reference: SpanReference;
  /** After `end`. */
  readonly isOver: boolean;
  set(attributes: SpanAttributes): void;
  link(other: SpanReference): void;
  /** `failure`: the code of what made it fail. Never a message: those may quote what users wrote. */
  end(failure?: string): void;
}

export interface SpanStart {
  readonly kind?: 'server' | 'client' | 'consumer';
  /** Without one the span begins a trace. */
  readonly parent?: SpanReference | undefined;
  /** When it began, on the monotonic clock; now unless given. */
  readonly sinceMs?: number;
  readonly links?: readonly SpanReference[];
}

export interface Tracer {
  /** Undefined where the trace is not among those that are sampled; then nothing below it is told either. */
  start(name: string, start?: SpanStart): TraceSpan | undefined;
}

const active = new AsyncLocalStorage<TraceSpan | undefined>();

/** The span of the work that asks. What outlives it, such as a timer that it started for others, has none. */
export function activeSpan(): TraceSpan | undefined {
  const span = active.getStore();
  return span?.isOver === true ? undefined : span;
}

/** Without a span the work is outside of the one that it is started from: it goes on for others. */
export function withSpan<T>(span: TraceSpan | undefined, work: () => T): T {
  return active.getStore() === span ? work() : active.run(span, work);
}

/** What a line of the log says of a span. */
export function logFieldsOf({ reference }: TraceSpan): { readonly trace_id: string; readonly span_id: string } {
  return { trace_id: reference.traceId, span_id: reference.spanId };
}

/** Version 00 of W3C Trace Context; of later ones what they have in common with it. */
const TRACE_PARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-|$)/;

/** The span that a caller names by the header `traceparent`; undefined where it names none. */
export function callersSpan(traceparent: unknown): SpanReference | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const [, traceId, spanId, flags = ''] = TRACE_PARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}
