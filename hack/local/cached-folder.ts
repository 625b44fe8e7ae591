import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withFileLock } from './file-lock.ts';
import type { Preparation, ReapedPreparation } from './preparation.ts';
import { startReaper } from './reaper.ts';

export interface CachedFolder {
  /** Where it is once complete; never seen half made. */
  readonly path: string;
  /** What is being made, for the progress line: "the control plane". */
  readonly what: string;
  readonly fill: (folder: string, preparation: ReapedPreparation) => Promise<void>;
}

/** Gives a folder that is expensive to make, making it if it is not there. Two processes never make it twice. */
export async function cachedFolder(folder: CachedFolder, preparation: Preparation): Promise<string> {
  const { path, what } = folder;
  if (existsSync(path)) return path;
  mkdirSync(dirname(path), { recursive: true });
  const { progress, signal } = preparation;
  const waiting = `Waiting for another process that is preparing ${what}`;
  await withFileLock(`${path}.lock`, { waiting, progress, signal }, async () => {
    if (!existsSync(path)) await make(folder, preparation);
  });
  return path;
}

async function make({ path, fill }: CachedFolder, preparation: Preparation): Promise<void> {
  const unfinished = mkdtempSync(join(dirname(path), '.unfinished-'));
  const reaper = startReaper(unfinished);
  try {
    await fill(unfinished, { ...preparation, reaper });
    preparation.signal?.throwIfAborted();
    moveTo(path, unfinished);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
    await reaper.dismiss();
  }
}

/** Where files cannot be locked, another process may have been faster; its folder is as good. */
function moveTo(path: string, unfinished: string): void {
  try {
    renameSync(unfinished, path);
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
}
