// The tables of the original program, in the forms that occur: as its specification describes them, as its generator
// writes them, as its first release deploys them, and as its chart does.
import assert from 'node:assert/strict';
import type { IndexedColumn, KindDefinition } from '../../src/api/kind.ts';
import { text } from '../../src/kinds/columns.ts';
import type { TableNames } from '../../src/kinds/kind-names.ts';
import { allKinds, kindsNamed, kindsUnder } from '../../src/kinds/kinds.ts';

type Source = Pick<KindDefinition, 'kind' | 'table' | 'indexes'>;

export interface OriginalVariant {
  readonly name: string;
  readonly tableNames: TableNames;
  /** Those that have tables there and are known here. */
  readonly kinds: readonly KindDefinition[];
  /** Those of newer releases, which this program does not know. */
  readonly unknown: readonly Source[];
  readonly create: (kind: Source) => readonly string[];
}

interface Form {
  readonly options: string;
  readonly base: string;
  readonly keys: (kind: Source) => readonly string[];
  readonly labelsKey: string;
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

/** Written by hand there, so not every indexed column has one. */
const keyed: Readonly<Record<string, readonly (readonly [name: string, ...columns: string[]])[]>> = {
  Model: [
    ['algorithm', 'algorithm'],
    ['owner', 'owner'],
  ],
  Pipeline: [['owner', 'owner']],
  PipelineRun: [
    ['pipeline', 'pipeline_namespace', 'pipeline_name'],
    ['state', 'state'],
  ],
  Deployment: [['state', 'state']],
  InferenceServer: [['state', 'state']],
  Revision: [['base_resource', 'base_resource_namespace', 'base_resource_name']],
  TriggerRun: [
    ['pipeline', 'pipeline_namespace', 'pipeline_name'],
    ['state', 'state'],
  ],
  Metric: [['group', 'group']],
};

function deployedKeys({ kind, table }: Source): readonly string[] {
  const keys = [['namespace_name', 'namespace', 'name'], ['create_time', 'create_time'], ...(keyed[kind] ?? [])];
  return keys.map(
    ([name, ...columns]) => `KEY \`${table}_${name}\` (${columns.map((column) => `\`${column}\``).join(', ')})`,
  );
}

const forms = {
  specification: {
    options: '',
    base:
      '`uid` VARCHAR(64) NOT NULL, `group_ver` VARCHAR(128), `namespace` VARCHAR(256), `name` VARCHAR(256), ' +
      '`res_version` BIGINT, `create_time` DATETIME(6), `update_time` DATETIME(6), `delete_time` DATETIME(6), ' +
      '`proto` LONGBLOB, `json` JSON',
    keys: () => ['INDEX idx_namespace_name (namespace, name)', 'INDEX idx_delete_time (delete_time)'],
    labelsKey: 'value',
    type: (column) => (column.name === 'algorithm' ? 'VARCHAR(128)' : realType(column, false)),
  },
  generated: {
    options: '',
    base: realBase,
    labelsKey: 'value',
    keys: ({ table }) => [
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
    keys: deployedKeys,
    // The name of one of our keys, on other columns.
    labelsKey: 'key_value',
    type: (column) => realType(column, true),
  },
} satisfies Readonly<Record<string, Form>>;

function createWith({ options, base, keys, labelsKey, type }: Form, kind: Source): readonly string[] {
  const { table, indexes } = kind;
  const columns = indexes.flat().map((column) => `\`${column.name}\` ${type(column)}`);
  const pairs = (part: string, value: string, more: string): string =>
    `CREATE TABLE \`${table}_${part}\` (\`id\` BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, ` +
    `\`obj_uid\` VARCHAR(255) NOT NULL, \`key\` VARCHAR(255) NOT NULL, \`value\` ${value}, ` +
    `KEY \`${table}_${part}_uid\` (\`obj_uid\`)${more}) ${options}`;
  return [
    `CREATE TABLE \`${table}\` (${[base, ...columns, 'PRIMARY KEY (`uid`)', ...keys(kind)].join(', ')}) ${options}`,
    pairs('labels', 'VARCHAR(63)', `, KEY \`${table}_labels_${labelsKey}\` (\`key\`, \`value\`)`),
    pairs('annotations', 'TEXT', ''),
  ];
}

const create =
  (form: Form) =>
  (kind: Source): readonly string[] =>
    createWith(form, kind);

/** The first releases have no tables of the optional kinds. */
function firstKinds(tables: TableNames): readonly KindDefinition[] {
  return kindsNamed(
    allKinds.filter(({ optional }) => !optional).map(({ kind }) => kind),
    tables,
  );
}

const first = (name: string, form: Form, tableNames: TableNames): OriginalVariant => ({
  ...{ name, tableNames, kinds: firstKinds(tableNames), unknown: [] },
  create: create(form),
});

const newer: readonly Source[] = [
  { kind: 'EvaluationReport', table: 'evaluation_report', indexes: [] },
  { kind: 'Metric', table: 'metric', indexes: [text('type_name', 'spec.typeName'), text('group', 'spec.group')] },
];

export const originalVariants: readonly OriginalVariant[] = [
  first('as specified', forms.specification, 'lowercase'),
  first('as generated', forms.generated, 'snake_case'),
  first('as deployed', forms.deployed, 'lowercase'),
  {
    ...{ name: 'as in the chart', tableNames: 'snake_case', kinds: kindsUnder('snake_case'), unknown: newer },
    create: create(forms.deployed),
  },
];

export function originalVariant(wanted: string): OriginalVariant {
  return originalVariants.find(({ name }) => name === wanted) ?? assert.fail(wanted);
}
