// The script of the page. It is kept with the sources, because a checkout runs without a build.
import { buildUi } from '../build/ui.ts';
import type { Output } from './output.ts';

export async function pageOutput(): Promise<Output> {
  return { path: 'src/query/ui/generated/page.js', content: (await buildUi('page.tsx')).text };
}
