import type { FieldDescriptor } from '../../../src/proto/descriptor.ts';
import { generatedNotice } from '../output.ts';
import type { DescriptorSet } from './descriptors.ts';

/** Keys in the order they are written; the text of one field is one line. */
const fieldKeys = [
  'number',
  'name',
  'protoName',
  'type',
  'of',
  'label',
  'oneof',
  'blob',
  'sensitive',
  'inline',
  'unpacked',
] as const;

/** The TypeScript module with the descriptor table as constants. */
export function renderDescriptors(set: DescriptorSet): string {
  return [
    generatedNotice('//', 'schema/proto').trimEnd(),
    "import type { EnumTable, MessageTable } from '../descriptor.ts';",
    '',
    `export const kinds: readonly string[] = [${set.kinds.map(quoted).join(', ')}];`,
    '',
    'export const messages: MessageTable = {',
    ...Object.entries(set.messages).flatMap(([name, fields]) => renderMessage(name, fields)),
    '};',
    '',
    'export const enums: EnumTable = {',
    ...Object.entries(set.enums).flatMap(([name, values]) => [
      `  ${quoted(name)}: [`,
      ...values.map(([number, value]) => `    [${number}, ${quoted(value)}],`),
      '  ],',
    ]),
    '};',
    '',
  ].join('\n');
}

function renderMessage(name: string, fields: readonly FieldDescriptor[]): string[] {
  if (fields.length === 0) return [`  ${quoted(name)}: [],`];
  return [`  ${quoted(name)}: [`, ...fields.map((field) => `    { ${renderField(field)} },`), '  ],'];
}

function renderField(field: FieldDescriptor): string {
  const values = field as Partial<Record<(typeof fieldKeys)[number], string | number | boolean>>;
  return fieldKeys
    .filter((key) => values[key] !== undefined)
    .map((key) => `${key}: ${literal(values[key])}`)
    .join(', ');
}

function literal(value: unknown): string {
  return typeof value === 'string' ? quoted(value) : String(value);
}

/** Proto identifiers hold neither quotes nor backslashes. */
function quoted(text: string): string {
  return `'${text}'`;
}
