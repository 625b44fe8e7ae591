import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly folder: string;
  remove(): void;
}

/** A file system of its own; undefined where this user may not mount one. */
export function smallDisk(mebibytes: number): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'ingester-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  const remove = (): void => {
    execFileSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  };
  return { folder, remove };
}

/** Writes files of these sizes, the largest first, until none of any size fits any more. */
export function fillUp(folder: string, sizes: readonly number[]): void {
  for (const size of sizes) {
    for (let index = 0; ; index += 1) {
      const file = join(folder, `${size}-${index}`);
      try {
        writeFileSync(file, Buffer.alloc(size));
      } catch {
        rmSync(file, { force: true });
        break;
      }
    }
  }
}
