import { Gauge, Histogram, type Registry } from 'prom-client';

/** How an Ingester resource is doing, as its status says it. */
export interface LifecycleReading {
  readonly phase: string;
  /** Attempts that failed, by task. */
  readonly attempts: Readonly<Record<string, number>>;
  /** Undefined: nothing is under way. */
  readonly startedAt: Date | undefined;
  /** Undefined: users are served. */
  readonly unavailableSince: Date | undefined;
  /** When the newest snapshot was taken; undefined: none was. */
  readonly snapshotAt: Date | undefined;
  /** The first tick of the schedule that no snapshot has followed. */
  readonly snapshotMissedSince: Date | undefined;
}

/** Work that is over, and how long it took. */
export type EndedWork =
  | {
      readonly work: 'task';
      readonly task: string;
      readonly outcome: 'succeeded' | 'failed';
      readonly seconds: number;
    }
  | { readonly work: 'quiesce'; readonly seconds: number }
  | {
      readonly work: 'change';
      readonly kind: string;
      readonly outcome: 'succeeded' | 'failed';
      readonly seconds: number;
    };

const BUCKETS = [1, 5, 15, 60, 300, 900, 3600, 10_800];

export class LifecycleMetrics {
  readonly #phase: Gauge<'name' | 'phase'>;
  readonly #attempts: Gauge<'name' | 'task'>;
  readonly #started: Gauge<'name'>;
  readonly #unavailable: Gauge<'name'>;
  readonly #snapshot: Gauge<'name'>;
  readonly #missed: Gauge<'name'>;
  readonly #tasks: Histogram<'task' | 'outcome'>;
  readonly #quiesces: Histogram;
  readonly #changes: Histogram<'kind' | 'outcome'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#phase = new Gauge({
      name: 'ingester_lifecycle_phase',
      help: 'Phase of an Ingester resource: 1 for the current phase, 0 for all others',
      labelNames: ['name', 'phase'],
      registers,
    });
    this.#attempts = new Gauge({
      name: 'ingester_lifecycle_failed_attempts',
      help: 'Failed attempts of a task since its inputs last changed',
      labelNames: ['name', 'task'],
      registers,
    });
    this.#started = new Gauge({
      name: 'ingester_lifecycle_change_started_timestamp_seconds',
      help: 'Unix time at which the current change began; 0 if there is none',
      labelNames: ['name'],
      registers,
    });
    this.#unavailable = new Gauge({
      name: 'ingester_lifecycle_unavailable_timestamp_seconds',
      help: 'Unix time since which users of an Ingester resource are not served; 0 if they are served',
      labelNames: ['name'],
      registers,
    });
    this.#snapshot = new Gauge({
      name: 'ingester_lifecycle_snapshot_timestamp_seconds',
      help: 'Unix time of the newest snapshot of the database; 0 if there is none',
      labelNames: ['name'],
      registers,
    });
    this.#missed = new Gauge({
      name: 'ingester_lifecycle_snapshot_missed_timestamp_seconds',
      help: 'Unix time at which the first missing scheduled snapshot was due; 0 if none is missing',
      labelNames: ['name'],
      registers,
    });
    const buckets = BUCKETS;
    this.#tasks = new Histogram({
      name: 'ingester_lifecycle_task_duration_seconds',
      help: 'Time of one run of a task, by outcome; runs that were replaced are left out',
      labelNames: ['task', 'outcome'],
      buckets,
      registers,
    });
    this.#quiesces = new Histogram({
      name: 'ingester_lifecycle_quiesce_duration_seconds',
      help: 'Time from the start of a quiesce until no pod of a component is left',
      buckets,
      registers,
    });
    this.#changes = new Histogram({
      name: 'ingester_lifecycle_change_duration_seconds',
      help: 'Time of a whole change (Install, Upgrade, Change, Rollback), by outcome',
      labelNames: ['kind', 'outcome'],
      buckets,
      registers,
    });
  }

  /** Called when the status says so. */
  ended(ended: EndedWork): void {
    const { work, seconds } = ended;
    if (work === 'task') this.#tasks.observe({ task: ended.task, outcome: ended.outcome }, seconds);
    else if (work === 'change') this.#changes.observe({ kind: ended.kind, outcome: ended.outcome }, seconds);
    else this.#quiesces.observe(seconds);
  }

  /** Every phase and task has its series from the first reconcile on. */
  forResource(
    name: string,
    { phases, tasks }: { readonly phases: readonly string[]; readonly tasks: readonly string[] },
  ): { readonly read: (reading: LifecycleReading) => void; readonly gone: () => void } {
    return {
      read: ({ phase, attempts, startedAt, unavailableSince, snapshotAt, snapshotMissedSince }) => {
        for (const each of phases) this.#phase.set({ name, phase: each }, each === phase ? 1 : 0);
        for (const task of tasks) this.#attempts.set({ name, task }, attempts[task] ?? 0);
        this.#started.set({ name }, seconds(startedAt));
        this.#unavailable.set({ name }, seconds(unavailableSince));
        this.#snapshot.set({ name }, seconds(snapshotAt));
        this.#missed.set({ name }, seconds(snapshotMissedSince));
      },
      gone: () => {
        for (const phase of phases) this.#phase.remove({ name, phase });
        for (const task of tasks) this.#attempts.remove({ name, task });
        for (const gauge of [this.#started, this.#unavailable, this.#snapshot, this.#missed]) gauge.remove({ name });
      },
    };
  }
}

function seconds(time: Date | undefined): number {
  return time === undefined ? 0 : time.getTime() / 1000;
}
