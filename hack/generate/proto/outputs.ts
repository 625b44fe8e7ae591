import type { KindDefinition } from '../../../src/api/kind.ts';
import type { Output } from '../output.ts';
import { type DescriptorSet, loadDescriptors } from './descriptors.ts';
import { renderDescriptors } from './render.ts';

export async function protoOutputs(kinds: readonly KindDefinition[]): Promise<readonly Output[]> {
  const descriptors = await loadDescriptors();
  return [
    { path: 'src/proto/generated/descriptors.ts', content: renderDescriptors(descriptors) },
    { path: 'src/kinds/generated/enum-values.ts', content: enumValuesText(kinds, descriptors) },
  ];
}

/** Of the enums that have an indexed column, under the name of their value 0. */
function enumValuesText(kinds: readonly KindDefinition[], { enums }: DescriptorSet): string {
  const zeros = new Set(kinds.flatMap(({ indexes }) => indexes.flat().map(({ zero }) => zero)));
  const entries = Object.values(enums)
    .map((values) => values.map(([, name]) => name))
    .filter(([zero]) => zero !== undefined && zeros.has(zero));
  const lines = entries.map((names) => `  ${names[0]}: [${names.map((name) => `'${name}'`).join(', ')}],\n`);
  return (
    '// Generated from schema/proto by "npm run generate". Do not edit.\n\n' +
    '/** All names of an enum, by that of its value 0. */\n' +
    `export const enumValues: Readonly<Record<string, readonly string[]>> = {\n${lines.join('')}};\n`
  );
}
