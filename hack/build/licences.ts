// The licences of the libraries that a bundle has inside, as most of them ask for.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';

/** `inputs`: files that the bundle is made of, from the root. */
export function licencesOf(root: string, inputs: readonly string[]): string {
  const folders = new Set(inputs.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []));
  return [...folders]
    .sort()
    .map((folder) => licenceOf(root, folder))
    .join('\n');
}

function licenceOf(root: string, folder: string): string {
  const at = join(root, folder);
  const manifest = join(at, 'package.json');
  if (!existsSync(manifest)) throw new CodedError('BUILD_LICENCE', `${folder} has no package.json`);
  const { name, version, license } = JSON.parse(readFileSync(manifest, 'utf8')) as Readonly<Record<string, unknown>>;
  const [file] = globSync('{LICENSE,LICENCE,License,license}*', { cwd: at }).sort();
  const text = file === undefined ? '' : `\n${readFileSync(join(at, file), 'utf8').trim()}\n`;
  return `${'='.repeat(80)}\n${String(name)} ${String(version)} (${String(license)})\n${text}`;
}
