import type { ControllerMetrics } from '../../../src/runtime/controller-metrics.ts';
import { CountingQueueMetrics } from './counting-queue-metrics.ts';

/** Controller metrics in plain numbers. */
export class CountingControllerMetrics implements ControllerMetrics {
  readonly queue: CountingQueueMetrics = new CountingQueueMetrics();
  readonly results = { success: 0, requeue_after: 0, error: 0 };
  terminal = 0;
  panics = 0;
  timeouts = 0;
  active = 0;
  workers = 0;

  reconciled(result: 'success' | 'requeue_after' | 'error'): void {
    this.results[result] += 1;
  }

  failedTerminally(): void {
    this.terminal += 1;
  }

  panicked(): void {
    this.panics += 1;
  }

  timedOut(): void {
    this.timeouts += 1;
  }

  workerStarted(): void {
    this.active += 1;
  }

  workerFinished(): void {
    this.active -= 1;
  }

  maxConcurrentReconciles(count: number): void {
    this.workers = count;
  }
}
