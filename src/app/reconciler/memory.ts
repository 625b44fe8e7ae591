// What bounds the memory of the reconciler (ADR 20): how many bytes of the cluster are in it at once, whatever its objects
// weigh, and how V8 collects it.
import { setFlagsFromString } from 'node:v8';
import { ByteBudget } from '../../base/byte-budget.ts';

/** Bytes of the objects, as received, that all kinds use at once. Many small objects fit, or a few of the largest. */
export interface ByteBudgets {
  /** Of objects that wait to be reconciled. Those beyond are read from the API server when it is their turn. */
  readonly held: ByteBudget;
  /** Of objects being reconciled: each takes about eight times its size while its row is made and sent. */
  readonly worked: ByteBudget;
}

const HELD_BYTES = 64 * 1024 * 1024;
const WORKED_BYTES = 16 * 1024 * 1024;

export function createByteBudgets(): ByteBudgets {
  return { held: new ByteBudget(HELD_BYTES), worked: new ByteBudget(WORKED_BYTES) };
}

/**
 * Lets the heap double before all of it is collected again. For one as small as the manifests allow V8 would do so after
 * every 30 percent, and what is under way while many objects are written outlives the young generation. V8 reads the
 * flag after each collection, so it can be set while the program runs; NODE_OPTIONS does not take it.
 */
export function letHeapGrow(): void {
  setFlagsFromString('--heap-growing-percent=100');
}
