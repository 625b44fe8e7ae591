import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Of Linux: files in memory. */
const SHARED_MEMORY = '/dev/shm';
/** What the servers of all tests that run at once have at most, and room for the programs beside them. */
const NEEDED_BYTES = 8 * 1024 ** 3;

/**
 * A new folder in memory, where there is room for the files of servers and programs can be run from it. Servers wait for a
 * disk with every commit; whatever is killed in a test, the machine is not.
 */
export function memoryFolder(parent: string = SHARED_MEMORY): string | undefined {
  let folder: string | undefined;
  try {
    accessSync(parent, constants.W_OK);
    const { bavail, bsize } = statfsSync(parent);
    if (bavail * bsize < NEEDED_BYTES) return undefined;
    folder = mkdtempSync(join(parent, 'ingester-tests-'));
    const script = join(folder, 'runs');
    writeFileSync(script, '#!/bin/sh\n', { mode: 0o700 });
    if (spawnSync(script).status === 0) return folder;
  } catch {
    // There is none, or not for this user.
  }
  if (folder !== undefined) rmSync(folder, { recursive: true });
  return undefined;
}
