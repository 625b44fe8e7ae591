import { type JsonObject, sameJson } from '../../base/json.ts';
import { RowMismatchError } from '../../storage/errors.ts';
import type { MetadataStorage, StoredObject } from '../../storage/metadata-storage.ts';
import type { ObjectRow } from '../../storage/row.ts';
import { maskedValues, openObject, type SensitiveValues } from '../../storage/sensitive.ts';

interface Prover {
  readonly storage: MetadataStorage;
  readonly sensitive?: SensitiveValues;
}

/** Reads the row back; throws RowMismatchError unless it is exactly this state of the object, in one of the states. */
export async function proveStored(
  { storage, sensitive = maskedValues }: Prover,
  row: ObjectRow,
  states: readonly StoredObject['state'][],
): Promise<void> {
  const stored = await storage.getById(row.kind, row.uid);
  if (stored === undefined) throw new RowMismatchError('the row is missing');
  if (!states.includes(stored.state))
    throw new RowMismatchError(`the row is ${stored.state}, not ${states.join(' or ')}`);
  if (stored.resourceVersion !== row.resourceVersion) throw new RowMismatchError('another resourceVersion is stored');
  // Opened, because a value is sealed to another text each time; that it can be opened is part of the proof.
  const [found, wanted] = [stored.json, row.json].map((json) =>
    openObject(row.kind, JSON.parse(json) as JsonObject, sensitive),
  );
  if (!sameJson(found, wanted, asServersRead)) throw new RowMismatchError('the content differs');
}

/** Above it a server keeps an integer as a double. */
const LARGEST_INTEGER = 2 ** 64;
/** The JSON parser of older servers may be wrong in the last places of a double: three units, of the width of one here. */
const READ_WRONG = 4 * Number.EPSILON;

/** Were a fraction's last place held against the row, its object could never leave. Integers are what identifiers are made of. */
function asServersRead(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'number' || typeof right !== 'number') return false;
  if (Number.isInteger(left) && Math.abs(left) < LARGEST_INTEGER) return false;
  return Math.abs(left - right) <= Math.abs(left) * READ_WRONG;
}
