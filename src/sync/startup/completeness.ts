// What keeps one kind complete beyond its ordinary flows: which objects are unguarded, which left unseen, and what need
// not be written at the start because MySQL has it already.
import { isAborted } from '../../base/abort.ts';
import { sleep, waitUntil } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Informer } from '../../kube/informer.ts';
import type { Controller } from '../../runtime/controller.ts';
import { type Predicate, predicateFuncs } from '../../runtime/predicate.ts';
import type { ReconcileResult } from '../../runtime/reconcile.ts';
import { RowRefusedError } from '../../storage/errors.ts';
import type { MissedDelete } from '../../storage/metadata-storage.ts';
import type { Release } from '../flows/lost-races.ts';
import type { LastState } from '../flows/reconciler.ts';
import { Coverage } from './coverage.ts';
import { Difference } from './difference.ts';
import { FirstList } from './first-list.ts';
import { type Comparison, type MissedDeletesLimits, markMissedDeletes } from './mark-missed-deletes.ts';
import { type Left, MissedDeletes } from './missed-deletes.ts';
import { StoredVersions } from './stored-versions.ts';

export interface CompletenessOptions extends Comparison {
  readonly informer: Pick<Informer, 'store' | 'synced' | 'addHandler'>;
  /** A copy is enough for no object of the kind: all are evicted. */
  readonly evictsAll: boolean;
  readonly limits: MissedDeletesLimits;
  /** Whether an object is this replica's, where several share the kind. */
  readonly keeps?: ((object: { readonly uid: string }) => boolean) | undefined;
  /** False while the bundle is uninstalled. */
  readonly mayMark: () => boolean;
  /** Stores the state that an object left with, whether its row has ended with an earlier one or is about to end. */
  readonly storeLast: (state: LastState) => Promise<void>;
  /** Told how many rows were ended. */
  readonly onMissedDeletes: (count: number) => void;
  readonly logger: Logger;
}

const SYNC_POLL_MS = 50;
const LOAD_TRIES = 3;
/** When a row that MySQL refused is tried again. */
const REFUSED_MS = 60_000;

export class Completeness {
  readonly coverage: Coverage = new Coverage();
  readonly firstList: FirstList;
  /** Drops objects of the initial list that MySQL holds as they are. */
  readonly skipUnchanged: Predicate;
  readonly #options: CompletenessOptions;
  readonly #missedDeletes: MissedDeletes;
  readonly #difference: Difference;
  readonly #stored: StoredVersions;
  #asksMysql = false;

  constructor(options: CompletenessOptions) {
    const { informer, evictsAll, logger } = options;
    this.#options = options;
    this.#missedDeletes = createMissedDeletes(logger);
    for (const handler of [this.coverage, this.#missedDeletes]) informer.addHandler(handler);
    this.#difference = new Difference({ ...options, listed: informer.store });
    this.#stored = new StoredVersions(options);
    this.firstList = new FirstList(() => informer.synced);
    this.skipUnchanged = predicateFuncs({
      create: ({ object, initial }) => {
        const unchanged = initial && this.#stored.has(object) && !evictsAll && this.coverage.isPlain(object.key);
        if (unchanged) informer.store.release(object.key, object.identity.resourceVersion);
        return !unchanged;
      },
    });
  }

  /** Reads what MySQL holds, before the first object is handed over. */
  async look(): Promise<void> {
    if (this.#asksMysql) await this.#stored.load();
  }

  /** To be called when this process begins to work: from now on it notes the objects that leave. */
  begin(): void {
    this.#missedDeletes.begin();
  }

  /** This final state of the object is stored: its row needs no more when the object leaves with it. */
  noteFinished(state: MissedDelete): void {
    this.#missedDeletes.noteFinished(state);
  }

  /** Lets an object leave that is changed meanwhile; false where it may not now. */
  letGo(uid: string, release: Release): Promise<boolean> {
    return this.#missedDeletes.letGo(uid, release);
  }

  /**
   * Runs the reconcile after the rows of objects that left under this key have ended, which no finalizer held back. A row
   * that MySQL refuses does not hold up the next object of the name, and is tried again.
   */
  afterMissedDeletes(key: string, reconcile: () => Promise<ReconcileResult>): Promise<ReconcileResult> {
    const ends = this.#missedDeletes.has(key) && !this.firstList.defers(key);
    return ends ? this.#afterEnding(key, reconcile) : reconcile();
  }

  async #afterEnding(key: string, reconcile: () => Promise<ReconcileResult>): Promise<ReconcileResult> {
    const ended = await this.#endMissedDeletes(key);
    const result = await reconcile();
    return ended === 'refused' && result.kind === 'done' ? { kind: 'requeue-after', delayMs: REFUSED_MS } : result;
  }

  /** Each by itself: a row that MySQL refuses holds up no other, and is put back alone. */
  async #endMissedDeletes(key: string): Promise<'all' | 'refused'> {
    const left = this.#missedDeletes.take(key);
    const refused: Left[] = [];
    try {
      for (const each of left) if (!(await this.#end(key, each))) refused.push(each);
    } catch (error) {
      this.#missedDeletes.putBack(key, left);
      throw error;
    }
    this.#missedDeletes.putBack(key, refused);
    return refused.length === 0 ? 'all' : 'refused';
  }

  /** False where MySQL refuses it. */
  async #end(key: string, left: Left): Promise<boolean> {
    try {
      const { last, finished } = left;
      if (last !== undefined && (finished || this.#options.mayMark()))
        await this.#options.storeLast({ last, finished });
      if (!finished) await this.#markMissedDelete(left);
      return true;
    } catch (error) {
      if (!(error instanceof RowRefusedError)) throw error;
      this.#options.logger.error({ key, err: error }, 'MySQL refuses the state that an object left with; trying again');
      return false;
    }
  }

  async #markMissedDelete(missed: MissedDelete): Promise<void> {
    const { mayMark, onMissedDeletes } = this.#options;
    if (mayMark())
      onMissedDeletes(await markMissedDeletes(this.#options, [missed], 'deleted while it had no finalizer'));
  }

  /**
   * Runs the controller: at once, while the first list arrives, with what MySQL does not hold as it is; and ends the rows
   * of objects that were deleted while no replica watched. Where MySQL is not asked every object is handed over, which
   * costs time but is right too.
   */
  async run(
    controller: Pick<Controller, 'run' | 'warmup'>,
    { asksMysql }: { readonly asksMysql: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    this.#asksMysql = asksMysql;
    const works = controller.run(signal);
    // Where the objects cannot be handed over, the run fails.
    void controller.warmup(signal).then(
      () => this.#stored.release(),
      () => undefined,
    );
    await Promise.all([works, asksMysql ? this.#afterFirstList(signal) : undefined]);
  }

  async #afterFirstList(signal: AbortSignal): Promise<void> {
    const { informer, clock, logger, mayMark, onMissedDeletes } = this.#options;
    await waitUntil({ clock, periodMs: SYNC_POLL_MS, signal }, () => informer.synced);
    for (let attempt = 1; attempt <= LOAD_TRIES && !isAborted(signal); attempt += 1) {
      try {
        logger.info(await this.#difference.load(), 'Compared with MySQL');
        if (mayMark()) onMissedDeletes(await this.#difference.repairMissedDeletes());
        return;
      } catch (error) {
        logger.warn({ attempt, err: error }, 'Cannot look for missed deletions; the audit will, if it goes on');
        await sleep(clock, 1000 * attempt, signal);
      }
    }
  }
}

function createMissedDeletes(logger: Logger): MissedDeletes {
  let forgot = false;
  return new MissedDeletes(() => {
    if (forgot) return;
    forgot = true;
    logger.warn({}, 'Too many objects left before their rows could be ended; the audit ends the rows of the others');
  });
}
