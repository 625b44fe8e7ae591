import { Counter, Gauge, type Registry } from 'prom-client';
import type { Watchdog } from './watchdog.ts';

/** Whether work gets on: see Watchdog. */
export class WatchdogMetrics {
  readonly #stalled: Counter<'work'>;
  #silent: () => ReadonlyMap<string, number> = () => new Map();

  constructor(registry: Registry) {
    const silent = (): ReadonlyMap<string, number> => this.#silent();
    // Read before the counter, whose series exist from the first scrape on.
    const known = (work: string): void => this.#stalled.inc({ work }, 0);
    new Gauge({
      name: 'ingester_work_silent_seconds',
      help: 'How long the work of this name that is silent for longest has made no progress; 0 where none is under way',
      labelNames: ['work'],
      registers: [registry],
      collect() {
        for (const [work, seconds] of silent()) {
          this.set({ work }, seconds);
          known(work);
        }
      },
    });
    this.#stalled = new Counter({
      name: 'ingester_work_stalled_total',
      help: 'Work that made no progress for its time and was broken off',
      labelNames: ['work'],
      registers: [registry],
    });
  }

  /** Asks the watchdog at every scrape. */
  follow(watchdog: Pick<Watchdog, 'silentSeconds'>): void {
    this.#silent = () => watchdog.silentSeconds();
  }

  stalled(work: string): void {
    this.#stalled.inc({ work });
  }
}
