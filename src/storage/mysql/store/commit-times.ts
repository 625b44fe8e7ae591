// When a row has changed, for readers of the change feed. They see a row when its transaction is committed, and go on behind the
// time that is in it, so the one must follow the other soon: a time that is long past by then would be missed. A write has the
// time at which its rows were locked, and what may have been committed long after that is noted once more.
import type { Clock } from '../../../base/clock.ts';
import type { WriteOutcome } from '../../metadata-storage.ts';
import { toSqlTime } from '../sql-time.ts';
import type { BatchOptions } from './batch-writer.ts';
import type { PendingWrite } from './pending-write.ts';

/** From the time in a row until its transaction is committed, at most. The change feed waits longer. */
export const COMMITTED_WITHIN_MS = 5000;
/** A server that is always slower than that keeps no write from its end. */
const MOST_RUNS = 3;
/** Writes that failed with no knowing whether they were committed; of more the oldest are forgotten. */
const MOST_UNCERTAIN = 10_000;

type Times = Pick<BatchOptions, 'now' | 'isRepeated'>;

export class CommitTimes {
  readonly #clock: Clock;
  #lastMicros = 0;
  /** What an attempt was begun for that has not succeeded since, by table and uid. */
  readonly #uncertain = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The time of a change that is made now, as MySQL takes it. No two are the same: two changes of a row are told apart by it, and
   * the clock knows milliseconds only.
   */
  readonly now = (): string => {
    this.#lastMicros = Math.max(this.#clock.now().getTime() * 1000, this.#lastMicros + 1);
    const milliseconds = new Date(Math.floor(this.#lastMicros / 1000)).toISOString().slice(0, -1);
    return toSqlTime(`${milliseconds}${String(this.#lastMicros % 1000).padStart(3, '0')}Z`);
  };

  /** Runs the transaction, again where it took too long; gives the outcomes of the first run. */
  async around(
    writes: readonly PendingWrite[],
    transaction: (times: Times) => Promise<readonly WriteOutcome[]>,
  ): Promise<readonly WriteOutcome[]> {
    const repeated = new Set(writes.filter((write) => this.#uncertain.has(nameOf(write))));
    for (const write of writes) this.#note(nameOf(write));
    let outcomes: readonly WriteOutcome[] | undefined;
    for (let run = 1; run <= MOST_RUNS; run += 1) {
      let firstMs = Number.POSITIVE_INFINITY;
      const now = (): string => {
        firstMs = Math.min(firstMs, this.#clock.monotonicMs());
        return this.now();
      };
      const done = await transaction({ now, isRepeated: (write) => repeated.has(write) });
      outcomes ??= done;
      if (this.#clock.monotonicMs() - firstMs <= COMMITTED_WITHIN_MS) break;
      for (const write of writes) repeated.add(write);
    }
    for (const write of writes) this.#uncertain.delete(nameOf(write));
    return outcomes ?? [];
  }

  #note(name: string): void {
    this.#uncertain.delete(name);
    this.#uncertain.add(name);
    const [oldest] = this.#uncertain;
    if (this.#uncertain.size > MOST_UNCERTAIN && oldest !== undefined) this.#uncertain.delete(oldest);
  }
}

function nameOf({ row: { kind, uid } }: PendingWrite): string {
  return `${kind.table}/${uid}`;
}
