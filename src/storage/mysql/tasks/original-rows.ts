// Fills in the columns that the original does not write: of rows that it made, and of rows that it wrote since. A row that
// was dealt with has the time of its last update twice.
import type { KindDefinition } from '../../../api/kind.ts';
import type { AdoptedRow, OriginalRow, ReadOriginal } from '../../original.ts';
import type { SqlParameter } from '../parameters.ts';
import type { SqlSession } from '../pool.ts';
import { readPairs } from '../read/object-reads.ts';
import { FOREIGN_SQL, rowStateNumber, statementsFor } from '../schema/statements.ts';
import { UID_LENGTH } from '../schema/tables.ts';
import { fromSqlTime, toSqlTime } from '../sql-time.ts';
import type { Page } from './table-walk.ts';

const PAGE_ROWS = 200;
/** MySQL sends whole rows, and one may have megabytes. */
const PAGE_BYTES = 32 * 1024 * 1024;

const SELECT =
  'SELECT `uid`, `group_ver`, `namespace`, `name`, CAST(`res_version` AS CHAR), `create_time`, `update_time`, ' +
  '`delete_time`, `json`, `proto`, `row_state` FROM';

/** The original deletes by the time alone. */
const FOREIGN = `(${FOREIGN_SQL} OR \`row_state\` IS NULL OR (\`delete_time\` IS NOT NULL AND \`row_state\` <> ${rowStateNumber('deleted')}))`;

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
  state: number | null,
];

/** How the rows of one kind are filled in. */
export interface RowFilling {
  readonly kind: KindDefinition;
  readonly readOriginal: ReadOriginal;
  /** Whether the table of labels is ours already. */
  readonly labels: 'ours' | 'of the original';
}

export async function fillPage(
  session: SqlSession,
  filling: RowFilling,
  after: string | undefined,
): Promise<Page | undefined> {
  const { kind } = filling;
  const uids = await nextUids(session, kind, after);
  const last = uids.at(-1);
  if (last === undefined) return undefined;
  const marks = uids.map(() => '?').join(', ');
  const rows = await session.query(
    `${SELECT} \`${kind.table}\` WHERE \`uid\` IN (${marks}) ORDER BY \`uid\` FOR UPDATE`,
    uids,
  );
  for (const row of rows) await fillRow(session, filling, row as unknown as SelectedRow);
  return { rows: rows.length, last };
}

/** Whether the original wrote any row since it was dealt with. */
export async function hasForeign(session: SqlSession, { table }: KindDefinition): Promise<boolean> {
  return (await session.query(`SELECT 1 FROM \`${table}\` WHERE ${FOREIGN} LIMIT 1`)).length > 0;
}

/** What the original wrote after the first walk has no state either, so the walk ends only when nothing is left. */
async function nextUids(
  session: SqlSession,
  kind: KindDefinition,
  after: string | undefined,
): Promise<readonly string[]> {
  const rows = await session.query(
    `SELECT \`uid\`, COALESCE(LENGTH(\`json\`), 0) + COALESCE(LENGTH(\`proto\`), 0) FROM \`${kind.table}\` ` +
      `WHERE \`uid\` > ? AND ${FOREIGN} ORDER BY \`uid\` LIMIT ${PAGE_ROWS}`,
    [after ?? ''],
  );
  if (rows.length === 0 && after !== undefined && after !== '') return nextUids(session, kind, undefined);
  let bytes = 0;
  const fitting = rows.filter(([, size], index) => (bytes += Number(size)) <= PAGE_BYTES || index === 0);
  return fitting.map(([uid]) => String(uid));
}

async function fillRow(
  session: SqlSession,
  { kind, readOriginal, labels }: RowFilling,
  row: SelectedRow,
): Promise<void> {
  const [uid, , , , , createTime, updateTime, deleteTime, , , state] = row;
  const adopted = readOriginal(kind, await toOriginal(session, kind, row));
  const columns = adopted.columns === undefined ? [] : kind.indexes.flat();
  const created = createTime ?? toSqlTime(adopted.createTime);
  const updated = updateTime ?? created;
  const keepsKey = adopted.uid === uid || adopted.uid.length > UID_LENGTH;
  const assignments: readonly (readonly [column: string, value: SqlParameter])[] = [
    ['object_uid', keepsKey ? null : adopted.uid],
    ['group_ver', adopted.groupVersion],
    ['namespace', adopted.namespace],
    ['name', adopted.name],
    ['generation', adopted.generation],
    ['content_hash', adopted.contentHash],
    ['create_time', created],
    ['update_time', updated],
    ['own_update_time', updated],
    ['labels_hash', null],
    ['annotations_hash', null],
    ['json', adopted.json],
    ['proto', adopted.proto],
    ...columns.map(({ name, type }, index): readonly [string, SqlParameter] => {
      const value = adopted.columns?.[index] ?? null;
      return [name, type === 'time' && typeof value === 'string' ? toSqlTime(value) : value];
    }),
    ...ending(adopted, deleteTime, updated, state),
  ];
  await session.execute(
    `UPDATE \`${kind.table}\` SET \`res_version\` = COALESCE(\`res_version\`, 0), ` +
      `${assignments.map(([column]) => `\`${column}\` = ?`).join(', ')} WHERE \`uid\` = ?`,
    [...assignments.map(([, value]) => value), uid],
  );
  const { date } = statementsFor(kind, session.dialect).labels;
  if (date !== undefined && labels === 'ours') await session.execute(date, [created, uid]);
}

function ending(
  { evicting }: AdoptedRow,
  deleteTime: string | null,
  updateTime: string,
  state: number | null,
): readonly (readonly [column: string, value: SqlParameter])[] {
  if (deleteTime !== null) return [['row_state', rowStateNumber('deleted')]];
  // What this program knew of its end before the original wrote the row.
  if (state !== null && state !== rowStateNumber('live')) return [];
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
