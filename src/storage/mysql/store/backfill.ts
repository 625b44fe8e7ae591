// Writes the indexed columns, labels and annotations of existing rows again from their json, while writers go on: a page
// by primary key is locked, compared, and only what differs is written.
import type { KindDefinition } from '../../../api/kind.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import { isJsonObject, valueAt } from '../../../base/json.ts';
import { parseLossless } from '../../../base/lossless-json.ts';
import { columnValues } from '../../columns.ts';
import { namedPairs } from '../../owners.ts';
import type { ObjectRow } from '../../row.ts';
import type { SqlParameter } from '../parameters.ts';
import type { SqlRow, SqlSession } from '../pool.ts';
import { pageEnd } from '../read/page-end.ts';
import { statementsFor } from '../schema/statements.ts';
import { type PairChange, writePairs } from './pair-writer.ts';
import { indexedValues, pairsHash } from './pending-write.ts';

export interface BackfilledPage {
  readonly scanned: number;
  readonly changed: number;
  /** Undefined at the end. */
  readonly lastUid: string | undefined;
}

interface Found {
  readonly uid: string;
  /** Hashes and columns as they are stored. */
  readonly stored: readonly unknown[];
  /** As the json says they should be. */
  readonly wanted: readonly SqlParameter[];
  readonly labels: PairChange;
  readonly annotations: PairChange;
}

export async function backfillPage(
  session: SqlSession,
  kind: KindDefinition,
  afterUid: string,
  pageSize: number,
): Promise<BackfilledPage> {
  const columns = ['labels_hash', 'annotations_hash', ...kind.indexes.flat().map(({ name }) => name)];
  const list = columns.map((column) => `\`${column}\``).join(', ');
  const end = await pageEnd(session, kind.table, afterUid, pageSize);
  if (end === undefined) return { scanned: 0, changed: 0, lastUid: undefined };
  const rows = await session.query(
    `SELECT \`uid\`, \`json\`, \`create_time\`, ${list} FROM \`${kind.table}\` WHERE \`uid\` > ? AND \`uid\` <= ? ` +
      'ORDER BY `uid` FOR UPDATE',
    [afterUid, end],
  );
  const found = rows.map((row) => toFound(kind, row));
  const differing = found.filter(({ stored, wanted }) => !stored.every((value, index) => same(value, wanted[index])));
  const assignments = columns.map((column) => `\`${column}\` = ?`).join(', ');
  for (const { uid, wanted } of differing) {
    await session.execute(`UPDATE \`${kind.table}\` SET ${assignments} WHERE \`uid\` = ?`, [...wanted, uid]);
  }
  const { labels, annotations } = statementsFor(kind, session.dialect);
  const repaired = [
    ...(await writePairs(
      session,
      labels,
      found.map((one) => one.labels),
    )),
    ...(await writePairs(
      session,
      annotations,
      found.map((one) => one.annotations),
    )),
  ];
  const changed = new Set([...differing.map(({ uid }) => uid), ...repaired]);
  return { scanned: rows.length, changed: changed.size, lastUid: end };
}

function toFound(kind: KindDefinition, [id, json, createTime, ...stored]: SqlRow): Found {
  const uid = String(id);
  const { columns, annotations, ...derived } = derivedFrom(kind, String(json));
  const labels = [...derived.labels, ...(derived.owners ?? [])];
  return {
    uid,
    stored,
    wanted: [pairsHash(labels), pairsHash(annotations), ...indexedValues({ kind, columns })],
    labels: { uid, pairs: labels, extra: [String(createTime)] },
    annotations: { uid, pairs: annotations, extra: [] },
  };
}

/** Booleans come back as numbers, and a time without a fraction comes back without its zeros. */
function same(stored: unknown, wanted: SqlParameter | undefined): boolean {
  if (stored instanceof Uint8Array) return wanted instanceof Uint8Array && Buffer.compare(stored, wanted) === 0;
  if (stored === null || wanted === null) return stored === wanted;
  return normal(stored) === normal(wanted);
}

function normal(value: unknown): string {
  if (typeof value === 'boolean') return String(Number(value));
  return String(value).replace(/(?<=^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\.?0*$/, '');
}

// Everything a row holds twice: what can be found by is taken from the json, so it can be written again from there.
export type Derived = Pick<ObjectRow, 'columns' | 'labels' | 'owners' | 'annotations'>;

export function derivedFrom(kind: KindDefinition, json: string): Derived {
  const object = parseLossless(json);
  return {
    columns: columnValues(kind, object as KubernetesObject),
    labels: texts(valueAt(object, ['metadata', 'labels'])),
    owners: namedPairs(object),
    annotations: texts(valueAt(object, ['metadata', 'annotations'])),
  };
}

function texts(map: unknown): Derived['labels'] {
  const entries = Object.entries(isJsonObject(map) ? map : {});
  return entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}
