// Reads of single objects.
import type { KindDefinition } from '../../api/kind.ts';
import type { StoredObject } from '../metadata-storage.ts';
import type { SqlParameter, SqlSession } from './pool.ts';
import { fromSqlTime } from './sql-time.ts';
import { rowStateNumber } from './statements.ts';

/** The SELECT list that `toStoredObject` reads. */
export const STORED_COLUMNS: string =
  'CAST(`uid` AS CHAR), `namespace`, `name`, CAST(`res_version` AS CHAR), `row_state`, `update_time`, `delete_time`, ' +
  '`evict_time`, `json`, `proto`';

/** Alive first, then evicted, then the incarnation deleted last. */
const NEWEST_FIRST = 'ORDER BY `delete_time` IS NULL DESC, `evict_time` IS NULL DESC, `create_time` DESC LIMIT 1';

/** The one object that the condition finds; its parameters are positional. */
export async function readObject(
  session: SqlSession,
  kind: KindDefinition,
  condition: 'uid' | 'name',
  parameters: readonly SqlParameter[],
): Promise<StoredObject | undefined> {
  const where = condition === 'uid' ? '`uid` = ?' : `\`namespace\` = ? AND \`name\` = ? ${NEWEST_FIRST}`;
  const [found] = await session.query(`SELECT ${STORED_COLUMNS} FROM \`${kind.table}\` WHERE ${where}`, parameters);
  if (found === undefined) return undefined;
  const uid = String(found[0]);
  const labels = await readPairs(session, `${kind.table}_labels`, [uid]);
  const annotations = await readPairs(session, `${kind.table}_annotations`, [uid]);
  return toStoredObject(found, labels.get(uid), annotations.get(uid));
}

type Pairs = Readonly<Record<string, string>>;

/** Labels or annotations of several objects, by uid. */
export async function readPairs(
  session: SqlSession,
  table: string,
  uids: readonly string[],
): Promise<ReadonlyMap<string, Pairs>> {
  const marks = uids.map(() => '?').join(', ');
  const rows = await session.query(
    `SELECT \`obj_uid\`, \`key\`, \`value\` FROM \`${table}\` WHERE \`obj_uid\` IN (${marks}) ORDER BY \`obj_uid\`, \`key\``,
    uids,
  );
  const entries = Map.groupBy(rows, ([uid]) => String(uid));
  return new Map(
    [...entries].map(([uid, pairs]) => [
      uid,
      Object.fromEntries(pairs.map(([, key, value]) => [String(key), String(value)])),
    ]),
  );
}

type SelectedRow = readonly [
  uid: string,
  namespace: string,
  name: string,
  resourceVersion: string,
  state: number,
  updateTime: string,
  deleteTime: string | null,
  evictTime: string | null,
  json: string,
  proto: Uint8Array,
];

/** A row of `STORED_COLUMNS` with its labels and annotations. */
export function toStoredObject(row: readonly unknown[], labels: Pairs = {}, annotations: Pairs = {}): StoredObject {
  const [uid, namespace, name, resourceVersion, state, updateTime, deleteTime, evictTime, json, proto] =
    row as SelectedRow;
  return {
    uid,
    namespace,
    name,
    resourceVersion,
    state: stateName(state, evictTime),
    updateTime: fromSqlTime(updateTime),
    deleteTime: deleteTime === null ? undefined : fromSqlTime(deleteTime),
    evictTime: evictTime === null ? undefined : fromSqlTime(evictTime),
    json,
    proto: new Uint8Array(proto),
    labels,
    annotations,
  };
}

function stateName(state: number, evictTime: string | null): StoredObject['state'] {
  if (state === rowStateNumber('live')) return 'live';
  if (state === rowStateNumber('evicting')) return 'evicting';
  return evictTime === null ? 'deleted' : 'evicted';
}
