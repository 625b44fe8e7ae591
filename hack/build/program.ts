// The program as it is shipped: its modules and those of its libraries in a few files, one set shared by all roles, with
// the files that it reads beside them under their paths of the repository.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { licencesOf } from './licences.ts';
import { buildUi } from './ui.ts';

const root = join(import.meta.dirname, '../..');
const entries = ['src/main.ts', 'src/kubectl-ingester.ts'];
const commands = [
  ['ingester', 'main.js'],
  ['kubectl-ingester', 'kubectl-ingester.js'],
] as const;
/** Read by the program, not imported. */
const files = [
  'schema/migrations',
  'src/query/ui/public',
  'src/query/ui/generated',
  'src/kubectl_complete-ingester',
  'LICENSE',
];

/** Libraries in the format of CommonJS ask for modules of Node by `require`, which modules do not have. */
const banner = "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);";

/** Writes into the folder, whatever was there before. `commit`: what it is built from, where that is known. */
export async function buildProgram(folder: string, commit: string | undefined): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const metafile = await bundle(folder);
  for (const file of files) cpSync(join(root, file), join(folder, file), { recursive: true });
  writeCommands(folder);
  const { inputs } = await buildUi('page.tsx');
  writeFileSync(join(folder, 'LICENSES.txt'), licencesOf(root, [...Object.keys(metafile.inputs), ...inputs]));
  const { name, version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Readonly<
    Record<'name' | 'version' | 'license', string>
  >;
  const identity = { name, version, ...(commit === undefined ? {} : { commit }), license, type: 'module' };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(identity, undefined, 2)}\n`);
}

/** For a user's PATH: `ingester`, `kubectl-ingester` and what completes it. */
function writeCommands(folder: string): void {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const [command, module] of commands) {
    const text = `#!/bin/sh\nexec node "$(dirname "$(readlink -f "$0")")/../src/${module}" "$@"\n`;
    writeFileSync(join(bin, command), text, { mode: 0o755 });
  }
  const completes = 'kubectl_complete-ingester';
  cpSync(join(root, 'src', completes), join(bin, completes));
}

async function bundle(folder: string): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: folder,
    outbase: '.',
    chunkNames: 'src/chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    // The plugin runs on its user's Node.
    target: 'node20',
    // Stack traces stay readable, and reading more text costs nothing once it is compiled.
    minify: false,
    legalComments: 'none',
    metafile: true,
    banner: { js: banner },
    logLevel: 'warning',
  });
  return metafile;
}
