// What a replica does about the buckets, given the Leases as it sees them. Every write carries the resourceVersion of what was
// seen, so a view that is old does no harm: the write fails.

import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { leases } from '../../kube/resources.ts';
import { ReplicaRightsError } from '../errors.ts';
import { defaultTimes } from '../leader-elector.ts';
import { type LeaseRecord, leaseWith, microTime } from '../lease.ts';
import { allBuckets, targetOf } from './buckets.ts';
import type { LeaseBoard, SeenLease } from './lease-board.ts';
import { bucketLeases, ONE_OF_MANY, STORAGE_ANNOTATION, slotLeaseOf, slotLeases } from './lease-names.ts';
import type { StorageUse } from './standing-aside.ts';

export interface Claims {
  readonly keep: readonly number[];
  /** Free, and to be ours. */
  readonly take: readonly number[];
  /** Ours, and to be another's. */
  readonly give: readonly number[];
}

export interface ClaimsOptions {
  readonly board: LeaseBoard;
  /** Whose Leases they are, as the holder in them. */
  readonly holder: string;
  readonly client: Pick<KubeClient, 'create' | 'update'>;
  readonly namespace: string;
  /** Of the leader. While a process that works alone holds it, no replica owns a bucket. */
  readonly leaderLease: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Without them a replica would wait for them for ever, and nothing but its log would say so. */
export async function demandRights(
  { client, namespace }: { readonly client: Pick<KubeClient, 'list'>; readonly namespace: string },
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.list(leases, { namespace, limit: 1 }, signal);
  } catch (error) {
    if (isKubeError(error, 'Forbidden')) throw new ReplicaRightsError(namespace, error);
    // The informer asks again, and says why there is no answer.
  }
}

const { leaseDurationMs } = defaultTimes;
const LEASE_SECONDS = leaseDurationMs / 1000;
const RELEASED_SECONDS = 1;
/** Is in no Lease. */
const NO_HOLDER = ' ';

/** The holders of slots that have a part in the work, each with its slot. */
export function holdersOf(board: LeaseBoard): ReadonlyMap<string, number> {
  const holders = slotLeases.map((name, slot) => [board.get(name)?.record.holderIdentity ?? '', slot] as const);
  const uses = storageUses(board);
  const all = holders.filter(([holder]) => holder !== '');
  const able = all.filter(([holder]) => uses.get(holder) !== 'aside');
  return new Map(able.length > 0 ? able : all);
}

/** What the holders of slots say of MySQL. */
export function storageUses(board: LeaseBoard): ReadonlyMap<string, StorageUse> {
  const seen = slotLeases.flatMap((name) => board.get(name) ?? []);
  return new Map(
    seen.map(({ record, lease }) => {
      const use = lease.metadata.annotations?.[STORAGE_ANNOTATION];
      return [record.holderIdentity, use === 'aside' || use === 'unavailable' ? use : 'available'];
    }),
  );
}

/** Slots that a process may take: given up, or never used and named by no bucket. */
export function freeSlots(board: LeaseBoard): readonly string[] {
  const named = new Set(bucketLeases.map((name) => slotLeaseOf(board.get(name)?.record.holderIdentity ?? '')));
  return slotLeases.filter((name) => {
    const seen = board.get(name);
    return seen === undefined ? !named.has(name) : seen.record.holderIdentity === '';
  });
}

/** Slots whose holder has not renewed them for their whole duration. It gave up by its own clock seconds before. */
export function deadSlots(board: LeaseBoard): readonly string[] {
  return slotLeases.filter((name) => {
    const seen = board.get(name);
    return seen !== undefined && seen.record.holderIdentity !== '' && isExpired(board, seen);
  });
}

/** Another holder of a slot that renews it: the one that did last. Undefined where there is none. */
export function otherHolder(board: LeaseBoard, own: string): string | undefined {
  const others = slotLeases
    .flatMap((name) => board.get(name) ?? [])
    .filter(({ record: { holderIdentity } }) => {
      return holderIdentity !== '' && holderIdentity !== own;
    });
  const alive = others.filter((seen) => board.unchangedMs(seen) < defaultTimes.renewDeadlineMs);
  return alive.sort((left, right) => right.sinceMs - left.sinceMs)[0]?.record.holderIdentity;
}

function isExpired(board: LeaseBoard, seen: SeenLease): boolean {
  return board.unchangedMs(seen) >= seen.record.leaseDurationSeconds * 1000;
}

/**
 * A bucket is taken only while one of the replicas leads. While none does, as between two leaders, a process that works
 * alone may begin to; what is ours stays ours.
 */
export function claimsOf({ board, holder, leaderLease }: ClaimsOptions, members: readonly number[]): Claims {
  const own = slotLeases.indexOf(slotLeaseOf(holder) ?? '');
  const slots = isForeign(board, leaderLease) ? [] : members;
  const isOurs = isLedByReplica(board, leaderLease);
  const wanted = new Set(allBuckets.filter((bucket) => targetOf(bucket, slots) === own));
  const [ours, free] = (['ours', 'free'] as const).map((state) =>
    allBuckets.filter((bucket) => holding(board, bucket, holder) === state),
  );
  return {
    keep: ours?.filter((bucket) => wanted.has(bucket)) ?? [],
    take: free?.filter((bucket) => isOurs && wanted.has(bucket)) ?? [],
    give: ours?.filter((bucket) => !wanted.has(bucket)) ?? [],
  };
}

/** How many buckets have no owner that is known to live. While a process that works alone leads, it works on all. */
export function countUnowned(board: LeaseBoard, leaderLease: string): number {
  if (isForeign(board, leaderLease)) return 0;
  return allBuckets.filter((bucket) => holding(board, bucket, NO_HOLDER) === 'free').length;
}

/** Whether a process that works alone leads: then it works on all. */
export function isForeign(board: LeaseBoard, leaderLease: string): boolean {
  const seen = board.get(leaderLease);
  if (seen === undefined || seen.record.holderIdentity === '') return false;
  return !isLedByReplica(board, leaderLease) && !isExpired(board, seen);
}

function isLedByReplica(board: LeaseBoard, leaderLease: string): boolean {
  return board.get(leaderLease)?.record.holderIdentity.startsWith(ONE_OF_MANY) === true;
}

/** Whether no process leads, or the one that does has not renewed the lease for its whole duration. */
export function lacksLeader(board: LeaseBoard, leaderLease: string): boolean {
  const seen = board.get(leaderLease);
  return seen === undefined || seen.record.holderIdentity === '' || isExpired(board, seen);
}

function holding(board: LeaseBoard, bucket: number, own: string): 'ours' | 'free' | "another's" {
  const seen = board.get(nameOf(bucket));
  const holder = seen?.record.holderIdentity ?? '';
  if (holder === own) return 'ours';
  if (seen === undefined || holder === '') return 'free';
  return isOver(board, seen) ? 'free' : "another's";
}

/**
 * Whether the holder of a bucket works no more. Its slot was given up or buried: no process has a slot a second time under
 * the same name. Where nothing shows its slot, it had the time of a lease to give up.
 */
function isOver(board: LeaseBoard, seen: SeenLease): boolean {
  const { holderIdentity } = seen.record;
  const name = slotLeaseOf(holderIdentity);
  if (name === undefined) return board.unchangedMs(seen) >= leaseDurationMs;
  const slot = board.get(name);
  if (slot === undefined) return board.absentMs(name) >= leaseDurationMs;
  return slot.record.holderIdentity !== holderIdentity;
}

function nameOf(bucket: number): string {
  return bucketLeases[bucket] ?? '';
}

export function takeBucket(options: ClaimsOptions, bucket: number): Promise<void> {
  return takeLease(options, nameOf(bucket), options.holder);
}

/**
 * Names a replica as the leader; its elector finds that and leads. A replica sees the Leases, so it is sooner than a process that asks every
 * few seconds, as those that work alone do: none of them begins while a replica works.
 */
export function nameLeader(options: ClaimsOptions): Promise<void> {
  return takeLease(options, options.leaderLease, leaderOf(options.holder));
}

/** The identity as a leader of who holds a slot. */
export function leaderOf(holder: string): string {
  return `${ONE_OF_MANY}${holder.slice(holder.indexOf('/') + 1)}`;
}

async function takeLease(options: ClaimsOptions, name: string, holderIdentity: string): Promise<void> {
  const { board, clock } = options;
  const now = microTime(clock.now());
  const old = board.get(name)?.record;
  await write(options, name, {
    holderIdentity,
    leaseDurationSeconds: LEASE_SECONDS,
    acquireTime: now,
    renewTime: now,
    leaseTransitions: old === undefined ? 0 : old.leaseTransitions + 1,
  });
}

/** Gives a bucket up, or buries a slot: its holder works no more. */
export async function clearLease(options: ClaimsOptions, name: string): Promise<void> {
  const { board, clock } = options;
  const record = board.get(name)?.record;
  if (record === undefined) return;
  const now = microTime(clock.now());
  const times = { leaseDurationSeconds: RELEASED_SECONDS, acquireTime: now, renewTime: now };
  await write(options, name, { ...record, ...times, holderIdentity: '' });
}

export function giveBucket(options: ClaimsOptions, bucket: number): Promise<void> {
  return clearLease(options, nameOf(bucket));
}

/** Losing a race is no failure: the board hears of the winner. */
async function write(options: ClaimsOptions, name: string, record: LeaseRecord): Promise<void> {
  const { board, client, namespace, logger } = options;
  const seen = board.get(name);
  const body = leaseWith({ namespace, name }, seen?.lease, record);
  try {
    board.see(
      seen === undefined
        ? await client.create(leases, namespace, body)
        : await client.update({ resource: leases, namespace, name }, body),
    );
  } catch (error) {
    if (isKubeError(error, 'NotFound')) board.gone(name);
    const level = isKubeError(error, 'Conflict') ? 'debug' : 'warn';
    logger[level]({ lease: name, err: error }, 'The Lease could not be written; trying again');
  }
}
