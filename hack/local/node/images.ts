// The image table of this project: which programs of this machine stand for which images.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LocalImage } from './image-table.ts';

const root = join(import.meta.dirname, '../../..');
const preload = join(import.meta.dirname, 'pod-address.ts');

interface ImageVersion {
  /** Regular expression of what follows the name of the image. */
  readonly tag: string;
  /** Where its program is. */
  readonly folder: string;
  /** Its entry below the folder; that of the sources unless given. */
  readonly main?: string;
}

const anyVersion: ImageVersion = { tag: '([:@].*)?', folder: root };

/** This program's image: `ingester` is its entrypoint and on the path, as in the Dockerfile. */
export function ingesterImage(
  binFolder: string,
  { tag, folder, main = 'src/main.ts' }: ImageVersion = anyVersion,
): LocalImage {
  mkdirSync(binFolder, { recursive: true });
  const script = `#!/bin/sh\nexec '${process.execPath}' --import '${preload}' '${join(folder, main)}' "$@"\n`;
  writeFileSync(join(binFolder, 'ingester'), script);
  chmodSync(join(binFolder, 'ingester'), 0o755);
  // The sources are compiled once for all pods.
  const { NODE_COMPILE_CACHE: cache } = process.env;
  return {
    match: `(.*/)?michelangelo-ingester${tag}`,
    entrypoint: ['ingester'],
    path: [binFolder],
    env: { NODE_ENV: 'production', ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }) },
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
