// The UI extension of Argo CD: one script, because Argo CD serves each it finds in no certain order.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KindDefinition } from '../../src/api/kind.ts';
import type { Output } from './output.ts';

const source = (name: string): string => readFileSync(join(import.meta.dirname, '../../src/query/ui', name), 'utf8');

export function argocdExtensionOutput(kinds: readonly KindDefinition[]): Output {
  const plurals = Object.fromEntries(kinds.map(({ kind, plural }) => [kind, plural]));
  const content = [
    '// Generated from src/query/ui by "npm run generate". Do not edit.\n',
    source('view.js'),
    `window.ingesterPlurals = ${JSON.stringify(plurals)};\n`,
    source('argocd-tab.js'),
  ].join('');
  return { path: 'config/argocd/extension/extension-ingester.js', content };
}
