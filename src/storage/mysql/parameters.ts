// Values as the driver takes them.
import mysql, { type ExecuteValues } from 'mysql2/promise';
import type { Dialect } from './dialect.ts';

export type SqlParameter = string | number | boolean | null | Uint8Array;
type DriverValue = string | number | boolean | null | Buffer;

export function toDriver(value: SqlParameter): DriverValue {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

/** For prepared statements. */
export const preparedBy: Readonly<Record<Dialect['integers'], (value: SqlParameter) => ExecuteValues>> = {
  double: toDriver,
  // vtgate merges the pages of shards by the limit that it is sent, and takes no double for one.
  integer: (value) =>
    typeof value === 'number' && Number.isInteger(value) ? mysql.TypedParameter.LONGLONG(value) : toDriver(value),
};
