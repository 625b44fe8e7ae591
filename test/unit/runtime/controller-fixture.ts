import assert from 'node:assert/strict';
import { Controller, type ControllerOptions } from '../../../src/runtime/controller.ts';
import { done, type Reconcile, type ReconcileContext, type ReconcileResult } from '../../../src/runtime/reconcile.ts';
import type { Source } from '../../../src/runtime/source.ts';
import { StorageUnavailableError } from '../../../src/storage/errors.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { ContextLogger } from './context-logger.ts';
import { CountingControllerMetrics } from './counting-controller-metrics.ts';

export interface Parts {
  readonly clock: FakeClock;
  readonly logger: ContextLogger;
  readonly metrics: CountingControllerMetrics;
  readonly controller: Controller;
  readonly stop: AbortController;
}

export interface Started extends Parts {
  readonly finished: Promise<void>;
  readonly end: () => Promise<void>;
}

export interface Scripted {
  readonly reconcile: Reconcile;
  readonly runs: { readonly key: string; readonly context: ReconcileContext }[];
}

export interface HeldSource {
  readonly source: Source;
  readonly starts: () => number;
  readonly sync: () => void;
}

export const unavailable: StorageUnavailableError = new StorageUnavailableError('ECONNREFUSED', undefined);

export function setUp(reconcile: Reconcile, options: Partial<ControllerOptions> = {}): Parts {
  const clock = new FakeClock();
  const logger = new ContextLogger();
  const metrics = new CountingControllerMetrics();
  const stop = new AbortController();
  const controller = new Controller({
    name: 'test',
    maxConcurrentReconciles: 1,
    retry: { baseMs: 250, capMs: 2000 },
    reconcile,
    clock,
    logger,
    metrics,
    ...options,
  });
  return { clock, logger, metrics, controller, stop };
}

/** A controller that runs; `end` stops it and proves that nothing is left. */
export function start(reconcile: Reconcile, options: Partial<ControllerOptions> = {}): Started {
  const parts = setUp(reconcile, options);
  const finished = parts.controller.run(parts.stop.signal);
  const end = async (): Promise<void> => {
    parts.stop.abort();
    await finished;
    assert.equal(parts.clock.pending, 0, 'a timer is left');
    assert.equal(parts.metrics.active, 0);
  };
  return { ...parts, finished, end };
}

/** Gives the results in turn, then `done`; an Error is thrown. */
export function scripted(...results: readonly (ReconcileResult | Error)[]): Scripted {
  const runs: { readonly key: string; readonly context: ReconcileContext }[] = [];
  const reconcile: Reconcile = (key, context) => {
    const result = results[runs.length] ?? done;
    runs.push({ key, context });
    return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
  };
  return { reconcile, runs };
}

/** A source that is synced when told so. */
export function heldSource(name: string): HeldSource {
  const synced = Promise.withResolvers<undefined>();
  let starts = 0;
  const source: Source = {
    name,
    start: ({ queue }) => {
      starts += 1;
      queue.add(`${name}/initial`);
    },
    waitForSync: () => synced.promise,
  };
  return { source, starts: () => starts, sync: () => synced.resolve(undefined) };
}
