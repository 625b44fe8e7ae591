// The image table of this project: which programs of this machine stand for which images.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programFile } from '../program.ts';
import type { LocalImage } from './image-table.ts';

const preload = join(import.meta.dirname, 'pod-address.ts');

interface ImageVersion {
  /** Regular expression of what follows the name of the image. */
  readonly tag: string;
  /** Its entry. */
  readonly program: string;
}

/** This program's image: `ingester` is its entrypoint and on the path, as in the Dockerfile. */
export function ingesterImage(
  binFolder: string,
  { tag, program }: ImageVersion = { tag: '([:@].*)?', program: programFile('main') },
): LocalImage {
  mkdirSync(binFolder, { recursive: true });
  const script = `#!/bin/sh\nexec '${process.execPath}' --import '${preload}' '${program}' "$@"\n`;
  writeFileSync(join(binFolder, 'ingester'), script);
  chmodSync(join(binFolder, 'ingester'), 0o755);
  return {
    match: `(.*/)?michelangelo-ingester${tag}`,
    entrypoint: ['ingester'],
    path: [binFolder],
    env: { NODE_ENV: 'production' },
  };
}

/** The client of MySQL: `mysql` on the path runs the local one. */
export function mysqlClientImage(binFolder: string, client: readonly string[]): LocalImage {
  mkdirSync(binFolder, { recursive: true });
  const words = client.map((word) => `'${word}'`).join(' ');
  writeFileSync(join(binFolder, 'mysql'), `#!/bin/sh\nexec ${words} "$@"\n`);
  chmodSync(join(binFolder, 'mysql'), 0o755);
  return { match: '(.*/)?mysql([:@].*)?', entrypoint: ['mysql'], path: [binFolder], env: {} };
}
