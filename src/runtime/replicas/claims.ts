// What a replica does about the buckets, given the Leases as it sees them. Every write carries the resourceVersion of what was
// seen, so a view that is old does no harm: the write fails.

import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { leases } from '../../kube/resources.ts';
import { defaultTimes } from '../leader-elector.ts';
import { type LeaseRecord, leaseWith, microTime } from '../lease.ts';
import { allBuckets, targetOf } from './buckets.ts';
import type { LeaseBoard, SeenLease } from './lease-board.ts';
import { bucketLeases, ONE_OF_MANY, slotLeaseOf, slotLeases } from './lease-names.ts';

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

const { leaseDurationMs } = defaultTimes;
const LEASE_SECONDS = leaseDurationMs / 1000;
const RELEASED_SECONDS = 1;
/** Is in no Lease. */
const NO_HOLDER = ' ';

/** The holders of slots, each with its slot. */
export function holdersOf(board: LeaseBoard): ReadonlyMap<string, number> {
  const holders = slotLeases.map((name, slot) => [board.get(name)?.record.holderIdentity ?? '', slot] as const);
  return new Map(holders.filter(([holder]) => holder !== ''));
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

function isExpired(board: LeaseBoard, seen: SeenLease): boolean {
  return board.unchangedMs(seen) >= seen.record.leaseDurationSeconds * 1000;
}

export function claimsOf({ board, holder, leaderLease }: ClaimsOptions, members: readonly number[]): Claims {
  const own = slotLeases.indexOf(slotLeaseOf(holder) ?? '');
  const slots = isForeign(board, leaderLease) ? [] : members;
  const wanted = new Set(allBuckets.filter((bucket) => targetOf(bucket, slots) === own));
  const [ours, free] = (['ours', 'free'] as const).map((state) =>
    allBuckets.filter((bucket) => holding(board, bucket, holder) === state),
  );
  return {
    keep: ours?.filter((bucket) => wanted.has(bucket)) ?? [],
    take: free?.filter((bucket) => wanted.has(bucket)) ?? [],
    give: ours?.filter((bucket) => !wanted.has(bucket)) ?? [],
  };
}

/** How many buckets have no owner that is known to live. While a process that works alone leads, it works on all. */
export function countUnowned(board: LeaseBoard, leaderLease: string): number {
  if (isForeign(board, leaderLease)) return 0;
  return allBuckets.filter((bucket) => holding(board, bucket, NO_HOLDER) === 'free').length;
}

function isForeign(board: LeaseBoard, leaderLease: string): boolean {
  const seen = board.get(leaderLease);
  if (seen === undefined || seen.record.holderIdentity === '') return false;
  return !seen.record.holderIdentity.startsWith(ONE_OF_MANY) && !isExpired(board, seen);
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

export async function takeBucket(options: ClaimsOptions, bucket: number): Promise<void> {
  const { board, holder, clock } = options;
  const now = microTime(clock.now());
  const old = board.get(nameOf(bucket))?.record;
  await write(options, nameOf(bucket), {
    holderIdentity: holder,
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
