// The UI extension of Argo CD: one script, because Argo CD serves each it finds in no certain order.
import type { KindDefinition } from '../../src/api/kind.ts';
import { buildUi } from '../build/ui.ts';
import type { Output } from './output.ts';

export async function argocdExtensionOutput(kinds: readonly KindDefinition[]): Promise<Output> {
  const plurals = Object.fromEntries(kinds.map(({ kind, plural }) => [kind, plural]));
  const content = [
    '// Generated from src/query/ui by "npm run generate". Do not edit. Has Preact (MIT) and yaml (ISC) inside.\n',
    `window.ingesterPlurals = ${JSON.stringify(plurals)};\n`,
    (await buildUi('argocd-tab.tsx')).text,
  ].join('');
  return { path: 'config/argocd/extension/extension-ingester.js', content };
}
