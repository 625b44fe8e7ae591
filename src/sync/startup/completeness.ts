// What keeps one kind complete beyond its ordinary flows: which objects are unguarded, which left unseen, and what need
// not be written at the start because MySQL has it already.
import { isAborted } from '../../base/abort.ts';
import { sleep } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { waitUntil } from '../../base/repeat.ts';
import type { Informer } from '../../kube/informer.ts';
import type { Controller } from '../../runtime/controller.ts';
import { type Predicate, predicateFuncs } from '../../runtime/predicate.ts';
import type { ReconcileResult } from '../../runtime/reconcile.ts';
import { Coverage } from './coverage.ts';
import { Difference } from './difference.ts';
import { type MissedDeletesContext, type MissedDeletesLimits, markMissedDeletes } from './mark-missed-deletes.ts';
import { MissedDeletes } from './missed-deletes.ts';

export interface CompletenessOptions extends MissedDeletesContext {
  readonly informer: Pick<Informer, 'store' | 'synced' | 'addHandler'>;
  /** A copy is enough for no object of the kind: all are evicted. */
  readonly evictsAll: boolean;
  readonly limits: MissedDeletesLimits;
  /** False while the bundle is uninstalled. */
  readonly mayMark: () => boolean;
  /** Told how many rows were ended. */
  readonly onMissedDeletes: (count: number) => void;
  readonly logger: Logger;
}

const SYNC_POLL_MS = 50;
const LOAD_TRIES = 3;

export class Completeness {
  readonly coverage: Coverage = new Coverage();
  /** Drops objects of the initial list that MySQL holds as they are. */
  readonly skipUnchanged: Predicate;
  readonly #options: CompletenessOptions;
  readonly #missedDeletes: MissedDeletes;
  readonly #difference: Difference;

  constructor(options: CompletenessOptions) {
    const { informer, evictsAll, logger } = options;
    this.#options = options;
    this.#missedDeletes = createMissedDeletes(logger);
    for (const handler of [this.coverage, this.#missedDeletes]) informer.addHandler(handler);
    const difference = new Difference({
      ...options,
      listed: () => informer.store.identities(),
      isPlain: (key) => !evictsAll && this.coverage.isPlain(key),
    });
    this.#difference = difference;
    this.skipUnchanged = predicateFuncs({
      create: ({ object, initial }) => {
        if (!initial || !difference.isUnchanged(object)) return true;
        informer.store.release(object.key, object.identity.resourceVersion);
        return false;
      },
    });
  }

  /** To be called when this process begins to work: from now on it notes the objects that leave. */
  begin(): void {
    this.#missedDeletes.begin();
  }

  /** The final state of this object is stored: its row needs no more when it leaves. */
  noteFinished(uid: string): void {
    this.#missedDeletes.noteFinished(uid);
  }

  /** Runs the reconcile after the rows of objects that left under this key have ended, which no finalizer held back. */
  afterMissedDeletes(key: string, reconcile: () => Promise<ReconcileResult>): Promise<ReconcileResult> {
    return this.#missedDeletes.has(key) ? this.#endMissedDeletes(key).then(reconcile) : reconcile();
  }

  async #endMissedDeletes(key: string): Promise<void> {
    const { mayMark, onMissedDeletes } = this.#options;
    const missed = this.#missedDeletes.take(key);
    if (missed.length === 0 || !mayMark()) return;
    try {
      onMissedDeletes(await markMissedDeletes(this.#options, missed, 'deleted while it had no finalizer'));
    } catch (error) {
      this.#missedDeletes.putBack(key, missed);
      throw error;
    }
  }

  /**
   * To be called before the controller runs: compares MySQL with the complete list and hands over what differs. Without an
   * answer of MySQL every object is handed over, which costs time but is right too.
   */
  async startByDifference(controller: Pick<Controller, 'warmup'>, signal: AbortSignal): Promise<void> {
    const { informer, clock, logger } = this.#options;
    await waitUntil({ clock, periodMs: SYNC_POLL_MS, signal }, () => informer.synced);
    for (let attempt = 1; attempt <= LOAD_TRIES && !isAborted(signal); attempt += 1) {
      try {
        logger.info(await this.#difference.load(), 'Compared with MySQL');
        break;
      } catch (error) {
        logger.warn({ attempt, problem: messageOf(error) }, 'Could not read what MySQL holds already');
        await sleep(clock, 1000 * attempt, signal);
      }
    }
    await controller.warmup(signal);
    this.#difference.forget();
  }

  /** To be called while the controller runs: ends the rows of objects that were deleted while no replica watched. */
  async repairMissedDeletes(): Promise<void> {
    const { mayMark, onMissedDeletes, logger } = this.#options;
    if (!mayMark()) return;
    try {
      onMissedDeletes(await this.#difference.repairMissedDeletes());
    } catch (error) {
      logger.warn({ err: error }, 'Cannot look for missed deletions; the next audit will');
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
