import { noQueueMetrics, type QueueMetrics } from './queue-metrics.ts';

export interface ControllerMetrics {
  readonly queue: QueueMetrics;
  /** A run has ended; errors count as `error` whatever becomes of the key. */
  reconciled(result: 'success' | 'requeue_after' | 'error', seconds: number): void;
  /** An error that is not tried again. */
  failedTerminally(): void;
  panicked(): void;
  timedOut(): void;
  workerStarted(): void;
  workerFinished(): void;
  maxConcurrentReconciles(count: number): void;
}

export const noControllerMetrics: ControllerMetrics = {
  queue: noQueueMetrics,
  reconciled: () => undefined,
  failedTerminally: () => undefined,
  panicked: () => undefined,
  timedOut: () => undefined,
  workerStarted: () => undefined,
  workerFinished: () => undefined,
  maxConcurrentReconciles: () => undefined,
};
