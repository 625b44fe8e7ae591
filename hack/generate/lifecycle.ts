// The parts of the docs about the Ingester resource that follow from its tables.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { conditionReasons, eventReasons } from '../../src/api/ingester/reasons.ts';
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

function conditions(): readonly string[] {
  const rows = Object.entries(conditionReasons).flatMap(([type, reasons]) =>
    Object.entries(reasons).map(
      ([reason, { status, meaning }]) => `| \`${type}\` | ${status} | \`${reason}\` | ${meaning} |`,
    ),
  );
  return [
    '## Conditions',
    '',
    'Each condition is always there; its status follows from its reason. *Unknown* says that the controller cannot know, not',
    'that something is wrong. `Available` goes by the pods that were ready last.',
    '',
    '| Condition | Status | Reason | Meaning |',
    '| --- | --- | --- | --- |',
    ...rows,
  ];
}

function events(): readonly string[] {
  const rows = Object.entries(eventReasons).map(
    ([reason, { type, meaning }]) => `| \`${reason}\` | ${type} | ${meaning} |`,
  );
  return ['## Events', '', '| Reason | Type | Meaning |', '| --- | --- | --- |', ...rows];
}

function reference(): Output {
  const rows = leaves(specSchema).map(({ path, leaf }) => {
    const initial = leaf.default === undefined ? '' : ` Default: \`${JSON.stringify(leaf.default)}\`.`;
    return `| \`${path}\` | ${leaf.change} | ${leaf.description}${initial} |`;
  });
  const lines = [
    '<!-- Generated from src/api/ingester by "npm run generate". Do not edit. -->',
    '',
    '# Fields of an Ingester resource',
    '',
    'What a change of the field does: *ignore*: nothing in the cluster; *patch*: updates objects without a restart; *scale*:',
    'changes the number of replicas; *upgrade*: rolls out new pods and runs the tasks that depend on the field; *restore*:',
    'replaces the data. [lifecycle.md](lifecycle.md) explains how. At the end are all [conditions](#conditions) and',
    '[events](#events) with their reasons.',
    '',
    '| Field of spec | Change | Meaning |',
    '| --- | --- | --- |',
    ...rows,
    '',
    ...conditions(),
    '',
    ...events(),
  ];
  return { path: 'docs/lifecycle-reference.md', content: `${lines.join('\n')}\n` };
}
