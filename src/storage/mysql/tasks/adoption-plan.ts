// From a table that the original (or an operator) made to the table that our statement would have made. No column
// becomes narrower; no row and no column with values is removed.
//
// In two steps, because new columns are filled in between: `expand` adds and widens, and the writers of the old schema
// can still write; `contract` then says NOT NULL and changes the keys. Each is one ALTER, which both servers carry out
// entirely or not at all. The plan is made from what is there, so a run that was killed goes on by planning again.

import { type ColumnShape, type SqlType, type TableShape, widened } from '../schema/table-shape.ts';

export interface AdoptionPlan {
  /** What only an operator can decide, with what to do. Where there is any, the rest must not be carried out. */
  readonly problems: readonly string[];
  /** Values that would stop the server from widening a column. */
  readonly prepare: readonly string[];
  readonly expand: readonly string[];
  readonly contract: readonly string[];
}

const name = (identifier: string): string => `\`${identifier}\``;

export function planAdoption(existing: TableShape, wanted: TableShape): AdoptionPlan {
  const columns = wanted.columns.map((column) => planColumn(existing, column));
  const extras = existing.columns.filter(({ name: extra }) => !wanted.columns.some((column) => column.name === extra));
  const keys = planKeys(existing, wanted, extras);
  const expand = [
    ...(existing.engine.toLowerCase() === 'innodb' ? [] : ['ENGINE=InnoDB']),
    ...columns.flatMap(({ expand: change }) => change),
    ...extras.filter(({ fillsItself }) => !fillsItself).map(letBeNull),
  ];
  const contract = [...columns.flatMap(({ contract: change }) => change), ...keys.changes];
  return {
    problems: [...columns.flatMap(({ problem }) => problem), ...keys.problems].map(
      (problem) => `${existing.name}: ${problem}`,
    ),
    prepare: columns.flatMap(({ prepare }) => prepare),
    expand: alter(existing.name, expand),
    contract: alter(existing.name, contract),
  };
}

function alter(table: string, changes: readonly string[]): readonly string[] {
  return changes.length === 0 ? [] : [`ALTER TABLE ${name(table)}\n  ${changes.join(',\n  ')}`];
}

interface ColumnPlan {
  readonly problem: readonly string[];
  readonly prepare: readonly string[];
  readonly expand: readonly string[];
  readonly contract: readonly string[];
}

const nothing: ColumnPlan = { problem: [], prepare: [], expand: [], contract: [] };

function planColumn(table: TableShape, wanted: ColumnShape): ColumnPlan {
  const existing = table.columns.find((column) => column.name === wanted.name);
  const notNull = (type: SqlType): readonly string[] =>
    wanted.nullable ? [] : [modify(wanted.name, type, 'not null', wanted.default)];
  if (existing === undefined) {
    const add = `ADD COLUMN ${definition(wanted.name, wanted.type, 'null')}`;
    return { ...nothing, expand: [add], contract: notNull(wanted.type) };
  }
  const converted = existing.type.family === 'text' && wanted.type.family === 'int';
  const type = converted || isNumberForText(existing, wanted) ? wanted.type : widened(existing.type, wanted.type);
  if (type === undefined) {
    const problem = `column ${wanted.name} is ${existing.type.text} and cannot become ${wanted.type.text}; rename it`;
    return { ...nothing, problem: [problem] };
  }
  return { ...changeOf(table, type, existing, wanted), contract: endsAsWanted(existing, wanted) ? [] : notNull(type) };
}

/** What makes room for the values of both, before the rows are taken over. */
function changeOf(table: TableShape, type: SqlType, existing: ColumnShape, wanted: ColumnShape): ColumnPlan {
  const nullable = existing.nullable || wanted.nullable;
  const changed =
    type.text !== existing.type.text || existing.collation !== wanted.collation || nullable !== existing.nullable;
  if (!changed) return nothing;
  return {
    ...nothing,
    prepare: preparations(table.name, existing, wanted),
    expand: [modify(wanted.name, type, nullable ? 'null' : 'not null')],
  };
}

function endsAsWanted(existing: ColumnShape, wanted: ColumnShape): boolean {
  return !existing.nullable && !wanted.nullable && existing.default === wanted.default;
}

function isNumberForText(existing: ColumnShape, wanted: ColumnShape): boolean {
  return existing.type.family === 'int' && wanted.type.base === 'varchar';
}

/** A foreign column that is NOT NULL without a default would refuse all our rows. */
function letBeNull({ name: column, type, collation }: ColumnShape): string {
  return `MODIFY COLUMN ${name(column)} ${type.text}${collation === undefined ? '' : ` COLLATE ${collation}`} NULL`;
}

type Nullability = 'null' | 'not null';

function modify(column: string, type: SqlType, nullability: Nullability, value?: string): string {
  return `MODIFY COLUMN ${definition(column, type, nullability, value)}`;
}

function definition(column: string, type: SqlType, nullability: Nullability, value?: string): string {
  const collation = type.family === 'text' ? ' CHARACTER SET utf8mb4 COLLATE utf8mb4_bin' : '';
  const end = `${nullability === 'null' ? '' : ' NOT NULL'}${value === undefined ? '' : ` DEFAULT '${value}'`}`;
  return `${name(column)} ${type.text}${collation}${end}`;
}

const INT_RANGE: Readonly<Record<string, string>> = { tinyint: '0 AND 1', int: '-2147483648 AND 2147483647' };

/** Indexed values are taken from the object again afterwards, so a value that is no number here is not lost. */
function preparations(table: string, existing: ColumnShape, wanted: ColumnShape): readonly string[] {
  const column = name(wanted.name);
  const update = (value: string, condition: string): string =>
    `UPDATE ${name(table)} SET ${column} = ${value} WHERE ${condition}`;
  if (wanted.type.family === 'time') return [update("'1970-01-01 00:00:00'", `${column} < '1000-01-01'`)];
  if (wanted.type.unsigned && !existing.type.unsigned) return [update('0', `${column} < 0`)];
  if (existing.type.family !== 'text' || wanted.type.family !== 'int') return [];
  const range = INT_RANGE[wanted.type.base] ?? '';
  return [
    ...(wanted.type.base === 'tinyint'
      ? [update(`IF(LOWER(${column}) = 'true', '1', '0')`, `LOWER(${column}) IN ('true', 'false')`)]
      : []),
    update('NULL', `${column} NOT REGEXP '^-?[0-9]{1,10}$' OR CAST(${column} AS SIGNED) NOT BETWEEN ${range}`),
  ];
}

interface KeyPlan {
  readonly problems: readonly string[];
  readonly changes: readonly string[];
}

function planKeys(existing: TableShape, wanted: TableShape, extras: readonly ColumnShape[]): KeyPlan {
  const primary = planPrimaryKey(existing, wanted, extras);
  const list = (columns: readonly string[]): string => columns.join(',');
  const missing = wanted.keys.filter(
    (key) => key.name !== 'PRIMARY' && !existing.keys.some((found) => list(found.columns) === list(key.columns)),
  );
  const taken = missing.filter((key) => existing.keys.some((found) => found.name === key.name));
  const unique = existing.keys.filter((key) => key.unique && key.name !== 'PRIMARY');
  return {
    problems: [
      ...primary.problems,
      ...unique.map((key) => `drop the unique key ${key.name}: it would refuse rows that are right`),
    ],
    changes: [
      ...primary.changes,
      ...taken.map((key) => `DROP KEY ${name(key.name)}`),
      ...missing.map((key) => `ADD KEY ${name(key.name)} (${key.columns.map(name).join(', ')})`),
    ],
  };
}

/** The original's child tables number their rows; nothing refers to the number. */
function planPrimaryKey(existing: TableShape, wanted: TableShape, extras: readonly ColumnShape[]): KeyPlan {
  const columnsOf = ({ keys }: TableShape): readonly string[] =>
    keys.find((key) => key.name === 'PRIMARY')?.columns ?? [];
  const [has, wants] = [columnsOf(existing), columnsOf(wanted)];
  if (has.join() === wants.join()) return { problems: [], changes: [] };
  const counter = extras.find(({ autoIncrement }) => autoIncrement)?.name;
  if (counter === undefined || has.join() !== counter) {
    return { problems: [`the primary key is (${has.join(', ')}) instead of (${wants.join(', ')})`], changes: [] };
  }
  const add = `ADD PRIMARY KEY (${wants.map(name).join(', ')})`;
  return { problems: [], changes: [`DROP COLUMN ${name(counter)}`, 'DROP PRIMARY KEY', add] };
}
