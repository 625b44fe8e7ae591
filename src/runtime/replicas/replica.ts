// One of several replicas that work at the same time.
//
//   takes a slot ──▶ counts among the replicas ──▶ term ── other buckets are to be ours ──▶ the term ends ──▶ term …
//        └─ a Lease that it renews: its life           └─ works on the same buckets from its start to its end
//
// A bucket is an object's hash (buckets.ts) and has a Lease, in which its owner is written when it is taken and when it is
// given up, always at the version that was seen. An owner lives as long as its slot: who could not renew it gives up by its
// own clock, and others bury the slot only when it has not changed for longer than that, as with any lease. So no bucket has
// two owners that may work, whatever is late or stops.
//
// The set of buckets does not change during a term. When another is due the term ends as a process does, waiting for what
// runs; then buckets are given up and taken, and what works is made anew. A bucket that was gained is a start, with its list
// and comparison, and one that was lost is a stop: forgetting its objects is no word that they are gone.
import { isAborted, onAbort } from '../../base/abort.ts';
import { type Clock, sleep, within } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import { Informer } from '../../kube/informer.ts';
import { leases } from '../../kube/resources.ts';
import { IdentityStore } from '../../kube/store.ts';
import { LeaderElectionLostError } from '../errors.ts';
import { LeaderElector, type LeaderElectorOptions } from '../leader-elector.ts';
import type { Election } from '../manager.ts';
import { BUCKETS, bucketOf } from './buckets.ts';
import {
  type Claims,
  type ClaimsOptions,
  claimsOf,
  clearLease,
  countUnowned,
  deadSlots,
  demandRights,
  freeSlots,
  giveBucket,
  holdersOf,
  isForeign,
  lacksLeader,
  leaderOf,
  nameLeader,
  otherHolder,
  storageUses,
  takeBucket,
} from './claims.ts';
import { LeaseBoard } from './lease-board.ts';
import { bucketLeases, holderOf, STORAGE_ANNOTATION, slotLeaseOf, slotLeases } from './lease-names.ts';
import { Membership } from './membership.ts';
import { StandingAside, type StorageUse } from './standing-aside.ts';

export interface Term {
  readonly buckets: ReadonlySet<number>;
  /** Whether the object of this uid is in one of the buckets. */
  holds(uid: string): boolean;
  /** To be asked before every step that only the owner may do. The first false is final for the term. */
  mayWork(): boolean;
  /** How many replicas share the work, this one included. */
  replicas(): number;
}

export interface ReplicaOptions {
  /** Its own, with its own connection: leases must not queue behind the work. */
  readonly client: LeaderElectorOptions['client'] & Pick<KubeClient, 'list' | 'newest' | 'watch'>;
  readonly namespace: string;
  readonly leaderLease: string;
  /** Unlike that of any other process: `hostname_uuid`. */
  readonly process: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
  /** Works until the signal, and resolves when nothing of it works any more. Throwing ends the replica. */
  readonly serve: (term: Term, signal: AbortSignal) => Promise<void>;
  /** Whether this process can use MySQL. */
  readonly canStore: () => boolean;
  /** Told how many buckets are ours, whenever that changes. */
  readonly onBuckets?: (count: number) => void;
  /** Told how many buckets no replica owns, again and again. */
  readonly onUnowned?: (count: number) => void;
}

/** Buckets that no replica owns. */
export interface Unowned {
  readonly buckets: number;
  readonly since: Date;
}

interface Serving {
  readonly term: Term;
  readonly stop: AbortController;
  ended: Promise<void>;
  /** A bucket is not ours any more, whatever the reason. */
  over: boolean;
}

/** How often it is looked for what time alone changes. */
const TICK_MS = 250;
/** Claims are acted on once they have not changed for so long: Leases change one after the other. */
const CALM_MS = 200;
const RETRY_MS = 1000;
const CALL_MS = 5000;
/** Renewals of the own slot come every two seconds, so a watch without any is dead. */
const SILENCE_MS = 10_000;

export class Replica {
  readonly #options: ReplicaOptions;
  readonly #board: LeaseBoard;
  readonly #membership = new Membership();
  readonly #failed = Promise.withResolvers<never>();
  readonly #informer: Informer;
  #elector: LeaderElector | undefined;
  #claiming: ClaimsOptions | undefined;
  #members: readonly number[] = [];
  #serving: Serving | undefined;
  #unownedSince: Date | undefined;
  readonly #standingAside = new StandingAside();
  #storageUse: StorageUse = 'available';
  #wake: () => void = () => undefined;
  #retryAtMs = 0;
  #calm = { claims: '', sinceMs: 0 };

  constructor(options: ReplicaOptions) {
    this.#options = options;
    const { client, clock, logger, namespace, leaderLease } = options;
    const names = [...slotLeases, ...bucketLeases, leaderLease];
    this.#board = new LeaseBoard(clock, names, () => this.#noteChange());
    this.#informer = new Informer({
      ...{ client, clock, logger, resource: leases, store: new IdentityStore() },
      selection: { namespace },
      silenceMs: SILENCE_MS,
      onWentBack: () => this.#board.forget(),
    });
    this.#informer.addHandler(this.#board);
    // `run` races it; before that, and after a stop, nothing awaits it, which is no unhandled rejection.
    this.#failed.promise.catch(() => undefined);
  }

  /** Whether the objects of the bucket are this replica's to work on, now. */
  leads(bucket: number): boolean {
    const term = this.#serving?.term;
    return term !== undefined && term.buckets.has(bucket) && term.mayWork();
  }

  /** Whether this replica has a slot, so that its buckets are no other replica's. */
  get holdsSlot(): boolean {
    return this.#elector?.leads() === true;
  }

  /** Why not all objects are worked on; undefined where each bucket has an owner, be it another replica. */
  get problem(): string | undefined {
    if (!this.#informer.synced) return 'the leases of the replicas cannot be read';
    const unowned = this.#countUnowned();
    return unowned === 0 ? undefined : `${unowned} of ${BUCKETS} buckets have no owner`;
  }

  /** Undefined where each bucket has an owner. */
  get unowned(): Unowned | undefined {
    const buckets = this.#countUnowned();
    return buckets === 0 || this.#unownedSince === undefined ? undefined : { buckets, since: this.#unownedSince };
  }

  #countUnowned(): number {
    return this.#informer.synced ? countUnowned(this.#board, this.#options.leaderLease) : 0;
  }

  #noteStorage(): void {
    const { clock, canStore, logger } = this.#options;
    const others = new Map(storageUses(this.#board));
    others.delete(this.#claiming?.holder ?? '');
    others.delete('');
    const use = this.#standingAside.update(others, canStore(), clock.monotonicMs());
    if (use !== this.#storageUse && use === 'aside')
      logger.error({}, 'Other replicas can use MySQL and this one cannot; they take its buckets');
    this.#storageUse = use;
  }

  #noteUnowned(): void {
    const count = this.#countUnowned();
    this.#unownedSince = count === 0 ? undefined : (this.#unownedSince ?? this.#options.clock.now());
    this.#options.onUnowned?.(count);
  }

  /** The leader after this one, as its identity: another replica while there is one, so that none that works alone begins. */
  successor(): string | undefined {
    const next = otherHolder(this.#board, this.#claiming?.holder ?? '');
    return next === undefined ? undefined : leaderOf(next);
  }

  /** Competes only once it has a slot: a leader without one would keep others from working. */
  electing(election: Election): Election {
    return {
      run: async (signal, onLeading) => {
        while (!isAborted(signal) && !this.holdsSlot) await sleep(this.#options.clock, TICK_MS, signal);
        return await election.run(signal, onLeading);
      },
      abandon: () => election.abandon(),
    };
  }

  /** How many replicas share the buckets, 1 at least. */
  get replicas(): number {
    return Math.max(1, this.#members.length);
  }

  /** Until aborted. Throws LeaderElectionLostError as soon as another may work, and what `serve` throws. */
  async run(signal: AbortSignal): Promise<void> {
    await demandRights(this.#options, signal);
    const over = new AbortController();
    void this.#informer.run(over.signal);
    const [burying, naming] = [this.#bury(over.signal), this.#nameLeader(signal)];
    try {
      const slot = await this.#takeSlot(signal);
      if (slot === undefined) return;
      await Promise.race([this.#work(signal), this.#failed.promise]);
      slot.stop.abort();
      await slot.ended;
    } catch (error) {
      this.#serving?.stop.abort();
      this.#elector?.abandon();
      throw error;
    } finally {
      over.abort();
      this.#options.onBuckets?.(0);
    }
    await Promise.all([burying, naming]);
  }

  /** Undefined when stopped before there was one. */
  async #takeSlot(signal: AbortSignal): Promise<{ stop: AbortController; ended: Promise<unknown> } | undefined> {
    while (!isAborted(signal)) {
      const name = this.#informer.synced ? freeSlots(this.#board)[0] : undefined;
      if (name === undefined) {
        await this.#next(signal);
        continue;
      }
      const stop = new AbortController();
      const ended = this.#compete(name, stop);
      while (!isAborted(signal) && this.#claiming === undefined && !this.#isTaken(name)) await this.#next(signal);
      if (this.#claiming !== undefined) return { stop, ended };
      stop.abort();
      await ended;
      // It may have been won at this very moment; then it was given up.
      this.#claiming = undefined;
    }
    return undefined;
  }

  #compete(name: string, stop: AbortController): Promise<unknown> {
    const { client, clock, logger, namespace, leaderLease, process, random } = this.#options;
    const holder = holderOf(name, process);
    const lease = { namespace, name };
    const identity = { identity: holder, ...(random === undefined ? {} : { random }) };
    const annotations = (): Readonly<Record<string, string>> => ({ [STORAGE_ANNOTATION]: this.#storageUse });
    const elector = new LeaderElector({ client, clock, logger, lease, annotations, ...identity });
    const leading = (): void => {
      this.#elector = elector;
      this.#claiming = { board: this.#board, holder, client, namespace, leaderLease, clock, logger };
      this.#wake();
    };
    return elector.run(stop.signal, leading).then((outcome) => {
      if (outcome === 'lost') this.#failed.reject(new LeaderElectionLostError());
    });
  }

  #isTaken(name: string): boolean {
    const holder = this.#board.get(name)?.record.holderIdentity ?? '';
    return holder !== '' && holder !== holderOf(name, this.#options.process);
  }

  /** Slots of the dead are cleared: then everyone knows at once. A renewal that came meanwhile wins. */
  async #bury(signal: AbortSignal): Promise<void> {
    const { client, clock, logger, namespace, leaderLease } = this.#options;
    const options = { board: this.#board, holder: '', client, namespace, leaderLease, clock, logger };
    while (!isAborted(signal)) {
      this.#noteUnowned();
      this.#noteStorage();
      const own = slotLeaseOf(this.#claiming?.holder ?? '');
      const dead = this.#informer.synced ? deadSlots(this.#board).filter((name) => name !== own) : [];
      await Promise.all(dead.map((name) => this.#inTime(() => clearLease(options, name))));
      await sleep(clock, dead.length > 0 ? RETRY_MS : TICK_MS, signal);
    }
  }

  /** Where no process leads, this replica is to. */
  async #nameLeader(signal: AbortSignal): Promise<void> {
    const { clock, leaderLease } = this.#options;
    while (!isAborted(signal)) {
      const claiming = this.holdsSlot ? this.#claiming : undefined;
      const isDue = claiming !== undefined && lacksLeader(this.#board, leaderLease);
      if (isDue) await this.#inTime(() => nameLeader(claiming));
      await sleep(clock, TICK_MS, signal);
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    while (!isAborted(signal)) {
      await this.#next(signal);
      if (!isAborted(signal) && this.#isDue()) await this.#change();
    }
    await this.#endTerm();
    const { keep, give } = this.#claims();
    await this.#write({ keep: [], take: [], give: [...keep, ...give] });
  }

  /** Whether other buckets than those of the term are to be ours, and have been for a moment. */
  #isDue(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    const { keep, take, give } = this.#claims();
    const isNews = take.length > 0 || give.length > 0 || this.#differs(keep);
    const claims = isNews ? JSON.stringify([keep, take, give]) : '';
    if (claims !== this.#calm.claims) this.#calm = { claims, sinceMs: nowMs };
    return isNews && nowMs - this.#calm.sinceMs >= CALM_MS && nowMs >= this.#retryAtMs;
  }

  /** A term that is over never works again, whatever is ours. */
  #differs(buckets: readonly number[]): boolean {
    if (this.#serving?.over === true) return true;
    const served = this.#serving?.term.buckets ?? new Set();
    return buckets.length !== served.size || buckets.some((one) => !served.has(one));
  }

  /** A bucket that cannot be taken disturbs no other: it is taken beside the work, and the term ends for what is ours. */
  async #change(): Promise<void> {
    await this.#write({ ...this.#claims(), give: [] });
    // What is ours and not worked on, because an answer was lost, is given up beside the work.
    if (this.#differs(this.#claims().keep)) await this.#endTerm();
    await this.#write({ ...this.#claims(), take: [] });
    const { keep, ...open } = this.#claims();
    if (open.take.length > 0 || open.give.length > 0) this.#retryAtMs = this.#options.clock.monotonicMs() + RETRY_MS;
    if (this.#serving === undefined && keep.length > 0) this.#startTerm(keep);
  }

  #claims(): Claims {
    if (this.#claiming === undefined || !this.holdsSlot) return { keep: [], take: [], give: [] };
    const nowMs = this.#options.clock.monotonicMs();
    this.#members = this.#membership.update(holdersOf(this.#board), this.#claiming.holder, nowMs);
    return claimsOf(this.#claiming, this.#members);
  }

  async #write({ take, give }: Claims): Promise<void> {
    const claiming = this.#claiming;
    if (claiming === undefined) return;
    await Promise.all([
      ...give.map((bucket) => this.#inTime(() => giveBucket(claiming, bucket))),
      ...take.map((bucket) => this.#inTime(() => takeBucket(claiming, bucket))),
    ]);
  }

  /** What an answer says that comes late, the watch says too. */
  #inTime(call: () => Promise<void>): Promise<void> {
    return within({ clock: this.#options.clock, timeoutMs: CALL_MS }, call, () => undefined);
  }

  #startTerm(keep: readonly number[]): void {
    const { logger, serve, onBuckets } = this.#options;
    const buckets = new Set(keep);
    const stop = new AbortController();
    const term: Term = {
      buckets,
      holds: (uid) => buckets.has(bucketOf(uid)),
      mayWork: () => !serving.over && !stop.signal.aborted && this.holdsSlot,
      replicas: () => this.replicas,
    };
    const serving: Serving = { term, stop, ended: Promise.resolve(), over: false };
    this.#serving = serving;
    logger.info({ buckets: keep, replicas: this.#members.length }, 'A term begins');
    onBuckets?.(keep.length);
    serving.ended = serve(term, stop.signal);
    serving.ended.catch((error: unknown) => this.#failed.reject(error));
  }

  async #endTerm(): Promise<void> {
    const serving = this.#serving;
    if (serving === undefined) return;
    this.#options.logger.info({ buckets: [...serving.term.buckets] }, 'The term ends');
    serving.stop.abort();
    await serving.ended;
    this.#serving = undefined;
    this.#options.onBuckets?.(0);
  }

  #noteChange(): void {
    const serving = this.#serving;
    if (serving !== undefined && !serving.over) {
      const isAnother = isForeign(this.#board, this.#options.leaderLease);
      if (isAnother || !this.#owns(serving.term)) {
        serving.over = true;
        const why = isAnother ? 'A process that works alone leads' : 'A bucket was taken away';
        this.#options.logger.warn({}, `${why}; the term is over`);
      }
    }
    this.#wake();
  }

  #owns({ buckets }: Term): boolean {
    const holder = this.#claiming?.holder;
    return [...buckets].every((one) => this.#board.get(bucketLeases[one] ?? '')?.record.holderIdentity === holder);
  }

  /** Resolves when something has changed, or after a moment. */
  async #next(signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    const takeBack = onAbort(signal, () => woken.abort());
    await sleep(this.#options.clock, TICK_MS, woken.signal);
    takeBack();
  }
}
