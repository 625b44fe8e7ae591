import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** All programs of these names in these folders, in the order of the names. */
export function findExecutables(names: readonly string[], folders: readonly string[]): string[] {
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).filter(isExecutable);
}
