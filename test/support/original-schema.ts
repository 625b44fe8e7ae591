// The tables of the original program, in the forms that occur: as its specification describes them, as its generator
// writes them, and as they are deployed.
import type { IndexedColumn, KindDefinition } from '../../src/api/kind.ts';
import type { TableNames } from '../../src/kinds/kind-names.ts';
import { allKinds, kindsNamed } from '../../src/kinds/kinds.ts';

export interface OriginalVariant {
  readonly name: string;
  readonly tableNames: TableNames;
  readonly create: (kind: KindDefinition) => readonly string[];
}

interface Form {
  readonly options: string;
  readonly base: string;
  readonly keys: (table: string) => readonly string[];
  readonly type: (column: IndexedColumn) => string;
}

const utf8 = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';

const realBase =
  '`uid` VARCHAR(255) NOT NULL, `group_ver` VARCHAR(255) NOT NULL, `namespace` VARCHAR(255) NOT NULL, ' +
  '`name` VARCHAR(255) NOT NULL, `res_version` BIGINT UNSIGNED NOT NULL, `create_time` DATETIME NOT NULL, ' +
  '`update_time` DATETIME, `delete_time` DATETIME, `proto` MEDIUMBLOB, `json` JSON';

const textNumbers: ReadonlySet<string> = new Set(['tier', 'revision_id', 'auto_flip']);

function realType({ name, type, length }: IndexedColumn, deployed: boolean): string {
  if (type === 'time') return 'DATETIME';
  if (type === 'int' && !(deployed && textNumbers.has(name))) return 'INT';
  if (type === 'bool' && !deployed) return 'BOOLEAN';
  return `VARCHAR(${length ?? 255})`;
}

const forms = {
  specification: {
    options: '',
    base:
      '`uid` VARCHAR(64) NOT NULL, `group_ver` VARCHAR(128), `namespace` VARCHAR(256), `name` VARCHAR(256), ' +
      '`res_version` BIGINT, `create_time` DATETIME(6), `update_time` DATETIME(6), `delete_time` DATETIME(6), ' +
      '`proto` LONGBLOB, `json` JSON',
    keys: () => ['INDEX idx_namespace_name (namespace, name)', 'INDEX idx_delete_time (delete_time)'],
    type: (column) => (column.name === 'algorithm' ? 'VARCHAR(128)' : realType(column, false)),
  },
  generated: {
    options: '',
    base: realBase,
    keys: (table) => [
      `KEY \`${table}_namespace_name\` (\`namespace\`, \`name\`)`,
      `KEY \`${table}_create_time\` (\`create_time\`)`,
      `KEY \`${table}_update_time\` (\`update_time\`)`,
      `KEY \`${table}_delete_time\` (\`delete_time\`)`,
      `KEY \`${table}_namespace_timestamp\` (\`namespace\`, \`delete_time\`, \`create_time\`, \`update_time\`)`,
    ],
    type: (column) => realType(column, false),
  },
  deployed: {
    options: utf8,
    base: realBase,
    keys: (table) => [
      `KEY \`${table}_namespace_name\` (\`namespace\`, \`name\`)`,
      `KEY \`${table}_create_time\` (\`create_time\`)`,
    ],
    type: (column) => realType(column, true),
  },
} satisfies Readonly<Record<string, Form>>;

function createWith({ options, base, keys, type }: Form, { table, indexes }: KindDefinition): readonly string[] {
  const columns = indexes.flat().map((column) => `\`${column.name}\` ${type(column)}`);
  const pairs = (part: string, value: string, more: string): string =>
    `CREATE TABLE \`${table}_${part}\` (\`id\` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, ` +
    `\`obj_uid\` VARCHAR(255) NOT NULL, \`key\` VARCHAR(255) NOT NULL, \`value\` ${value}, ` +
    `KEY \`${table}_${part}_uid\` (\`obj_uid\`)${more}) ${options}`;
  return [
    `CREATE TABLE \`${table}\` (${[base, ...columns, 'PRIMARY KEY (`uid`)', ...keys(table)].join(', ')}) ${options}`,
    pairs('labels', 'VARCHAR(63)', `, KEY \`${table}_labels_value\` (\`key\`, \`value\`)`),
    pairs('annotations', 'TEXT', ''),
  ];
}

const create =
  (form: Form) =>
  (kind: KindDefinition): readonly string[] =>
    createWith(form, kind);

export const originalVariants: readonly OriginalVariant[] = [
  { name: 'as specified', tableNames: 'lowercase', create: create(forms.specification) },
  { name: 'as generated', tableNames: 'snake_case', create: create(forms.generated) },
  { name: 'as deployed', tableNames: 'lowercase', create: create(forms.deployed) },
];

/** The original has no tables of the optional kinds. */
export function originalKinds(tables: TableNames): readonly KindDefinition[] {
  return kindsNamed(
    allKinds.filter(({ optional }) => !optional).map(({ kind }) => kind),
    tables,
  );
}
