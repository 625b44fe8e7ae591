// What scanners read of an image without a package manager: one stanza of dpkg's status for each package that a file of
// it is of, in the folder that images without a distribution have it in.
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
}

/** `files`: paths in the base, with their links followed. A base that dpkg did not make has no packages. */
export function copyPackages(base: string, image: string, files: readonly string[]): readonly DebianPackage[] {
  const status = join(base, 'var/lib/dpkg/status');
  if (!existsSync(status)) return [];
  const owners = new Set(ownersOf(base, files));
  const stanzas = readFileSync(status, 'utf8').split('\n\n');
  const folder = join(image, 'var/lib/dpkg/status.d');
  mkdirSync(folder, { recursive: true });
  return stanzas.flatMap((stanza) => {
    const [name = '', version = '', architecture = ''] = ['Package', 'Version', 'Architecture'].map(
      (field) => new RegExp(`^${field}: (.*)$`, 'm').exec(stanza)?.[1],
    );
    if (!owners.has(name)) return [];
    writeFileSync(join(folder, name), `${stanza.trim()}\n`);
    return [{ name, version, architecture }];
  });
}

function ownersOf(base: string, files: readonly string[]): readonly string[] {
  // What dpkg knows as /lib may be a link to /usr/lib.
  const merged = new Set(files.map((file) => file.replace(/^\/usr\/lib/, '/lib')));
  const folder = join(base, 'var/lib/dpkg/info');
  return globSync('*.list', { cwd: folder }).flatMap((list) => {
    const paths = readFileSync(join(folder, list), 'utf8').split('\n');
    const owns = paths.some((path) => merged.has(path.replace(/^\/usr\/lib/, '/lib')));
    return owns ? [basename(list, '.list').replace(/:.*/, '')] : [];
  });
}
