import type { FieldRule, IndexedColumn, KindDefinition, VersionField } from '../../src/api/kind.ts';
import { type ConfigurationKey, configurationKeys, taskKeys } from '../../src/config/load.ts';
import { kindUnder } from '../../src/kinds/kinds.ts';
import type { Output } from './output.ts';

export function docsOutputs(kinds: readonly KindDefinition[]): readonly Output[] {
  return [
    { path: 'docs/configuration.md', content: configurationPage() },
    { path: 'docs/kinds.md', content: kindsPage(kinds) },
  ];
}

const notice = (source: string): string => `<!-- Generated from ${source} by "npm run generate". Do not edit. -->\n\n`;

function keyRows(keys: readonly ConfigurationKey[]): string {
  const rows = keys.map(({ path, env, defaultValue, help }) => {
    return `| \`${path}\` | ${env === undefined ? '–' : `\`${env}\``} | ${describeDefault(defaultValue)} | ${help} |`;
  });
  return ['| Key | Environment | Default | Meaning |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function configurationPage(): string {
  return `${notice('src/config/schema.ts')}# Configuration

One YAML file (\`--config\`, or the variable \`INGESTER_CONFIG\`); every scalar can also be set in the environment, which
wins. \`\${NAME}\` and \`\${NAME:default}\` inside text values are replaced from the environment. Durations are written
\`500ms\`, \`30s\`, \`5m\`, \`1h30m\`. Unknown keys are refused with the nearest known one, and every problem is reported at
once with its path. In the cluster the reconciler's file is the key \`config.yaml\` of the ConfigMap
\`ingester-reconciler-config\`, with a hash at the end of its name; an overlay [changes a setting](install.md#settings).
\`ingester --config config.yaml config\` checks a file without a server, in a pull request for instance, and prints what it sets.

${keyRows(configurationKeys)}

The reconciler is opt-in. With \`metadataStorage.enableMetadataStorage\` off it says so and stays idle, and the webhook, which reads
the same file, [adds no finalizer to new objects](admission.md#finalizer): the bundle puts nothing on objects. So say it in the file: the
environment may not switch on what the file switches off. Leave the component \`probe\` out, which waits for a guarded object. Switched on with
an empty \`mysql\` section it refuses to start and names the keys to set.

## Tasks

\`ingester task\` and \`ingester snapshots\` read these sections too, from the same file or one of their own. Nothing else reads
or checks them.

${keyRows(taskKeys)}
`;
}

function describeDefault(value: unknown): string {
  if (value === undefined) return '–';
  if (value === '') return 'empty';
  if (Array.isArray(value) && value.length === 0) return 'empty list';
  if (Array.isArray(value)) return 'the 13 kinds of [kinds.md](kinds.md)';
  return typeof value === 'object' ? 'empty map' : `\`${JSON.stringify(value).replaceAll('"', '')}\``;
}

function kindsPage(kinds: readonly KindDefinition[]): string {
  const rows = kinds.map((kind) => {
    const columns = kind.indexes.flat().map(describeColumn);
    const notes = [kind.optional ? 'optional' : '', kind.immutable ? 'immutable kind' : ''].filter(
      (note) => note !== '',
    );
    return `| ${kind.kind} | \`${kind.plural}\` | \`${kindUnder(kind, 'snake_case').table}\` | ${columns.join(', ') || '–'} | ${notes.join(', ') || '–'} |`;
  });
  return `${notice('src/kinds/catalogue.ts')}# Kinds

Group \`michelangelo.api\`, version \`v2\`, all namespaced. Each kind has three tables: the main one and, with the endings
\`_labels\` and \`_annotations\`, one row per label and annotation; owner references stand beside the labels. Optional kinds are ingested only when
\`ingester.kinds\` names them beside the others and the component \`config/components/kinds/<plural>\` gives the bundle the
rights and the rules for them; their definitions are in \`crds/optional\`. Immutable kinds are evicted only with
\`ingester.evictImmutableKinds\`. In databases of the original's first release the names of tables have no underscores
(\`pipelinerun\`); they are kept ([michelangelo-database.md](michelangelo-database.md#table-names)).

| Kind | Plural | Table | Indexed columns (JSON path) | Notes |
| --- | --- | --- | --- | --- |
${rows.join('\n')}

## Fields that only move forward

What an older value in one of these fields means is in [admission.md](admission.md#content-downgrade). The mode of a kind
is set by \`admission.contentDowngrades\`.

| Kind | Field | Order | Mode unless set |
| --- | --- | --- | --- |
${kinds.flatMap(versionFieldRows).join('\n')}

## Fields that are checked

The rules of [field-rules](admission.md#field-rules). A rule below an object that is not there does not count; \`*\` stands
for every value of a map and every item of a list.

| Kind | Field | Rule |
| --- | --- | --- |
${kinds.flatMap(fieldRuleRows).join('\n')}
`;
}

function fieldRuleRows(kind: KindDefinition): readonly string[] {
  return kind.fieldRules.map((rule) => `| ${kind.kind} | \`${rule.path.join('.')}\` | ${describeRule(rule)} |`);
}

function describeRule(rule: FieldRule): string {
  switch (rule.rule) {
    case 'required':
      return 'not empty';
    case 'uuid':
      return 'a UUID';
    case 'range':
      return rule.maximum === undefined ? `at least ${rule.minimum}` : `${rule.minimum} to ${rule.maximum}`;
    case 'text': {
      const length = rule.maxLength === undefined ? '' : `, at most ${rule.maxLength} characters`;
      return `matches \`${rule.pattern ?? ''}\`${length}`;
    }
    case 'one-of':
      return `one of ${rule.members.map((member) => `\`${member}\``).join(', ')}`;
  }
}

const orders: Readonly<Record<VersionField['order'], string>> = {
  semver: 'semantic versions; others: a warning',
  'semver-or-name': 'semantic versions; others have no order',
  integer: 'whole number; missing is 0',
  'integer-or-name': 'whole numbers of up to 18 digits; others have no order',
  'numbered-name': 'the number at the end of the same name',
  flag: 'true for good',
  terminal: 'final',
};

function versionFieldRows(kind: KindDefinition): readonly string[] {
  return kind.versionFields.map(({ path, order, terminal = [] }) => {
    const values = terminal.map((value) => ` \`${value}\``).join(',');
    return `| ${kind.kind} | \`${path.join('.')}\` | ${orders[order]}${values} | \`${kind.downgrades}\` |`;
  });
}

function describeColumn(column: IndexedColumn): string {
  return `\`${column.name}\` (${column.path.join('.')})`;
}
