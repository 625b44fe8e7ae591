import type { LogFields, Logger } from '../base/logger.ts';

/**
 * What a reconcile that did not throw wants. `requeue-after` looks at the key again after the delay, without counting it
 * as a failure; `priority` replaces the one the key came with.
 */
export type ReconcileResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'requeue-after'; readonly delayMs: number; readonly priority?: number };

export const done: ReconcileResult = { kind: 'done' };

export interface ReconcileContext {
  /** Aborted when the controller stops, and when the reconcile takes too long. The key stays locked until it returns. */
  readonly signal: AbortSignal;
  /** Adds the key and the id of this run to every line. */
  readonly logger: Logger;
  readonly reconcileId: string;
  /** Adds fields to the lines that `logger` and the controller log of this run. */
  note(fields: LogFields): void;
}

/**
 * Brings the world of one object to what the object says. It gets a key, never an event: it may run for any reason, also
 * twice for one change and once for many. It throws to be run again, later each time; TerminalError means never again.
 */
export type Reconcile = (key: string, context: ReconcileContext) => Promise<ReconcileResult>;

/** A part of a reconcile. It runs the steps below it by `next`, which the last has no use for, and may act before and after. */
export type Step = readonly [
  name: string,
  run: (key: string, next: () => Promise<ReconcileResult>, context: ReconcileContext) => Promise<ReconcileResult>,
];

/** One reconcile out of steps: the first is entered first and left last. */
export function inSteps(steps: readonly Step[]): Reconcile {
  const nothing = (): Promise<ReconcileResult> => Promise.resolve(done);
  return steps.reduceRight<Reconcile>(
    (below, [, run]) =>
      (key, context) =>
        run(key, () => below(key, context), context),
    nothing,
  );
}
