// How much of the cluster is in memory at once, whatever its objects weigh.
import { ByteBudget } from '../base/byte-budget.ts';
import { receivedBytes } from '../kube/lazy-object.ts';
import type { IdentityStore } from '../kube/store.ts';

/** Bytes of the objects, as received, that all kinds use at once. Many small objects fit, or a few of the largest. */
export interface Memory {
  /** Of objects that wait to be reconciled. Those beyond are read from the API server when it is their turn. */
  readonly held: ByteBudget;
  /** Of objects being reconciled: each takes about eight times its size while its row is made and sent. */
  readonly worked: ByteBudget;
}

const HELD_BYTES = 64 * 1024 * 1024;
const WORKED_BYTES = 16 * 1024 * 1024;
/** An object that has to be read first counts as one of the largest that etcd takes. */
const UNREAD_BYTES = 1024 * 1024;

export function createMemory(): Memory {
  return { held: new ByteBudget(HELD_BYTES), worked: new ByteBudget(WORKED_BYTES) };
}

/** What reconciling the object takes of `worked`. */
export function bytesAt(store: IdentityStore, key: string): number {
  const held = store.get(key);
  return (held === undefined ? undefined : receivedBytes(held)) ?? (store.has(key) ? UNREAD_BYTES : 0);
}
