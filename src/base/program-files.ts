import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The nearest folder above with a package.json. A bundle has its modules elsewhere than the sources, so no depth is assumed. */
function programFolder(from: string): string {
  return existsSync(join(from, 'package.json')) || from === dirname(from) ? from : programFolder(dirname(from));
}

const folder = programFolder(import.meta.dirname);

/** A file that the program reads, by its path in the repository. */
export function programFile(path: string): string {
  return join(folder, path);
}

export interface ProgramIdentity {
  readonly version: string;
  /** What it was built from; a checkout does not say. */
  readonly commit?: string;
}

export function programIdentity(): ProgramIdentity {
  const { version, commit } = JSON.parse(readFileSync(programFile('package.json'), 'utf8')) as ProgramIdentity;
  return { version, ...(commit === undefined ? {} : { commit }) };
}

export function programVersion(): string {
  return programIdentity().version;
}
