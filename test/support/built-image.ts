// The program as the Dockerfile has it in the image: built, in a folder without its libraries.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildProgram } from '../../hack/build/program.ts';
import type { LocalImage } from '../../hack/local/node/image-table.ts';
import { ingesterImage } from '../../hack/local/node/images.ts';

export interface BuiltImage {
  /** Stands for michelangelo-ingester with the version of the manifests. */
  readonly image: LocalImage;
  /** Its folder; the entry is src/main.js. */
  readonly folder: string;
  remove(): void;
}

export async function makeBuiltImage(commit: string): Promise<BuiltImage> {
  const parent = mkdtempSync(join(tmpdir(), 'built-image-'));
  const folder = join(parent, 'program');
  await buildProgram(folder, commit);
  const version = { tag: ':\\d[\\w.-]*', program: join(folder, 'src/main.js') };
  return {
    image: ingesterImage(join(parent, 'bin'), version),
    folder,
    remove: () => rmSync(parent, { recursive: true, force: true }),
  };
}
