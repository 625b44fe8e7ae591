// Work on every row of a table while the table is in use: pages by key, each in a transaction of its own together with
// the note of where it ended, and a rest after each page in proportion to what the page took.
import { type Clock, sleep } from '../../../base/clock.ts';
import type { SqlSession } from '../pool.ts';
import { enter, forget, notePosition, readPosition } from '../schema/ledger.ts';

/** One page: rows it dealt with and the key of the last one; undefined when nothing is left after `after`. */
export interface Page {
  readonly rows: number;
  readonly last: string;
}

export interface Backfill {
  /** Its row in the ledger. */
  readonly name: string;
  readonly page: (session: SqlSession, after: string | undefined) => Promise<Page | undefined>;
  /** Told after each page how many rows this run has dealt with. */
  readonly progress: (rows: number) => void;
}

export interface BackfillHost {
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** Rest after a page, as a multiple of its time: 1 leaves half of the server to others, 0 does not rest. */
  readonly restFactor: number;
  readonly transaction: <T>(work: (session: SqlSession) => Promise<T>) => Promise<T>;
}

/** Returns the rows dealt with by this run. A run that was killed goes on after its last whole page. */
export async function runBackfill({ name, page, progress }: Backfill, host: BackfillHost): Promise<number> {
  const { clock, restFactor, transaction, signal = new AbortController().signal } = host;
  let position = await transaction(async (session) => {
    await enter(session, name, '');
    return readPosition(session, name);
  });
  let rows = 0;
  for (;;) {
    signal.throwIfAborted();
    const began = clock.monotonicMs();
    const after = position;
    const done = await transaction(async (session) => {
      const result = await page(session, after);
      if (result === undefined) await forget(session, name);
      else await notePosition(session, name, result.last, result.rows);
      return result;
    });
    if (done === undefined) return rows;
    position = done.last;
    rows += done.rows;
    progress(rows);
    await sleep(clock, (clock.monotonicMs() - began) * restFactor, signal);
  }
}
