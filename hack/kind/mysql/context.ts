// node hack/kind/mysql/context.ts <folder>: puts Debian's MySQL into the folder, as the context of an image. Prints its version.
import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CodedError } from '../../../src/base/errors.ts';
import { findDatabasePrograms } from '../../local/database-programs.ts';
import { progressOnStderr } from '../../local/progress.ts';

const folder = resolve(process.argv[2] ?? '.');
const programs = await findDatabasePrograms('mysql', {
  env: process.env,
  progress: progressOnStderr,
  signal: undefined,
});
const [baseOption = ''] = programs.locations;
const root = baseOption.replace(/^--basedir=/, '').replace(/\/usr$/, '');
if (root === '' || programs.client === undefined) {
  throw new CodedError('LOCAL_NO_PACKAGES', "Needs Debian's packages of MySQL; this machine has a server of its own.");
}
cpSync(root, join(folder, 'mysql'), { recursive: true, verbatimSymlinks: true });
// They run with the C library that they came with.
const moved = (words: readonly string[]): string => words.map((word) => word.replaceAll(root, '/opt/mysql')).join(' ');
mkdirSync(join(folder, 'bin'));
const scripts = { mysqld: [...programs.server, '--no-defaults', ...programs.locations], mysql: programs.client };
for (const [name, words] of Object.entries(scripts)) {
  writeFileSync(join(folder, 'bin', name), `#!/bin/sh\nexec ${moved(words)} "$@"\n`);
  chmodSync(join(folder, 'bin', name), 0o755);
}
cpSync(join(import.meta.dirname, 'entrypoint'), join(folder, 'bin/entrypoint'));
process.stdout.write(`${/\d+\.\d+\.\d+/.exec(programs.version)?.[0] ?? programs.version}\n`);
