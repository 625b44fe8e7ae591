// Conditions of a query as SQL. Names come from the catalogue; every value is a parameter.
import type { KindDefinition } from '../../../api/kind.ts';
import { QueryUnsupportedError } from '../../errors.ts';
import { fieldValue, type QueryField, queryField, withDays } from '../../fields.ts';
import {
  type Condition,
  type FieldCondition,
  type FieldValue,
  type LabelRequirement,
  type ListQuery,
  MOST_VALUES,
  type Order,
} from '../../list-query.ts';
import type { Position } from '../../page-limit.ts';
import type { RowState } from '../../row.ts';
import { padded } from '../chunks.ts';
import type { SqlParameter } from '../parameters.ts';
import { rowStateNumber } from '../schema/statements.ts';
import { toSqlTime } from '../sql-time.ts';

export interface SqlCondition {
  readonly sql: string;
  readonly parameters: readonly SqlParameter[];
}

const MOST_CONDITIONS = 64;
/** As many as may be asked about for one user; they come from us and never from a caller. */
const MOST_NAMESPACES = 1024;

/** The table that a condition begins at; what it has found already is not asked again. */
type Beginning = ({ readonly begin: 'order' } | { readonly begin: 'label'; readonly label: LabelRequirement }) & {
  /** Labels with one value, whose rows all have the creation time of their object. */
  readonly dated?: readonly LabelRequirement[];
};

/**
 * Everything that the query asks of an object `m`, but its place in the order. With a beginning, labels are asked row by
 * row; without one the server may begin with them.
 */
export function conditionOf(kind: KindDefinition, query: ListQuery, beginning?: Beginning): SqlCondition {
  const parts: SqlCondition[] = [];
  if (query.states !== undefined) parts.push({ sql: inStates(query.states), parameters: [] });
  else if (query.deleted !== 'included') parts.push({ sql: '`m`.`delete_time` IS NULL', parameters: [] });
  if (query.namespace !== undefined) parts.push(exactly('`m`.`namespace`', [query.namespace]));
  if (query.namespaces !== undefined) parts.push(inList('`m`.`namespace`', query.namespaces, MOST_NAMESPACES));
  parts.push(...pairConditions(kind, query, beginning));
  if (query.where !== undefined) parts.push(treeCondition(kind, query.where));
  return join(parts, 'AND', 'TRUE');
}

function pairConditions(
  { table }: KindDefinition,
  { labels = [], annotations = [] }: ListQuery,
  beginning: Beginning | undefined,
): readonly SqlCondition[] {
  const begun = beginning?.begin === 'label' ? beginning.label : undefined;
  const isFound = (label: LabelRequirement): boolean => label === begun || beginning?.dated?.includes(label) === true;
  const ofLabel = (label: LabelRequirement): SqlCondition =>
    beginning === undefined ? labelInSet(table, label) : pairOfRow(`${table}_labels`, label);
  return [
    ...labels.filter((label) => !isFound(label)).map(ofLabel),
    ...annotations.map((annotation) => pairOfRow(`${table}_annotations`, annotation)),
  ];
}

/**
 * What has a time of deletion is deleted, also where the original alone wrote that. Such rows are in no state that is not
 * deleted; the key of the states finds them as deleted after the next migration. No key is to be chosen for the second part.
 */
export function inStates(states: readonly RowState[]): string {
  if (states.length === 0) return 'FALSE';
  const numbers = `\`m\`.\`row_state\` IN (${states.map(rowStateNumber).join(', ')})`;
  return states.includes('deleted') ? numbers : `(${numbers} AND IF(\`m\`.\`delete_time\` IS NULL, TRUE, FALSE))`;
}

function join(parts: readonly SqlCondition[], operator: 'AND' | 'OR', empty: string): SqlCondition {
  if (parts.length > MOST_CONDITIONS) throw new QueryUnsupportedError(`more than ${MOST_CONDITIONS} conditions`, []);
  if (parts.length === 0) return { sql: empty, parameters: [] };
  return {
    sql: `(${parts.map(({ sql }) => sql).join(` ${operator} `)})`,
    parameters: parts.flatMap((part) => part.parameters),
  };
}

const isNegative = ({ operator }: LabelRequirement): boolean => operator === 'notIn' || operator === 'notExists';

/** That a row has the name, byte by byte. */
export function hasName(namespace: string, name: string): SqlCondition {
  const both = [exactly('`namespace`', [namespace]), exactly('`name`', [name])];
  return join(both, 'AND', 'TRUE');
}

/** That a row of the table of labels or annotations, by this alias, has the key and one of the values. */
export function labelMatch(alias: string, requirement: LabelRequirement): SqlCondition {
  const key = exactly(`\`${alias}\`.\`key\``, [requirement.key]);
  if (!('values' in requirement)) return key;
  const values = exactly(`\`${alias}\`.\`value\``, requirement.values);
  return { sql: `${key.sql} AND ${values.sql}`, parameters: [...key.parameters, ...values.parameters] };
}

/** The server chooses by its statistics where to begin. */
function labelInSet(table: string, requirement: LabelRequirement): SqlCondition {
  const { sql, parameters } = labelMatch('s', requirement);
  const found = `SELECT \`s\`.\`obj_uid\` FROM \`${table}_labels\` \`s\` WHERE ${sql}`;
  return { sql: `\`m\`.\`uid\` ${isNegative(requirement) ? 'NOT IN' : 'IN'} (${found})`, parameters };
}

/** One lookup by primary key per row; as a scalar, because the servers would turn EXISTS into a join of their own order. */
function pairOfRow(table: string, requirement: LabelRequirement): SqlCondition {
  const { sql, parameters } = labelMatch('s', requirement);
  const found = `SELECT 1 FROM \`${table}\` \`s\` WHERE \`s\`.\`obj_uid\` = \`m\`.\`uid\` AND ${sql}`;
  return { sql: `(${found}) ${isNegative(requirement) ? 'IS NULL' : 'IS NOT NULL'}`, parameters };
}

/**
 * Joins objects `m` with a label by the key of the label, in which those that are walked in the order of their creation
 * stand side by side; by primary key each is on a page of its own. A subquery for each would take a third longer.
 */
export function datedLabel({ table }: KindDefinition, requirement: LabelRequirement, alias: string): SqlCondition {
  const { sql, parameters } = labelMatch(alias, requirement);
  const joined =
    `STRAIGHT_JOIN \`${table}_labels\` \`${alias}\` IGNORE INDEX (PRIMARY) ON ${sql} ` +
    `AND \`${alias}\`.\`obj_create_time\` = \`m\`.\`create_time\` AND \`${alias}\`.\`obj_uid\` = \`m\`.\`uid\``;
  return { sql: joined, parameters };
}

function treeCondition(kind: KindDefinition, condition: Condition): SqlCondition {
  if ('all' in condition)
    return join(
      condition.all.map((part) => treeCondition(kind, part)),
      'AND',
      'TRUE',
    );
  if ('any' in condition)
    return join(
      condition.any.map((part) => treeCondition(kind, part)),
      'OR',
      'FALSE',
    );
  const field = queryField(kind, condition.field);
  const spread = withDays(field, condition);
  return 'field' in spread ? fieldCondition(field, spread) : treeCondition(kind, spread);
}

function fieldCondition(field: QueryField, condition: FieldCondition): SqlCondition {
  const column = `\`m\`.\`${field.column}\``;
  switch (condition.operator) {
    case 'isNull':
      return { sql: `${column} IS NULL`, parameters: [] };
    case 'isNotNull':
      return { sql: `${column} IS NOT NULL`, parameters: [] };
    case 'in':
      return oneOf(field, column, condition.values);
    case 'notIn':
      return noneOf(column, oneOf(field, column, condition.values));
    case '=':
      return oneOf(field, column, [condition.value]);
    case '!=':
      return noneOf(column, oneOf(field, column, [condition.value]));
    case 'like':
      refuseLeadingWildcard(String(condition.value));
      return { sql: `${column} LIKE ?`, parameters: [String(condition.value)] };
    default:
      return { sql: `${column} ${condition.operator} ?`, parameters: [sqlValue(field, condition.value)] };
  }
}

function oneOf(field: QueryField, column: string, values: readonly FieldValue[]): SqlCondition {
  const typed = values.map((value) => sqlValue(field, value));
  return field.type === 'string' || field.type === 'enum' ? exactly(column, typed) : inList(column, typed);
}

/** What has no value is none of them. */
function noneOf(column: string, { sql, parameters }: SqlCondition): SqlCondition {
  return { sql: `(${column} IS NULL OR NOT ${sql})`, parameters };
}

function refuseLeadingWildcard(pattern: string): void {
  if (/^[%_]/.test(pattern)) throw new QueryUnsupportedError('a pattern that begins with a wildcard', []);
}

/**
 * That a column of text has one of the values, byte by byte. The collation ignores blanks at the end, so "a" is found
 * by its key where "a " was asked for; a second look, at what was found, tells them apart.
 */
export function exactly(column: string, values: readonly SqlParameter[]): SqlCondition {
  const found = inList(column, values);
  const same = inList(`CAST(${column} AS BINARY)`, values);
  return { sql: `(${found.sql} AND ${same.sql})`, parameters: [...found.parameters, ...same.parameters] };
}

function inList(column: string, values: readonly SqlParameter[], most = MOST_VALUES): SqlCondition {
  if (values.length > most) throw new QueryUnsupportedError(`more than ${most} values`, []);
  if (values.length === 0) return { sql: 'FALSE', parameters: [] };
  const parameters = padded(values);
  const marks = parameters.map(() => '?').join(', ');
  return { sql: parameters.length === 1 ? `${column} = ?` : `${column} IN (${marks})`, parameters };
}

function sqlValue(field: QueryField, value: FieldValue): SqlParameter {
  const typed = fieldValue(field, value);
  return field.type === 'time' ? toSqlTime(String(typed)) : typed;
}

/** How the columns of the order are called: the label table repeats the creation time, so that its key has the order. */
export interface OrderColumns {
  readonly uid: string;
  readonly of: (field: QueryField) => string;
}

interface OrderedField {
  readonly field: QueryField;
  readonly order: Order;
}

/** What comes after the position: beyond it in the first field, or equal there and beyond in the next, at last by uid. */
export function afterPosition(
  fields: readonly OrderedField[],
  { values, uid }: Position,
  columns: OrderColumns,
): SqlCondition {
  const equal: SqlCondition[] = [];
  const alternatives: SqlCondition[] = [];
  fields.forEach(({ field, order }, index) => {
    const value = values[index] ?? null;
    const column = columns.of(field);
    alternatives.push(join([...equal, beyond(column, { field, order }, value)], 'AND', 'TRUE'));
    equal.push(
      value === null ? { sql: `${column} IS NULL`, parameters: [] } : { sql: `${column} = ?`, parameters: [value] },
    );
  });
  const last = fields.at(-1)?.order.direction === 'ascending' ? '>' : '<';
  alternatives.push(join([...equal, { sql: `${columns.uid} ${last} ?`, parameters: [uid] }], 'AND', 'TRUE'));
  return join(alternatives, 'OR', 'FALSE');
}

/** The servers put NULL first in ascending and last in descending order. */
function beyond(column: string, { field, order }: OrderedField, value: SqlParameter): SqlCondition {
  if (order.direction === 'ascending') {
    return value === null
      ? { sql: `${column} IS NOT NULL`, parameters: [] }
      : { sql: `${column} > ?`, parameters: [value] };
  }
  if (value === null) return { sql: 'FALSE', parameters: [] };
  const smaller = `${column} < ?`;
  return { sql: field.optional ? `(${smaller} OR ${column} IS NULL)` : smaller, parameters: [value] };
}
