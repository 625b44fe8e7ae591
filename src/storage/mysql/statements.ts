// The SQL of one kind. Table and column names come from the catalogue only; every value is a parameter.
//
// The guard. A write applies if its resourceVersion is higher than the stored one, or equal while the row moves on
// (live 0, evicting 1, ended 2). MySQL assigns from left to right and later expressions see earlier assignments, so
// the two columns the guard reads come last, row_state before res_version: with an equal resourceVersion the last
// expression sees row_state already moved and keeps the (equal) version; with a higher one the first half decides.
// VALUES(column) is the one form that MySQL and MariaDB both accept.
import type { KindDefinition } from '../../api/kind.ts';
import { type RowState, rowStates } from '../row.ts';

export interface KindStatements {
  /** Upsert that takes the three times from the row. */
  readonly write: string;
  /** Upsert that ends the row: evicted where the stored row intends eviction, else deleted. */
  readonly finish: string;
  readonly selectVersion: string;
  readonly selectById: string;
  readonly selectByName: string;
  readonly selectLabels: string;
  readonly selectAnnotations: string;
  readonly deleteLabels: string;
  readonly deleteAnnotations: string;
  readonly insertLabels: (rows: number) => string;
  readonly insertAnnotations: (rows: number) => string;
}

const GUARD =
  '(VALUES(`res_version`) > `res_version` OR ' +
  '(VALUES(`res_version`) = `res_version` AND VALUES(`row_state`) > `row_state`))';

export function rowStateNumber(state: RowState): number {
  return rowStates.indexOf(state);
}

const fixedColumns = [
  'uid',
  'group_ver',
  'namespace',
  'name',
  'generation',
  'content_hash',
  'create_time',
  'update_time',
  'proto',
  'json',
] as const;
const endColumns = ['evict_time', 'delete_time', 'evict_request_time', 'row_state', 'res_version'] as const;

/** Order of the parameters of `write` and `finish`. */
function parameterColumns(kind: KindDefinition): readonly string[] {
  return [...fixedColumns, ...kind.indexes.flat().map((column) => column.name), ...endColumns];
}

/** What an applied write gives a column; everything else takes the value of the new row. */
const finishExpressions: Readonly<Record<string, string>> = {
  evict_time: 'IF(`evict_request_time` IS NULL, NULL, VALUES(`delete_time`))',
  delete_time: 'IF(`evict_request_time` IS NULL, VALUES(`delete_time`), NULL)',
  evict_request_time: '`evict_request_time`',
};

function upsert(kind: KindDefinition, expressions: Readonly<Record<string, string>>): string {
  const columns = parameterColumns(kind);
  const assignments = columns
    .filter((column) => column !== 'uid')
    .map((column) => {
      const applied = expressions[column] ?? `VALUES(\`${column}\`)`;
      return `\`${column}\` = IF(${GUARD}, ${applied}, \`${column}\`)`;
    });
  return (
    `INSERT INTO \`${kind.table}\` (${columns.map((column) => `\`${column}\``).join(', ')}) ` +
    `VALUES (${columns.map(() => '?').join(', ')}) ON DUPLICATE KEY UPDATE ${assignments.join(', ')}`
  );
}

const SELECT_COLUMNS =
  'CAST(`uid` AS CHAR), `namespace`, `name`, CAST(`res_version` AS CHAR), `row_state`, `update_time`, `delete_time`, ' +
  '`evict_time`, `json`, `proto`';

/** Alive first, then evicted, then the incarnation deleted last. */
const NEWEST_FIRST = 'ORDER BY `delete_time` IS NULL DESC, `evict_time` IS NULL DESC, `create_time` DESC LIMIT 1';

function insertPairs(table: string, rows: number): string {
  return `INSERT INTO \`${table}\` (\`obj_uid\`, \`key\`, \`value\`) VALUES ${Array(rows).fill('(?, ?, ?)').join(', ')}`;
}

function build(kind: KindDefinition): KindStatements {
  const main = `\`${kind.table}\``;
  const labels = `${kind.table}_labels`;
  const annotations = `${kind.table}_annotations`;
  return {
    write: upsert(kind, {}),
    finish: upsert(kind, finishExpressions),
    selectVersion: `SELECT CAST(\`res_version\` AS CHAR) FROM ${main} WHERE \`uid\` = ?`,
    selectById: `SELECT ${SELECT_COLUMNS} FROM ${main} WHERE \`uid\` = ?`,
    selectByName: `SELECT ${SELECT_COLUMNS} FROM ${main} WHERE \`namespace\` = ? AND \`name\` = ? ${NEWEST_FIRST}`,
    selectLabels: `SELECT \`key\`, \`value\` FROM \`${labels}\` WHERE \`obj_uid\` = ? ORDER BY \`key\``,
    selectAnnotations: `SELECT \`key\`, \`value\` FROM \`${annotations}\` WHERE \`obj_uid\` = ? ORDER BY \`key\``,
    deleteLabels: `DELETE FROM \`${labels}\` WHERE \`obj_uid\` = ?`,
    deleteAnnotations: `DELETE FROM \`${annotations}\` WHERE \`obj_uid\` = ?`,
    insertLabels: (rows) => insertPairs(labels, rows),
    insertAnnotations: (rows) => insertPairs(annotations, rows),
  };
}

const cache = new Map<string, KindStatements>();

export function statementsFor(kind: KindDefinition): KindStatements {
  const cached = cache.get(kind.table);
  if (cached !== undefined) return cached;
  const statements = build(kind);
  cache.set(kind.table, statements);
  return statements;
}
