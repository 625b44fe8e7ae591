// The SQL that writes one kind. Table and column names come from the catalogue only; every value is a parameter.
//
// The version check. A write applies if its resourceVersion is higher than the stored one, or equal while the row moves on
// (live 0, evicting 1, deleted 2, evicted 3). The writer locks and compares first and sends only what applies, so the
// check is there to refuse what slips through: MySQL assigns from left to right, the first assignment tests it on the stored
// values and gives a NOT NULL column NULL where it does not hold, which fails the statement before anything is changed.
// Testing it once per row, not once per column, spares the server from handling the large columns twice.
// VALUES(column) is the one form that MySQL and MariaDB both accept.
//
// Every statement exists in a few sizes only, so that each is prepared once per connection.
import type { KindDefinition } from '../../../api/kind.ts';
import { type RowState, rowStates } from '../../row.ts';
import type { Dialect } from '../dialect.ts';
import { type PairInsert, type PairTable, pairInsert, wider } from './pair-inserts.ts';
import { LABEL_VALUE_LENGTH } from './tables.ts';

/** SQL text for a number of rows. */
export type SizedStatement = (rows: number) => string;

/** A server that scans a small table instead locks, or waits for, rows that were not asked for. */
export const BY_KEY = 'FORCE INDEX (PRIMARY)';

export interface PairStatements {
  readonly table: string;
  readonly remove: SizedStatement;
  /** Of any number of pairs, none of which is there. */
  readonly add: PairInsert;
  /** The same for pairs of which some may be there. */
  readonly put: PairInsert;
  /** Sets the creation time of all labels of an object, which the original does not write; undefined for annotations. */
  readonly date: string | undefined;
}

export interface KindStatements {
  /** For rows that are not there; a duplicate key is an error. */
  readonly insert: SizedStatement;
  /** Upsert that takes the three times from the row. */
  readonly write: SizedStatement;
  /** Upsert that ends the row: evicted where the stored row intends eviction, else deleted. */
  readonly finish: SizedStatement;
  /** Locks the rows that are there and reads what the outcome of a write depends on. */
  readonly lock: SizedStatement;
  readonly labels: PairStatements;
  readonly annotations: PairStatements;
}

// The original writes its own columns only: `update_time` with every upsert, and nothing but `delete_time` with a delete.
// So a row whose `update_time` is not the one that this program wrote is foreign, and what it holds beyond those columns
// is of before.

/** Of a row of the table `m`, or of the only table: its state, which the original's `delete_time` decides too. */
export const STATE_SQL = 'IF(`delete_time` IS NULL, `row_state`, 2)';

export const FOREIGN_SQL = 'NOT (`own_update_time` <=> `update_time`)';

/** Assigns the same two parameters to the two times where the row is not foreign; a foreign one stays so. */
export const OWN_UPDATE_SQL = '`own_update_time` = IF(`own_update_time` <=> `update_time`, ?, NULL), `update_time` = ?';

/**
 * Versions are those of one object. At the same version a foreign row takes the same state again: it makes the other
 * columns right.
 */
const VERSION_CHECK =
  '(VALUES(`object_uid`) <=> `object_uid` AND (VALUES(`res_version`) > `res_version` OR ' +
  `(VALUES(\`res_version\`) = \`res_version\` AND (VALUES(\`row_state\`) > ${STATE_SQL} ` +
  `OR (VALUES(\`row_state\`) = ${STATE_SQL} AND ${FOREIGN_SQL})))))`;

export function rowStateNumber(state: RowState): number {
  return rowStates.indexOf(state);
}

const fixedColumns = [
  'uid',
  'object_uid',
  'group_ver',
  'namespace',
  'name',
  'generation',
  'content_hash',
  'labels_hash',
  'annotations_hash',
  'create_time',
  'update_time',
  'own_update_time',
  'proto',
  'json',
] as const;
const endColumns = ['evict_time', 'delete_time', 'evict_request_time', 'row_state', 'res_version'] as const;

/** Order of the parameters of one row of `insert`, `write` and `finish`: every column but `delete_reason`. */
export function rowColumnNames(kind: KindDefinition): readonly string[] {
  return [...fixedColumns, ...kind.indexes.flat().map((column) => column.name), ...endColumns];
}

const EVICTED = rowStateNumber('evicted');

/**
 * What an applied write gives a column; everything else takes the value of the new row. What is evicted stays so, also
 * without a request: its definition was removed. The state is assigned first, so that the times go by the new one.
 */
const finishExpressions: Readonly<Record<string, string>> = {
  row_state: `IF(\`evict_request_time\` IS NULL AND \`row_state\` <> ${EVICTED}, VALUES(\`row_state\`), ${EVICTED})`,
  evict_time: `IF(\`row_state\` = ${EVICTED}, VALUES(\`delete_time\`), NULL)`,
  delete_time: `IF(\`row_state\` = ${EVICTED}, NULL, VALUES(\`delete_time\`))`,
  evict_request_time: '`evict_request_time`',
};

function checkedAssignments(kind: KindDefinition, expressions: Readonly<Record<string, string>>): string {
  const assignments = rowColumnNames(kind)
    .filter((column) => column !== 'uid' && column !== 'row_state')
    .map((column) => `\`${column}\` = ${expressions[column] ?? `VALUES(\`${column}\`)`}`);
  const state = expressions['row_state'] ?? 'VALUES(`row_state`)';
  const checked = `\`row_state\` = IF(${VERSION_CHECK}, ${state}, NULL)`;
  return ` ON DUPLICATE KEY UPDATE ${[checked, ...assignments, '`delete_reason` = NULL'].join(', ')}`;
}

const repeated = (part: string, times: number, separator = ', '): string => Array(times).fill(part).join(separator);

/** The same text for the same size, built once. */
function sized(build: SizedStatement): SizedStatement {
  const built = new Map<number, string>();
  return (rows) => {
    const known = built.get(rows);
    if (known !== undefined) return known;
    const sql = build(rows);
    built.set(rows, sql);
    return sql;
  };
}

function pairStatements(pairs: PairTable, how: Dialect['pairInsert']): PairStatements {
  const { name: table, timed } = pairs;
  return {
    table,
    // OR of equalities: both servers turn it into lookups by primary key, which not both do for row constructors.
    remove: sized(
      (rows) => `DELETE FROM \`${table}\` WHERE ${repeated('(`obj_uid` = ? AND `key` = ?)', rows, ' OR ')}`,
    ),
    add: pairInsert(pairs, '', how),
    put: pairInsert(pairs, ` ON DUPLICATE KEY UPDATE \`${table}\`.\`value\` = VALUES(\`value\`)`, how),
    date: timed ? `UPDATE \`${table}\` SET \`obj_create_time\` = ? WHERE \`obj_uid\` = ?` : undefined,
  };
}

function build(kind: KindDefinition, how: Dialect['pairInsert']): KindStatements {
  const columns = rowColumnNames(kind);
  const values = `(${repeated('?', columns.length)})`;
  const insert: SizedStatement = (rows) =>
    `INSERT INTO \`${kind.table}\` (${columns.map((column) => `\`${column}\``).join(', ')}) ` +
    `VALUES ${repeated(values, rows)}`;
  const writeTail = checkedAssignments(kind, {});
  const finishTail = checkedAssignments(kind, finishExpressions);
  return {
    insert: sized(insert),
    write: sized((rows) => insert(rows) + writeTail),
    finish: sized((rows) => insert(rows) + finishTail),
    lock: sized(
      (rows) =>
        `SELECT \`uid\`, CAST(\`res_version\` AS CHAR), ${STATE_SQL}, \`labels_hash\`, \`annotations_hash\`, ${FOREIGN_SQL}, \`object_uid\` ` +
        `FROM \`${kind.table}\` ${BY_KEY} WHERE \`uid\` IN (${repeated('?', rows)}) FOR UPDATE`,
    ),
    labels: pairStatements({ name: `${kind.table}_labels`, value: wider(LABEL_VALUE_LENGTH), timed: true }, how),
    annotations: pairStatements({ name: `${kind.table}_annotations`, value: 'LONGTEXT', timed: false }, how),
  };
}

/** A name of a database, table or column as SQL. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

const caches: Readonly<Record<Dialect['pairInsert'], Map<KindDefinition, KindStatements>>> = {
  json: new Map(),
  rows: new Map(),
};

export function statementsFor(kind: KindDefinition, { pairInsert: how }: Dialect): KindStatements {
  const cached = caches[how].get(kind);
  if (cached !== undefined) return cached;
  const statements = build(kind, how);
  caches[how].set(kind, statements);
  return statements;
}
