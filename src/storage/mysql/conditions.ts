// Conditions of a query as SQL. Names come from the catalogue; every value is a parameter.
import type { KindDefinition } from '../../api/kind.ts';
import type { Position } from '../continue-token.ts';
import { QueryUnsupportedError } from '../errors.ts';
import { fieldValue, type QueryField, queryField } from '../fields.ts';
import type { Condition, FieldCondition, FieldValue, LabelRequirement, ListQuery, Order } from '../list-query.ts';
import type { RowState } from '../row.ts';
import { padded } from './chunks.ts';
import type { SqlParameter } from './pool.ts';
import { toSqlTime } from './sql-time.ts';
import { rowStateNumber } from './statements.ts';

export interface SqlCondition {
  readonly sql: string;
  readonly parameters: readonly SqlParameter[];
}

const MOST_VALUES = 256;
const MOST_CONDITIONS = 64;

/** The table that a condition begins at; what it has found already is not asked again. */
type Beginning = { readonly begin: 'order' } | { readonly begin: 'label'; readonly label: LabelRequirement };

/**
 * Everything that the query asks of an object `m`, but its place in the order. With a beginning, labels are asked row by
 * row; without one the server may begin with them.
 */
export function conditionOf(kind: KindDefinition, query: ListQuery, beginning?: Beginning): SqlCondition {
  const parts: SqlCondition[] = [];
  if (query.states !== undefined) parts.push({ sql: inStates(query.states), parameters: [] });
  else if (query.deleted !== 'included') parts.push({ sql: '`m`.`delete_time` IS NULL', parameters: [] });
  if (query.namespace !== undefined) parts.push({ sql: '`m`.`namespace` = ?', parameters: [query.namespace] });
  for (const requirement of query.labels ?? []) {
    if (beginning?.begin === 'label' && beginning.label === requirement) continue;
    parts.push(beginning === undefined ? labelInSet(kind, requirement) : labelOfRow(kind, requirement));
  }
  if (query.where !== undefined) parts.push(treeCondition(kind, query.where));
  return join(parts, 'AND', 'TRUE');
}

export function inStates(states: readonly RowState[]): string {
  return states.length === 0 ? 'FALSE' : `\`m\`.\`row_state\` IN (${states.map(rowStateNumber).join(', ')})`;
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

/** That a row of the label table, by this alias, has the key and one of the values. */
export function labelMatch(alias: string, requirement: LabelRequirement): SqlCondition {
  const key = `\`${alias}\`.\`key\` = ?`;
  if (!('values' in requirement)) return { sql: key, parameters: [requirement.key] };
  const values = inList(`\`${alias}\`.\`value\``, requirement.values);
  return { sql: `${key} AND ${values.sql}`, parameters: [requirement.key, ...values.parameters] };
}

/** The server chooses by its statistics where to begin. */
function labelInSet(kind: KindDefinition, requirement: LabelRequirement): SqlCondition {
  const { sql, parameters } = labelMatch('s', requirement);
  const found = `SELECT \`s\`.\`obj_uid\` FROM \`${kind.table}_labels\` \`s\` WHERE ${sql}`;
  return { sql: `\`m\`.\`uid\` ${isNegative(requirement) ? 'NOT IN' : 'IN'} (${found})`, parameters };
}

/** One lookup by primary key per row; as a scalar, because the servers would turn EXISTS into a join of their own order. */
function labelOfRow(kind: KindDefinition, requirement: LabelRequirement): SqlCondition {
  const { sql, parameters } = labelMatch('s', requirement);
  const found = `SELECT 1 FROM \`${kind.table}_labels\` \`s\` WHERE \`s\`.\`obj_uid\` = \`m\`.\`uid\` AND ${sql}`;
  return { sql: `(${found}) ${isNegative(requirement) ? 'IS NULL' : 'IS NOT NULL'}`, parameters };
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
  return fieldCondition(queryField(kind, condition.field), condition);
}

function fieldCondition(field: QueryField, condition: FieldCondition): SqlCondition {
  const column = `\`m\`.\`${field.column}\``;
  switch (condition.operator) {
    case 'isNull':
      return { sql: `${column} IS NULL`, parameters: [] };
    case 'isNotNull':
      return { sql: `${column} IS NOT NULL`, parameters: [] };
    case 'in':
      return inList(
        column,
        condition.values.map((value) => sqlValue(field, value)),
      );
    case 'notIn': {
      const list = inList(
        column,
        condition.values.map((value) => sqlValue(field, value)),
      );
      return { sql: `(${column} IS NULL OR NOT ${list.sql})`, parameters: list.parameters };
    }
    case '!=':
      return { sql: `(${column} IS NULL OR ${column} <> ?)`, parameters: [sqlValue(field, condition.value)] };
    case 'like':
      refuseLeadingWildcard(String(condition.value));
      return { sql: `${column} LIKE ?`, parameters: [String(condition.value)] };
    default:
      return { sql: `${column} ${condition.operator} ?`, parameters: [sqlValue(field, condition.value)] };
  }
}

function refuseLeadingWildcard(pattern: string): void {
  if (/^[%_]/.test(pattern)) throw new QueryUnsupportedError('a pattern that begins with a wildcard', []);
}

function inList(column: string, values: readonly SqlParameter[]): SqlCondition {
  if (values.length > MOST_VALUES) throw new QueryUnsupportedError(`more than ${MOST_VALUES} values`, []);
  if (values.length === 0) return { sql: 'FALSE', parameters: [] };
  const parameters = padded(values);
  return { sql: `${column} IN (${parameters.map(() => '?').join(', ')})`, parameters };
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
