// How many bytes of the cluster are in memory at once, whatever its objects weigh.
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
