import { setFlagsFromString } from 'node:v8';

/**
 * Lets the heap double before all of it is collected again. For one as small as the manifests allow V8 would do so after
 * every 30 percent, and what is under way while many objects are written outlives the young generation (ADR 20). V8 reads
 * the flag after each collection, so it can be set while the program runs; NODE_OPTIONS does not take it.
 */
export function letHeapGrow(): void {
  setFlagsFromString('--heap-growing-percent=100');
}
