// Writes the files of a volume so that a reader sees all old ones or all new ones: the files are in a folder with a time
// in its name, `..data` is a link to it, and replacing that link is one step. As in a kubelet, down to the names.

import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { VolumeFiles } from './volume-files.ts';

const current = '..data';

/** False where the files are already those. */
export function writeAtomically(folder: string, files: VolumeFiles): boolean {
  const version = `..${digestOf(files)}`;
  if (targetOf(join(folder, current)) === version) return false;
  rmSync(join(folder, version), { recursive: true, force: true });
  const unfinished = join(folder, '..unfinished');
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  for (const [path, { data, mode }] of files) {
    const file = join(unfinished, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, data, { mode });
  }
  renameSync(unfinished, join(folder, version));
  rmSync(join(folder, '..data_tmp'), { force: true });
  symlinkSync(version, join(folder, '..data_tmp'));
  renameSync(join(folder, '..data_tmp'), join(folder, current));
  tidy(folder, version, new Set([...files.keys()].map((path) => path.split('/')[0] ?? path)));
  return true;
}

/** Links for what is new; nothing for what is gone. */
function tidy(folder: string, version: string, names: ReadonlySet<string>): void {
  for (const name of names) {
    if (!existsSync(join(folder, name))) {
      rmSync(join(folder, name), { force: true });
      symlinkSync(join(current, name), join(folder, name));
    }
  }
  for (const name of readdirSync(folder)) {
    if (name === current || name === version || names.has(name)) continue;
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}

function digestOf(files: VolumeFiles): string {
  const hash = createHash('sha256');
  for (const path of [...files.keys()].sort()) {
    const file = files.get(path);
    hash.update(JSON.stringify([path, file?.mode, file?.data.toString('base64')]));
  }
  return hash.digest('hex').slice(0, 16);
}
