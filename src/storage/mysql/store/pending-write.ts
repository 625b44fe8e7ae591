import { hash } from 'node:crypto';
import { sortedByKey } from '../../../base/json.ts';
import type { TraceSpan } from '../../../base/tracing.ts';
import { indexedColumns, storableDate } from '../../columns.ts';
import type { ObjectRow, RowState } from '../../row.ts';
import type { SqlParameter } from '../parameters.ts';
import { rowStateNumber } from '../schema/statements.ts';
import { toSqlTime } from '../sql-time.ts';

/** The end-of-life columns of a write. */
export interface Ending {
  readonly statement: 'write' | 'finish';
  readonly state: RowState;
  readonly evictRequestTime?: Date;
  readonly deleteTime?: Date;
}

export interface HashedPairs {
  readonly pairs: Pairs;
  /** JSON of the pairs, sorted by their keys. */
  readonly text: string;
  /** Tells whether two sets of pairs are the same without reading them. */
  readonly hash: Buffer;
}

/** One write that waits for its transaction, with everything that can be computed before it. */
export interface PendingWrite {
  readonly row: ObjectRow;
  readonly statement: 'write' | 'finish';
  readonly state: number;
  /** The last closing of the writer gate that was known when the object was read, or the write asked for. */
  readonly closing: string | undefined;
  /** With the owner references. */
  readonly labels: HashedPairs;
  readonly annotations: HashedPairs;
  /** In the order of `parameterColumns`, without the times. */
  readonly parameters: readonly SqlParameter[];
  /** Of the main row; what it costs in a packet. */
  readonly mainBytes: number;
  /** Of everything; what it costs in memory. */
  readonly bytes: number;
  /** The attempt that asked for it, where that is traced. */
  readonly origin?: TraceSpan | undefined;
}

/** Per row: the short columns and what the protocol adds. */
const ROW_OVERHEAD_BYTES = 1024;
/** A character of the json text takes at most three bytes on the wire (four for a pair of two). */
const BYTES_PER_CHARACTER = 3;

/** Where the two times of the write are among the parameters: it has them when it is written, however long it has waited. */
const TIMES_AT = 10;
const NO_TIMES = [null, null] as const;

export function pendingWrite(row: ObjectRow, ending: Ending, closing?: string): PendingWrite {
  const labels = hashedPairs([...row.labels, ...(row.owners ?? [])]);
  const annotations = hashedPairs(row.annotations);
  const state = rowStateNumber(ending.state);
  const mainBytes = Buffer.byteLength(row.json) + row.proto.byteLength + ROW_OVERHEAD_BYTES;
  return {
    row,
    statement: ending.statement,
    state,
    closing,
    labels,
    annotations,
    parameters: [
      ...keyParameters(row, row.key ?? row.uid),
      row.groupVersion,
      row.namespace,
      row.name,
      row.generation,
      row.contentHash,
      labels.hash,
      annotations.hash,
      toSqlTime(row.createTime),
      ...NO_TIMES,
      row.proto,
      row.json,
      ...indexedValues(row),
      null,
      sqlTimeOrNull(ending.deleteTime),
      sqlTimeOrNull(ending.evictRequestTime),
      state,
      row.resourceVersion,
    ],
    mainBytes,
    bytes: mainBytes + pairBytes(labels.pairs) + pairBytes(row.annotations),
  };
}

/** The parameters of the write for a row of this key, written at this time, as MySQL takes it. */
export function parametersFor({ row, parameters }: PendingWrite, key: string, time: string): readonly SqlParameter[] {
  const keys = keyParameters(row, key);
  const rest = parameters.slice(TIMES_AT + NO_TIMES.length);
  return [...keys, ...parameters.slice(keys.length, TIMES_AT), time, time, ...rest];
}

function keyParameters({ uid }: Pick<ObjectRow, 'uid'>, key: string): readonly SqlParameter[] {
  return [key, key === uid ? null : uid];
}

/** The values of `row.columns` as the driver takes them. */
export function indexedValues(row: Pick<ObjectRow, 'kind' | 'columns'>): readonly SqlParameter[] {
  return indexedColumns(row.kind).map((column, position) => {
    const value = row.columns[position] ?? null;
    return column.type === 'time' && typeof value === 'string' ? toSqlTime(value) : value;
  });
}

type Pairs = readonly (readonly [key: string, value: string])[];

export function pairBytes(pairs: Pairs): number {
  return pairs.reduce((sum, [key, value]) => sum + (key.length + value.length) * BYTES_PER_CHARACTER + 64, 0);
}

/** The order of the pairs does not matter. */
export function pairsHash(pairs: Pairs): Buffer {
  return hashedPairs(pairs).hash;
}

function hashedPairs(pairs: Pairs): HashedPairs {
  const text = JSON.stringify(sortedByKey(pairs));
  return { pairs, text, hash: hash('sha256', text, 'buffer').subarray(0, 16) };
}

function sqlTimeOrNull(time: Date | undefined): string | null {
  return time === undefined ? null : toSqlTime(storableDate(time).toISOString());
}
