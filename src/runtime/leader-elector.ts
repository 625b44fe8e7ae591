// Leader election on a Lease, with the rules of client-go.
//
//   candidate ── try; wait retry × [1, 2.2) ──▶ leader ── renew every retry ──▶ lost: not renewed within the deadline
//       └───────────────── stop ──────────────────┴────── stop: the lease is given up
//
// Whether a lease is valid is judged by this process's monotonic clock since it saw the lease change, never by the times
// written in it: clocks of different machines differ, and clocks jump.
//
// A leader counts its own time from before the request that renewed the lease, so it always gives up before another
// replica may take over. It need not be awake for that: `leads` compares the clock itself, so after a blocked event
// loop the first thing that asks, or the first timer, ends the leadership before any more work is done.
import type { KubernetesObject } from '../api/object.ts';
import { isAborted, onAbort } from '../base/abort.ts';
import { type Clock, sleep, within } from '../base/clock.ts';
import { canonicalJson } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, ObjectRef } from '../kube/client.ts';
import { isKubeError, KubeError, type KubeReason } from '../kube/errors.ts';
import { ifFound } from '../kube/found.ts';
import { leases } from '../kube/resources.ts';
import { LeaderElectionConfigError } from './errors.ts';
import { type LeaseId, type LeaseRecord, leaseRecord, leaseWith, microTime } from './lease.ts';
import type { Election } from './manager.ts';

export interface LeaderElectionTimes {
  /** How long others wait before they take over; 15 s unless given. */
  readonly leaseDurationMs: number;
  /** A leader that could not renew for so long gives up; 10 s unless given. */
  readonly renewDeadlineMs: number;
  /** Between attempts; 2 s unless given. */
  readonly retryPeriodMs: number;
}

export interface LeaderElectionMetrics {
  leading(): void;
  notLeading(): void;
  slowPath(): void;
}

export interface LeaderElectorOptions {
  /** Its own, with its own connection: leases must not queue behind the work. */
  readonly client: Pick<KubeClient, 'get' | 'create' | 'update'>;
  readonly lease: LeaseId;
  /** Unlike that of any other process, also of one of the same name: `hostname_uuid`. */
  readonly identity: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly times?: LeaderElectionTimes;
  readonly metrics?: LeaderElectionMetrics;
  readonly random?: () => number;
  /** Who is to lead next, asked when the lease is given up; undefined: the first that asks. */
  readonly successor?: () => string | undefined;
  /** Written with each renewal. */
  readonly annotations?: () => Readonly<Record<string, string>>;
}

export const defaultTimes: LeaderElectionTimes = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2000,
};

const JITTER = 1.2;
const MIN_REQUEST_MS = 1000;
const RELEASED_SECONDS = 1;

/** What an operator has to do about an answer that does not change by itself. */
const remedies: Partial<Readonly<Record<KubeReason, string>>> = {
  Forbidden:
    'Give this account get, create and update on leases in the group coordination.k8s.io (the RBAC of the bundle does)',
  NotFound: 'Create the namespace of the lease, or correct kubernetes.namespace',
  Unauthorized: 'Give this process credentials that the API server accepts',
};

const noMetrics: LeaderElectionMetrics = {
  leading: () => undefined,
  notLeading: () => undefined,
  slowPath: () => undefined,
};

interface Observed {
  readonly lease: KubernetesObject;
  readonly record: LeaseRecord;
  readonly raw: string;
  /** When this process saw the record become what it is. */
  readonly sinceMs: number;
}

type Attempt = 'held' | 'not-held' | 'taken-over';

export class LeaderElector implements Election {
  readonly #options: LeaderElectorOptions;
  readonly #times: LeaderElectionTimes;
  readonly #metrics: LeaderElectionMetrics;
  readonly #ref: ObjectRef;
  /** Ends every wait, for good. */
  readonly #over = new AbortController();
  #observed: Observed | undefined;
  /** Since when the lease is certainly ours: the last renewal, counted from before its request. */
  #renewedMs: number | undefined;
  #lost = false;
  #reportedHolder: string | undefined;
  /** The remedy that was last logged, until the lease can be used. */
  #toldToDo: string | undefined;

  constructor(options: LeaderElectorOptions) {
    const times = options.times ?? defaultTimes;
    const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = times;
    if (leaseDurationMs <= renewDeadlineMs) {
      throw new LeaderElectionConfigError('the lease duration must be longer than the renew deadline');
    }
    if (renewDeadlineMs <= JITTER * retryPeriodMs) {
      throw new LeaderElectionConfigError(`the renew deadline must be longer than ${JITTER} retry periods`);
    }
    if (retryPeriodMs <= 0) throw new LeaderElectionConfigError('the retry period must be positive');
    if (options.identity === '') throw new LeaderElectionConfigError('the identity must not be empty');
    this.#options = options;
    this.#times = times;
    this.#metrics = options.metrics ?? noMetrics;
    this.#ref = { resource: leases, ...options.lease };
  }

  /**
   * Whether this process leads, now. To be asked before every step that only a leader may do. The first false is final:
   * it ends the leadership at once.
   */
  leads(): boolean {
    if (this.#renewedMs === undefined || this.#lost) return false;
    if (this.#options.clock.monotonicMs() - this.#renewedMs < this.#times.renewDeadlineMs) return true;
    this.#lose('it could not be renewed in time, or this process was blocked');
    return false;
  }

  async run(signal: AbortSignal, onLeading: () => void): Promise<'lost' | 'stopped'> {
    const takeBack = onAbort(signal, () => this.#over.abort());
    try {
      if (!(await this.#acquire())) return 'stopped';
      this.#metrics.leading();
      this.#options.logger.info(this.#fields(), 'Leading');
      onLeading();
      await this.#renewUntilOver();
      if (this.#lost) return 'lost';
      if (signal.aborted) await this.#release();
      return 'stopped';
    } finally {
      takeBack();
      this.#renewedMs = undefined;
      this.#metrics.notLeading();
    }
  }

  abandon(): void {
    this.#over.abort();
  }

  /** Passes on what a leader has left to this process, which did not compete any more. */
  async leave(): Promise<void> {
    if (this.#options.successor !== undefined && !this.#lost) await this.#release();
  }

  /** True when the lease is ours, false when it is over first. */
  async #acquire(): Promise<boolean> {
    const { clock, random = Math.random } = this.#options;
    while (!isAborted(this.#over.signal)) {
      const startedMs = clock.monotonicMs();
      const outcome = await this.#withinTime(this.#requestMs(), () => this.#acquireOrTakeOver());
      const inTime = clock.monotonicMs() - startedMs < this.#times.renewDeadlineMs;
      if (outcome === 'held' && inTime && !isAborted(this.#over.signal)) {
        this.#renewedMs = startedMs;
        return true;
      }
      await sleep(clock, this.#times.retryPeriodMs * (1 + JITTER * random()), this.#over.signal);
    }
    return false;
  }

  async #renewUntilOver(): Promise<void> {
    const { clock } = this.#options;
    while (!isAborted(this.#over.signal) && this.leads()) {
      await sleep(clock, Math.min(this.#times.retryPeriodMs, this.#remainingMs()), this.#over.signal);
      if (isAborted(this.#over.signal) || !this.leads()) return;
      const startedMs = clock.monotonicMs();
      const outcome = await this.#withinTime(Math.min(this.#requestMs(), this.#remainingMs()), () => this.#renew());
      if (!this.leads()) return;
      if (outcome === 'held') this.#renewedMs = startedMs;
      if (outcome === 'taken-over') this.#lose('another process holds it');
    }
  }

  /** Until leadership must be given up. */
  #remainingMs(): number {
    const sinceMs = this.#options.clock.monotonicMs() - (this.#renewedMs ?? 0);
    return Math.max(this.#times.renewDeadlineMs - sinceMs, 0);
  }

  #requestMs(): number {
    return Math.max(MIN_REQUEST_MS, this.#times.renewDeadlineMs / 2);
  }

  /** An attempt that fails or takes too long is as good as none. What a late answer says is not looked at. */
  #withinTime(timeoutMs: number, attempt: () => Promise<Attempt>): Promise<Attempt> {
    const limit = { clock: this.#options.clock, timeoutMs, signal: this.#over.signal };
    return within(
      limit,
      () => this.#noted(attempt()),
      () => 'not-held',
    );
  }

  async #noted(attempted: Promise<Attempt>): Promise<Attempt> {
    try {
      const outcome = await attempted;
      this.#toldToDo = undefined;
      return outcome;
    } catch (error) {
      this.#noteFailure(error);
      return 'not-held';
    }
  }

  /** A server that is away comes back by itself; what only an operator can fix is logged, once. */
  #noteFailure(error: unknown): void {
    const { logger } = this.#options;
    const needed = error instanceof KubeError ? remedies[error.reason] : undefined;
    if (needed === undefined || needed === this.#toldToDo) {
      logger.debug({ ...this.#fields(), err: error }, 'The lease could not be read or written');
      return;
    }
    this.#toldToDo = needed;
    logger.warn(
      { ...this.#fields(), err: error },
      `The API server refuses the lease, so this process cannot lead. ${needed}; it then goes on by itself`,
    );
  }

  async #acquireOrTakeOver(): Promise<Attempt> {
    const lease = await this.#read();
    if (lease === undefined) return await this.#write(undefined, this.#newRecord(undefined));
    const observed = this.#observe(lease);
    const { holderIdentity } = observed.record;
    if (holderIdentity !== '' && holderIdentity !== this.#options.identity && this.#isValid(observed))
      return 'not-held';
    return await this.#write(lease, this.#newRecord(observed.record));
  }

  /** Writes without reading while no other replica touched the lease; after any failure reads first. */
  async #renew(): Promise<Attempt> {
    const observed = this.#observed;
    if (observed !== undefined) {
      try {
        return await this.#write(observed.lease, this.#newRecord(observed.record));
      } catch {
        this.#metrics.slowPath();
      }
    }
    const lease = await this.#read();
    if (lease === undefined) return await this.#write(undefined, this.#newRecord(undefined));
    const { record } = this.#observe(lease);
    if (record.holderIdentity !== this.#options.identity) return 'taken-over';
    return await this.#write(lease, this.#newRecord(record));
  }

  #isValid({ record, sinceMs }: Observed): boolean {
    return sinceMs + record.leaseDurationSeconds * 1000 > this.#options.clock.monotonicMs();
  }

  /** A renewal keeps since when we hold it; taking it from another counts as a transition. */
  #newRecord(old: LeaseRecord | undefined): LeaseRecord {
    const now = microTime(this.#options.clock.now());
    const isOurs = old?.holderIdentity === this.#options.identity;
    return {
      holderIdentity: this.#options.identity,
      leaseDurationSeconds: Math.ceil(this.#times.leaseDurationMs / 1000),
      acquireTime: isOurs ? old.acquireTime : now,
      renewTime: now,
      leaseTransitions: isOurs || old === undefined ? (old?.leaseTransitions ?? 0) : old.leaseTransitions + 1,
    };
  }

  #read(): Promise<KubernetesObject | undefined> {
    return ifFound(this.#options.client.get(this.#ref));
  }

  /** The write carries the resourceVersion of the lease: the second of two writers gets a conflict. */
  async #write(lease: KubernetesObject | undefined, record: LeaseRecord): Promise<Attempt> {
    const { client, lease: id, annotations } = this.#options;
    const body = leaseWith(id, lease, record, annotations?.());
    const written =
      lease === undefined ? await client.create(leases, id.namespace, body) : await client.update(this.#ref, body);
    this.#observe(written);
    return 'held';
  }

  #observe(lease: KubernetesObject): Observed {
    const record = leaseRecord(lease);
    const raw = canonicalJson(lease['spec'] ?? null);
    const sinceMs = this.#observed?.raw === raw ? this.#observed.sinceMs : this.#options.clock.monotonicMs();
    this.#observed = { lease, record, raw, sinceMs };
    if (record.holderIdentity !== this.#reportedHolder) {
      this.#reportedHolder = record.holderIdentity;
      this.#options.logger.info({ ...this.#fields(), holder: record.holderIdentity }, 'The lease has a new holder');
    }
    return this.#observed;
  }

  #lose(why: string): void {
    this.#lost = true;
    this.#metrics.notLeading();
    this.#options.logger.error({ ...this.#fields(), why }, 'Leadership is lost');
    this.#over.abort();
  }

  /** Lets others take over at once instead of when the lease expires. Failing is harmless, so it only logs. */
  async #release(): Promise<void> {
    const { clock, logger } = this.#options;
    const untilMs = clock.monotonicMs() + this.#times.renewDeadlineMs;
    const pause = new AbortController();
    while (clock.monotonicMs() < untilMs) {
      try {
        const isGivenUp = await this.#writeReleased(untilMs - clock.monotonicMs());
        if (isGivenUp) logger.info(this.#fields(), 'The lease is given up');
        return;
      } catch (error) {
        if (!isKubeError(error, 'Conflict')) {
          logger.warn({ ...this.#fields(), err: error }, 'The lease could not be given up; it expires by itself');
          return;
        }
        await sleep(clock, Math.min(this.#times.retryPeriodMs / 10, untilMs - clock.monotonicMs()), pause.signal);
      }
    }
  }

  #writeReleased(limitMs: number): Promise<boolean> {
    const limit = { clock: this.#options.clock, timeoutMs: Math.min(limitMs, this.#requestMs()) };
    return within(
      limit,
      () => this.#giveUp(),
      () => {
        throw new KubeError('Unavailable', 'no answer in time');
      },
    );
  }

  /** False where it is not ours. */
  async #giveUp(): Promise<boolean> {
    const { client, clock, identity, lease: id, successor } = this.#options;
    const lease = await this.#read();
    const record = lease === undefined ? undefined : leaseRecord(lease);
    if (record?.holderIdentity !== identity) return false;
    const next = successor?.();
    const now = microTime(clock.now());
    const given =
      next === undefined
        ? { leaseDurationSeconds: RELEASED_SECONDS, holderIdentity: '' }
        : { holderIdentity: next, leaseTransitions: record.leaseTransitions + 1 };
    await client.update(this.#ref, leaseWith(id, lease, { ...record, acquireTime: now, renewTime: now, ...given }));
    return true;
  }

  #fields(): { readonly lease: string; readonly identity: string } {
    const { lease, identity } = this.#options;
    return { lease: `${lease.namespace}/${lease.name}`, identity };
  }
}
