// The parts of the docs about the Ingester resource that follow from its tables.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { leaves } from '../../src/api/ingester/schema.ts';
import { specSchema } from '../../src/api/ingester/spec-schema.ts';
import { transitions } from '../../src/lifecycle/plan/pipeline.ts';
import type { Output } from './output.ts';

const root = join(import.meta.dirname, '../..');
const page = 'docs/lifecycle.md';

export function lifecycleOutputs(): readonly Output[] {
  return [{ path: page, content: withDiagram(readFileSync(join(root, page), 'utf8')) }, reference()];
}

function withDiagram(text: string): string {
  return text.replace(/```mermaid\n[\s\S]*?```/, `\`\`\`mermaid\n${stateDiagram()}\n\`\`\``);
}

/** As Mermaid draws it. */
function stateDiagram(): string {
  const lines = transitions.map(({ from, to, when }) => `  ${from} --> ${to}: ${when}`);
  return ['stateDiagram-v2', '  [*] --> Settled', ...lines].join('\n');
}

function reference(): Output {
  const rows = leaves(specSchema).map(({ path, leaf }) => {
    const initial = leaf.default === undefined ? '' : ` Default: \`${JSON.stringify(leaf.default)}\`.`;
    return `| \`${path}\` | ${leaf.change} | ${leaf.description}${initial} |`;
  });
  const lines = [
    '<!-- Generated from src/api/ingester/spec-schema.ts by "npm run generate". Do not edit. -->',
    '',
    '# Fields of an Ingester resource',
    '',
    'What a change of the field does: *ignore*: nothing in the cluster; *patch*: updates objects without a restart; *scale*:',
    'changes the number of replicas; *upgrade*: rolls out new pods and runs the tasks that depend on the field; *restore*:',
    'replaces the data. [lifecycle.md](lifecycle.md) explains how.',
    '',
    '| Field of spec | Change | Meaning |',
    '| --- | --- | --- |',
    ...rows,
  ];
  return { path: 'docs/lifecycle-reference.md', content: `${lines.join('\n')}\n` };
}
