import { StorageLacksError } from '../errors.ts';
import type { Ability, Dialect } from './dialect.ts';

/** Throws STORAGE_LACKS where the server cannot do it, with what does it there. */
export function refuseLacking({ product, lacks }: Dialect, ability: Ability): void {
  const lacking = lacks[ability];
  if (lacking !== undefined) throw new StorageLacksError(product, lacking.what, lacking.instead);
}
