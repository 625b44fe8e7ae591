// Fills in the columns that rows of the original do not have. A row that was dealt with has a `row_state`.
import type { KindDefinition } from '../../../api/kind.ts';
import type { AdoptedRow, OriginalRow, ReadOriginal } from '../../original.ts';
import type { SqlParameter, SqlSession } from '../pool.ts';
import { readPairs } from '../read/object-reads.ts';
import { rowStateNumber } from '../schema/statements.ts';
import { fromSqlTime, toSqlTime } from '../sql-time.ts';
import type { Page } from './table-walk.ts';

const PAGE_ROWS = 200;
/** MySQL sends whole rows, and one may have megabytes. */
const PAGE_BYTES = 32 * 1024 * 1024;

const SELECT =
  'SELECT `uid`, `group_ver`, `namespace`, `name`, CAST(`res_version` AS CHAR), `create_time`, `update_time`, ' +
  '`delete_time`, `json`, `proto` FROM';

type SelectedRow = readonly [
  uid: string,
  groupVersion: string | null,
  namespace: string | null,
  name: string | null,
  resourceVersion: string | null,
  createTime: string | null,
  updateTime: string | null,
  deleteTime: string | null,
  json: string | null,
  proto: Uint8Array | null,
];

export async function fillPage(
  session: SqlSession,
  kind: KindDefinition,
  after: string | undefined,
  readOriginal: ReadOriginal,
): Promise<Page | undefined> {
  const uids = await nextUids(session, kind, after);
  const last = uids.at(-1);
  if (last === undefined) return undefined;
  const marks = uids.map(() => '?').join(', ');
  const rows = await session.query(
    `${SELECT} \`${kind.table}\` WHERE \`uid\` IN (${marks}) ORDER BY \`uid\` FOR UPDATE`,
    uids,
  );
  for (const row of rows) await fillRow(session, kind, row as unknown as SelectedRow, readOriginal);
  return { rows: rows.length, last };
}

/** What the original wrote after the first walk has no state either, so the walk ends only when nothing is left. */
async function nextUids(
  session: SqlSession,
  kind: KindDefinition,
  after: string | undefined,
): Promise<readonly string[]> {
  const rows = await session.query(
    `SELECT \`uid\`, COALESCE(LENGTH(\`json\`), 0) + COALESCE(LENGTH(\`proto\`), 0) FROM \`${kind.table}\` ` +
      `WHERE \`uid\` > ? AND \`row_state\` IS NULL ORDER BY \`uid\` LIMIT ${PAGE_ROWS}`,
    [after ?? ''],
  );
  if (rows.length === 0 && after !== undefined && after !== '') return nextUids(session, kind, undefined);
  let bytes = 0;
  const fitting = rows.filter(([, size], index) => (bytes += Number(size)) <= PAGE_BYTES || index === 0);
  return fitting.map(([uid]) => String(uid));
}

async function fillRow(
  session: SqlSession,
  kind: KindDefinition,
  row: SelectedRow,
  readOriginal: ReadOriginal,
): Promise<void> {
  const [uid, , , , , createTime, updateTime, deleteTime] = row;
  const adopted = readOriginal(kind, await toOriginal(session, kind, row));
  const columns = adopted.columns === undefined ? [] : kind.indexes.flat();
  const created = createTime ?? toSqlTime(adopted.createTime);
  const updated = updateTime ?? created;
  const assignments: readonly (readonly [column: string, value: SqlParameter])[] = [
    ['group_ver', adopted.groupVersion],
    ['namespace', adopted.namespace],
    ['name', adopted.name],
    ['generation', adopted.generation],
    ['content_hash', adopted.contentHash],
    ['create_time', created],
    ['update_time', updated],
    ['json', adopted.json],
    ['proto', adopted.proto],
    ...columns.map(({ name, type }, index): readonly [string, SqlParameter] => {
      const value = adopted.columns?.[index] ?? null;
      return [name, type === 'time' && typeof value === 'string' ? toSqlTime(value) : value];
    }),
    ...ending(adopted, deleteTime, updated),
  ];
  await session.execute(
    `UPDATE \`${kind.table}\` SET \`res_version\` = COALESCE(\`res_version\`, 0), ` +
      `${assignments.map(([column]) => `\`${column}\` = ?`).join(', ')} WHERE \`uid\` = ?`,
    [...assignments.map(([, value]) => value), uid],
  );
}

function ending(
  { evicting }: AdoptedRow,
  deleteTime: string | null,
  updateTime: string,
): readonly (readonly [column: string, value: SqlParameter])[] {
  if (deleteTime !== null) return [['row_state', rowStateNumber('deleted')]];
  if (!evicting) return [['row_state', rowStateNumber('live')]];
  return [
    ['evict_request_time', updateTime],
    // Tells the row from one whose object is in the cluster, until either is known.
    ['delete_reason', 'archived by the original'],
    ['row_state', rowStateNumber('evicting')],
  ];
}

async function toOriginal(session: SqlSession, kind: KindDefinition, row: SelectedRow): Promise<OriginalRow> {
  const [uid, groupVersion, namespace, name, resourceVersion, createTime, , deleteTime, json, proto] = row;
  const pairs = async (table: string): Promise<Readonly<Record<string, string>>> =>
    json === null ? ((await readPairs(session, `${kind.table}_${table}`, [uid])).get(uid) ?? {}) : {};
  return {
    uid,
    groupVersion,
    namespace,
    name,
    resourceVersion: resourceVersion ?? '0',
    createTime: createTime === null ? undefined : fromSqlTime(createTime),
    deleteTime: deleteTime === null ? undefined : fromSqlTime(deleteTime),
    json,
    proto,
    labels: await pairs('labels'),
    annotations: await pairs('annotations'),
  };
}
