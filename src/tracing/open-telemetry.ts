// The tracer of a process, by the library of OpenTelemetry. Loaded only where traces are exported. Nothing of it is registered
// globally: a library that makes spans of its own makes none here.
import { hostname } from 'node:os';
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { type Clock, within } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { SpanAttributes, SpanReference, SpanStart, Tracer, TraceSpan } from '../base/tracing.ts';
import type { TracingMetrics } from '../metrics/tracing.ts';
import type { TraceSettings } from './settings.ts';
import { SpanOutlet } from './span-outlet.ts';

export interface Tracing extends Tracer {
  /** Sends what is left, for two seconds at most. */
  close(): Promise<void>;
}

export interface TracingParts {
  /** Names the service, unless OTEL_SERVICE_NAME does. */
  readonly role: string;
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: TracingMetrics;
}

/** Names of Kubernetes have 253 characters at most; all that a span holds is bounded by these. */
const LIMITS = { attributeValueLengthLimit: 256, attributeCountLimit: 24, linkCountLimit: 128, eventCountLimit: 1 };
/** Exports at the same time: one, and what is left when the process ends. */
const EXPORTS = 8;
const CLOSING_MS = 2000;

export function startOpenTelemetry(settings: TraceSettings, parts: TracingParts): Tracing {
  const { role, version, clock, logger, metrics } = parts;
  const { queueSpans, timeoutMs, endpoint, sampler, ratio } = settings;
  const batch = { maxExportBatchSize: settings.batchSpans, scheduledDelayMillis: settings.delayMs };
  const outlet = new SpanOutlet({
    // Its address, headers, compression and certificates are those of the environment.
    exporter: new OTLPTraceExporter({ concurrencyLimit: EXPORTS, timeoutMillis: timeoutMs }),
    ...{ queueSpans, timeoutMs, clock, logger, metrics },
    batches: (exporter) => new BatchSpanProcessor({ exporter, maxQueueSize: queueSpans, ...batch }),
  });
  const resource = resourceOf(role, version);
  const provider = new TracerProvider({
    ...{ resource, sampler: samplerOf(settings), spanLimits: LIMITS, spanProcessors: [outlet] },
  });
  logger.info({ endpoint, sampler, ratio }, 'Traces are exported');
  const tracer = new OtelTracer(provider, version);
  // Spans that the collector did not take are counted and logged as an error by the outlet.
  const flushed = (): Promise<unknown> =>
    provider.shutdown().catch((error: unknown) => logger.debug({ err: error }, 'The rest of the traces was not sent'));
  return {
    start: (name, start) => tracer.start(name, start),
    close: async () => {
      await within({ clock, timeoutMs: CLOSING_MS }, flushed, () => undefined);
    },
  };
}

function resourceOf(role: string, version: string): Resource {
  const own = {
    'service.name': `ingester-${role}`,
    'service.version': version,
    // The name of the pod.
    'service.instance.id': hostname(),
  };
  const named = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
  return defaultResource().merge(resourceFromAttributes(own)).merge(named);
}

function samplerOf({ sampler, ratio }: TraceSettings): Sampler {
  const ofParent = 'parentbased_';
  if (sampler.startsWith(ofParent))
    return new ParentBasedSampler({ root: rootSampler(sampler.slice(ofParent.length), ratio) });
  return rootSampler(sampler, ratio);
}

function rootSampler(name: string, ratio: number): Sampler {
  if (name === 'always_off') return new AlwaysOffSampler();
  return name === 'always_on' ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(ratio);
}

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER } as const;

class OtelTracer implements Tracer {
  readonly #tracer: ReturnType<TracerProvider['getTracer']>;
  readonly #time = new SpanTime();

  constructor(provider: TracerProvider, version: string) {
    this.#tracer = provider.getTracer('michelangelo-ingester', version);
  }

  start(name: string, { kind, parent, sinceMs, links = [] }: SpanStart = {}): TraceSpan | undefined {
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent);
    const span = this.#tracer.startSpan(
      name,
      {
        kind: kind === undefined ? SpanKind.INTERNAL : kinds[kind],
        startTime: this.#time.at(sinceMs ?? performance.now()),
        links: links.map((link) => ({ context: link })),
      },
      context,
    );
    return span.isRecording() ? new OtelSpan(span, this.#time) : undefined;
  }
}

class OtelSpan implements TraceSpan {
  readonly #span: Span;
  readonly #time: SpanTime;

  constructor(span: Span, time: SpanTime) {
    this.#span = span;
    this.#time = time;
  }

  get reference(): SpanReference {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return { traceId, spanId, traceFlags };
  }

  get isOver(): boolean {
    return !this.#span.isRecording();
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes);
  }

  link(other: SpanReference): void {
    this.#span.addLink({ context: other });
  }

  end(failure?: string): void {
    if (failure !== undefined) {
      this.#span.setAttribute('error.type', failure);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end(this.#time.at(performance.now()));
  }
}

/** Steps of the wall clock above this are taken over; below it spans that begin and end together stay in order. */
const STEP_MS = 20;

/**
 * Milliseconds since 1970 of a monotonic time, with fractions: Date.now() has none, and the start of the process plus the
 * monotonic clock drifts away from it in days.
 */
class SpanTime {
  #offsetMs = Date.now() - performance.now();

  at(monotonicMs: number): number {
    const offsetMs = Date.now() - performance.now();
    if (Math.abs(offsetMs - this.#offsetMs) > STEP_MS) this.#offsetMs = offsetMs;
    return this.#offsetMs + monotonicMs;
  }
}
