// The scripts of the page and of the tab in Argo CD: each one file, because both are loaded without a build.
import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '../..');

export interface BuiltScript {
  readonly text: string;
  /** Files that it is made of, from the root. */
  readonly inputs: readonly string[];
}

/** `entry`: a file of src/query/ui. */
export async function buildUi(entry: 'page.tsx' | 'argocd-tab.tsx'): Promise<BuiltScript> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [`src/query/ui/${entry}`],
    outdir: '.',
    tsconfig: join(root, 'src/query/ui/tsconfig.json'),
    bundle: true,
    write: false,
    minify: true,
    format: 'iife',
    platform: 'browser',
    target: ['chrome123', 'firefox121', 'safari17.5'],
    charset: 'utf8',
    legalComments: 'none',
    loader: { '.css': 'text' },
    metafile: true,
    logLevel: 'warning',
  });
  return { text: outputFiles[0]?.text ?? '', inputs: Object.keys(metafile.inputs) };
}
