// Reads of single objects.
import type { KindDefinition } from '../../../api/kind.ts';
import { QueryUnsupportedError } from '../../errors.ts';
import type { ListQuery } from '../../list-query.ts';
import type { StoredObject } from '../../metadata-storage.ts';
import { isNamedKey } from '../../owners.ts';
import { type RowState, rowStates } from '../../row.ts';
import type { SqlSession } from '../pool.ts';
import { fromSqlTime } from '../sql-time.ts';
import type { SqlCondition } from './conditions.ts';
import { readPairRows } from './pairs.ts';
import { identified } from './row-keys.ts';

/** JSON paths, as both servers write them, to leave out of the json. */
export type Skipped = readonly string[];

const MOST_SKIPPED = 32;
const dottedPath = /^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,15}$/;

export function skippedPaths(paths: readonly string[]): Skipped {
  if (paths.length > MOST_SKIPPED) throw new QueryUnsupportedError(`more than ${MOST_SKIPPED} fields to skip`, []);
  const wrong = paths.find((path) => !dottedPath.test(path));
  if (wrong !== undefined) throw new QueryUnsupportedError(`skipping "${wrong.slice(0, 100)}", which is no path`, []);
  return paths.map(
    (path) =>
      `$.${path
        .split('.')
        .map((step) => `"${step}"`)
        .join('.')}`,
  );
}

/** The SELECT list that `toStoredObject` reads; its parameters are the skipped paths. */
export function storedColumns(skipped: Skipped, parts: NonNullable<ListQuery['parts']> = 'all'): string {
  const json = skipped.length === 0 ? '`json`' : `JSON_REMOVE(\`json\`, ${skipped.map(() => '?').join(', ')})`;
  const content = `${json}, ${skipped.length === 0 && parts === 'all' ? '`proto`' : "''"}`;
  return (
    'CAST(`uid` AS CHAR), `namespace`, `name`, CAST(`res_version` AS CHAR), IF(`delete_time` IS NULL, `row_state`, 2), `update_time`, `delete_time`, ' +
    `\`evict_time\`, ${content}, \`content_hash\`, CAST(\`object_uid\` AS CHAR)`
  );
}

/** Alive first, then evicted, then the incarnation deleted last. */
const NEWEST_FIRST = 'ORDER BY `delete_time` IS NULL DESC, `evict_time` IS NULL DESC, `create_time` DESC LIMIT 1';

/** The one object that the condition finds, the newest of several. */
export async function readObject(
  session: SqlSession,
  kind: KindDefinition,
  { sql, parameters }: SqlCondition,
): Promise<StoredObject | undefined> {
  const [found] = await session.query(
    `SELECT ${storedColumns([])} FROM \`${kind.table}\` WHERE ${sql} ${NEWEST_FIRST}`,
    parameters,
  );
  if (found === undefined) return undefined;
  const key = String(found[0]);
  const labels = await readPairs(session, `${kind.table}_labels`, [key]);
  const annotations = await readPairs(session, `${kind.table}_annotations`, [key]);
  return toStoredObject(found, labels.get(key), annotations.get(key));
}

type Pairs = Readonly<Record<string, string>>;

/** Labels or annotations of several objects, by the keys of their rows. Owner references are no labels. */
export async function readPairs(
  session: SqlSession,
  table: string,
  uids: readonly string[],
): Promise<ReadonlyMap<string, Pairs>> {
  const rows = await readPairRows(session, table, uids);
  const own = rows.filter(([, key]) => !isNamedKey(String(key)));
  const entries = Map.groupBy(own, ([uid]) => String(uid));
  return new Map(
    [...entries].map(([uid, pairs]) => [
      uid,
      Object.fromEntries(pairs.map(([, key, value]) => [String(key), String(value)])),
    ]),
  );
}

type SelectedRow = readonly [
  key: string,
  namespace: string,
  name: string,
  resourceVersion: string,
  state: number,
  updateTime: string,
  deleteTime: string | null,
  evictTime: string | null,
  json: string,
  proto: Uint8Array,
  contentHash: string,
  objectUid: string | null,
];

/** A row of `STORED_COLUMNS` with its labels and annotations. */
export function toStoredObject(row: readonly unknown[], labels: Pairs = {}, annotations: Pairs = {}): StoredObject {
  const [key, namespace, name, resourceVersion, state, updateTime, deleteTime, evictTime, json, proto, ...rest] =
    row as SelectedRow;
  const [contentHash, objectUid] = rest;
  return {
    ...identified(key, objectUid),
    namespace,
    name,
    resourceVersion,
    state: rowStateNamed(state),
    updateTime: fromSqlTime(updateTime),
    deleteTime: deleteTime === null ? undefined : fromSqlTime(deleteTime),
    evictTime: evictTime === null ? undefined : fromSqlTime(evictTime),
    json,
    contentHash,
    proto: new Uint8Array(Buffer.from(proto)),
    labels,
    annotations,
  };
}

/** The state that a number of the column `row_state` stands for. */
export function rowStateNamed(number: unknown): RowState {
  return rowStates[Number(number)] ?? 'live';
}
