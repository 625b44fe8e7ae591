// A trace for each change of an object that the watch brings, until it is stored:
//
//   sync Model        from the event until the first attempt has ended
//   ├─ queue          how long its key waited for a worker
//   ├─ reconcile      an attempt, with what it wrote and how it ended
//   │   ├─ commit     the transaction, where this object is the first of those that share it; else a link to it
//   │   └─ PATCH …    a call to the API server
//   └─ reconcile      the next attempt, where the first one failed or asked to come again
//
// Several changes that wait for the same attempt have one trace, as they have one attempt; it begins with the first.
import type { KindDefinition } from '../api/kind.ts';
import type { Clock } from '../base/clock.ts';
import { CodedError } from '../base/errors.ts';
import {
  logFieldsOf,
  type SpanAttributes,
  type SpanReference,
  type Tracer,
  type TraceSpan,
  withSpan,
} from '../base/tracing.ts';
import type { KnownObject } from '../kube/watched-object.ts';
import { TerminalError } from '../runtime/errors.ts';
import { type Predicate, predicateFuncs } from '../runtime/predicate.ts';
import type { ReconcileContext, ReconcileResult } from '../runtime/reconcile.ts';

export interface ChangeTracesOptions {
  readonly kind: KindDefinition;
  readonly tracer: Tracer;
  readonly clock: Clock;
}

type Cause = 'listed' | 'created' | 'updated' | 'deleted';

interface Change {
  readonly cause: Cause;
  readonly sinceMs: number;
  /** The last of the changes that wait together. */
  readonly object: KnownObject['identity'];
}

/** A trace that goes on with the next attempt for its key. */
interface Unfinished {
  readonly root: SpanReference;
  readonly object: KnownObject['identity'];
  readonly attempts: number;
}

function next(trace: Unfinished | undefined, change: Change | undefined): Unfinished | undefined {
  return trace && { ...trace, object: change?.object ?? trace.object, attempts: trace.attempts + 1 };
}

/** Changes that wait, of a kind; those beyond it leave no trace. */
const MOST_WAITING = 10_000;
/** Traces that go on, of a kind; the oldest ends where there are more. */
const MOST_UNFINISHED = 1000;
/** What is tried more often has its reason in the first attempts, and in the log. */
const MOST_ATTEMPTS = 32;

export class ChangeTraces {
  /** Lets every event pass and notes it; the last of the predicates, so that it sees what is worked on. */
  readonly noted: Predicate;
  readonly #options: ChangeTracesOptions;
  readonly #waiting = new Map<string, Change>();
  readonly #unfinished = new Map<string, Unfinished>();

  constructor(options: ChangeTracesOptions) {
    this.#options = options;
    this.noted = predicateFuncs({
      create: ({ object, initial }) => this.#note(initial ? 'listed' : 'created', object),
      update: ({ after }) => this.#note('updated', after),
      delete: ({ object }) => this.#note('deleted', object),
    });
  }

  around(
    key: string,
    reconcile: () => Promise<ReconcileResult>,
    context: Pick<ReconcileContext, 'note'>,
  ): Promise<ReconcileResult> {
    const change = this.#waiting.get(key);
    const before = this.#unfinished.get(key);
    this.#waiting.delete(key);
    this.#unfinished.delete(key);
    const begun = before === undefined && change !== undefined ? this.#begin(change) : undefined;
    const trace = next(before ?? begun?.trace, change);
    const attempt = trace === undefined ? undefined : this.#attempt(trace, change);
    if (trace === undefined || attempt === undefined) return reconcile();
    context.note(logFieldsOf(attempt));
    return this.#follow(key, trace, { attempt, begun: begun?.span }, reconcile);
  }

  #note(cause: Cause, { key, identity }: KnownObject): true {
    const first = this.#waiting.get(key);
    if (first === undefined && this.#waiting.size >= MOST_WAITING) return true;
    const sinceMs = first?.sinceMs ?? this.#options.clock.monotonicMs();
    this.#waiting.set(key, { cause, sinceMs, object: identity });
    return true;
  }

  #begin({ cause, sinceMs, object }: Change): { readonly span: TraceSpan; readonly trace: Unfinished } | undefined {
    const { kind, tracer } = this.#options;
    const span = tracer.start(`sync ${kind.kind}`, { kind: 'consumer', sinceMs });
    if (span === undefined) return undefined;
    span.set({ ...this.#told(object), 'ingester.change': cause });
    return { span, trace: { root: span.reference, object, attempts: 0 } };
  }

  #attempt({ root: parent, object, attempts }: Unfinished, change: Change | undefined): TraceSpan | undefined {
    const { tracer } = this.#options;
    if (change !== undefined) tracer.start('queue', { parent, sinceMs: change.sinceMs })?.end();
    const attempt = tracer.start('reconcile', { parent });
    attempt?.set({ ...this.#told(object), 'ingester.attempt': attempts });
    return attempt;
  }

  #told({ namespace, name, uid, resourceVersion }: Change['object']): SpanAttributes {
    return {
      'ingester.object.kind': this.#options.kind.kind,
      ...(namespace === undefined ? {} : { 'k8s.namespace.name': namespace }),
      'ingester.object.name': name,
      'ingester.object.uid': uid,
      'ingester.object.resource_version': resourceVersion,
    };
  }

  async #follow(
    key: string,
    trace: Unfinished,
    { attempt, begun }: { readonly attempt: TraceSpan; readonly begun: TraceSpan | undefined },
    reconcile: () => Promise<ReconcileResult>,
  ): Promise<ReconcileResult> {
    const end = (outcome: string, failure?: string): void => {
      for (const span of [attempt, begun]) {
        span?.set({ 'ingester.outcome': outcome });
        span?.end(failure);
      }
    };
    try {
      const result = await withSpan(attempt, reconcile);
      if (result.kind === 'requeue-after') this.#goesOn(key, trace);
      end(result.kind);
      return result;
    } catch (error) {
      if (!(error instanceof TerminalError)) this.#goesOn(key, trace);
      end('failed', error instanceof CodedError ? error.code : 'unexpected');
      throw error;
    }
  }

  #goesOn(key: string, trace: Unfinished): void {
    if (trace.attempts >= MOST_ATTEMPTS) return;
    this.#unfinished.set(key, trace);
    const [oldest] = this.#unfinished.keys();
    if (this.#unfinished.size > MOST_UNFINISHED && oldest !== undefined) this.#unfinished.delete(oldest);
  }
}
