import type { QueueMetrics } from '../../../src/runtime/controller-metrics.ts';

/** Queue metrics in plain numbers. */
export class CountingQueueMetrics implements QueueMetrics {
  adds = 0;
  retries = 0;
  readonly depth: Map<number, number> = new Map<number, number>();
  readonly waited: number[] = [];
  readonly worked: number[] = [];
  held: () => Iterable<number> = () => [];

  added(priority: number): void {
    this.adds += 1;
    this.#change(priority, 1);
  }

  moved(from: number, to: number): void {
    this.#change(from, -1);
    this.#change(to, 1);
  }

  taken(priority: number, waitedSeconds: number): void {
    this.#change(priority, -1);
    this.waited.push(waitedSeconds);
  }

  dropped(priority: number): void {
    this.#change(priority, -1);
  }

  finished(workedSeconds: number): void {
    this.worked.push(workedSeconds);
  }

  retried(): void {
    this.retries += 1;
  }

  watchHeld(seconds: () => Iterable<number>): void {
    this.held = seconds;
  }

  #change(priority: number, by: number): void {
    this.depth.set(priority, (this.depth.get(priority) ?? 0) + by);
  }
}
