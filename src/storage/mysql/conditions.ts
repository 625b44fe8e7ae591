// Conditions of a query as SQL. Names come from the catalogue; every value is a parameter.
import type { KindDefinition } from '../../api/kind.ts';
import type { Position } from '../continue-token.ts';
import { QueryUnsupportedError } from '../errors.ts';
import { fieldValue, type QueryField, queryField } from '../fields.ts';
import type { Condition, FieldCondition, FieldValue, LabelRequirement, ListQuery, Order } from '../list-query.ts';
import { padded } from './chunks.ts';
import type { SqlParameter } from './pool.ts';
import { toSqlTime } from './sql-time.ts';

export interface SqlCondition {
  readonly sql: string;
  readonly parameters: readonly SqlParameter[];
}

const MOST_VALUES = 256;
const MOST_CONDITIONS = 64;

/** Everything that the query asks of an object, but its place in the order. */
export function conditionOf(kind: KindDefinition, query: ListQuery): SqlCondition {
  const parts: SqlCondition[] = [];
  if (query.deleted !== 'included') parts.push({ sql: '`delete_time` IS NULL', parameters: [] });
  if (query.namespace !== undefined) parts.push({ sql: '`namespace` = ?', parameters: [query.namespace] });
  for (const requirement of query.labels ?? []) parts.push(labelCondition(kind, requirement));
  if (query.where !== undefined) parts.push(treeCondition(kind, query.where));
  return join(parts, 'AND', 'TRUE');
}

function join(parts: readonly SqlCondition[], operator: 'AND' | 'OR', empty: string): SqlCondition {
  if (parts.length > MOST_CONDITIONS) throw new QueryUnsupportedError(`more than ${MOST_CONDITIONS} conditions`, []);
  if (parts.length === 0) return { sql: empty, parameters: [] };
  return {
    sql: `(${parts.map(({ sql }) => sql).join(` ${operator} `)})`,
    parameters: parts.flatMap((part) => part.parameters),
  };
}

/** A lookup per object by primary key, or by key and value: the server chooses by its statistics. */
function labelCondition(kind: KindDefinition, requirement: LabelRequirement): SqlCondition {
  const negative = requirement.operator === 'notIn' || requirement.operator === 'notExists';
  const values = 'values' in requirement ? inList('`value`', requirement.values) : undefined;
  const condition = values === undefined ? '' : ` AND ${values.sql}`;
  return {
    sql: `\`uid\` ${negative ? 'NOT IN' : 'IN'} (SELECT \`obj_uid\` FROM \`${kind.table}_labels\` WHERE \`key\` = ?${condition})`,
    parameters: [requirement.key, ...(values?.parameters ?? [])],
  };
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
  const column = `\`${field.column}\``;
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

/** What comes after the position. The server puts NULL first in ascending and last in descending order. */
export function afterPosition(field: QueryField, { direction }: Order, { value, uid }: Position): SqlCondition {
  const column = `\`${field.column}\``;
  const beyond = direction === 'ascending' ? '>' : '<';
  if (value === null) {
    const rest = direction === 'ascending' ? ` OR ${column} IS NOT NULL` : '';
    return { sql: `((${column} IS NULL AND \`uid\` ${beyond} ?)${rest})`, parameters: [uid] };
  }
  const nulls = direction === 'ascending' ? '' : ` OR ${column} IS NULL`;
  return {
    sql: `(${column} ${beyond} ? OR (${column} = ? AND \`uid\` ${beyond} ?)${nulls})`,
    parameters: [value, value, uid],
  };
}
