// The Leases of replicas that work at the same time. Their names are fixed, so that rights can name them.
import { BUCKETS } from './buckets.ts';

/** Most replicas; one beyond them waits until another ends. */
export const SLOTS = 16;

export const slotLeases: readonly string[] = Array.from({ length: SLOTS }, (_, slot) => `ingester-replica-${slot}`);
export const bucketLeases: readonly string[] = Array.from(
  { length: BUCKETS },
  (_, bucket) => `ingester-bucket-${bucket}`,
);

/** Of a process in a slot. It is never used twice: who has lost the slot does not come back under the same name. */
export function holderOf(slotLease: string, process: string): string {
  return `${slotLease}/${process}`;
}

/** The Lease on which the holder's life depends; undefined for what is no name of ours. */
export function slotLeaseOf(holder: string): string | undefined {
  const [name] = holder.split('/', 1);
  return name !== undefined && slotLeases.includes(name) ? name : undefined;
}

/** Begins the identity of the leader where all replicas work; another one works alone. */
export const ONE_OF_MANY = 'replica/';

/** Of a slot: what its holder says of MySQL. */
export const STORAGE_ANNOTATION = 'ingester.michelangelo.api/storage';
