import { createHash } from 'node:crypto';
import { constants, cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { cacheDirectory } from './cache-directory.ts';
import { cachedFolder } from './cached-folder.ts';
import type { DatabasePrograms } from './database-programs.ts';
import { tailOf } from './log-tail.ts';
import type { Preparation, ReapedPreparation } from './preparation.ts';
import { runCommand } from './run-command.ts';

/** Makes `data` a new data directory whose administrator root@localhost has no password yet. */
export async function createDataDirectory(
  programs: DatabasePrograms,
  data: string,
  preparation: Preparation,
): Promise<void> {
  const { flavour, version, server } = programs;
  const hash = createHash('sha256').update(server.join('\n')).digest('hex').slice(0, 12);
  const path = join(cacheDirectory(preparation.env), 'database-templates', `${flavour}-${version}-${hash}`);
  const fill = (folder: string, reaped: ReapedPreparation): Promise<void> => initialise(programs, folder, reaped);
  const template = await cachedFolder({ path, what: `an empty ${flavour} database`, fill }, preparation);
  cpSync(template, data, { recursive: true, mode: constants.COPYFILE_FICLONE });
}

async function initialise(
  programs: DatabasePrograms,
  folder: string,
  { progress, reaper, signal }: ReapedPreparation,
): Promise<void> {
  const { flavour, server, locations } = programs;
  const mode = flavour === 'mysql' ? ['--initialize-insecure'] : ['--bootstrap', '--skip-grant-tables'];
  progress(`Preparing an empty ${flavour} ${programs.version} database in the cache. This is needed only once.`);
  const [command = '', ...first] = server;
  const args = [...first, '--no-defaults', ...locations, ...mode, `--datadir=${folder}`, ...asRoot()];
  const input = flavour === 'mysql' ? '' : mariadbSystemTables(programs.share);
  const { code, stderr } = await runCommand(command, args, { reaper, signal, input });
  signal?.throwIfAborted();
  if (code !== 0) {
    throw new CodedError('LOCAL_DATABASE_SETUP', `Preparing an empty ${flavour} database failed:\n${tailOf(stderr)}`);
  }
  // Each copy names itself; servers with the same identity could not replicate from each other.
  rmSync(join(folder, 'auto.cnf'), { force: true });
}

/** Servers refuse to run as root by accident. */
export function asRoot(): string[] {
  return process.getuid?.() === 0 ? ['--user=root'] : [];
}

/** MariaDB comes with its system tables as scripts, for a shell script of its own that cannot run unpacked programs. */
function mariadbSystemTables(share: string): string {
  const scripts = [
    'system_tables.sql',
    'performance_tables.sql',
    'system_tables_data.sql',
    'fill_help_tables.sql',
    'maria_add_gis_sp_bootstrap.sql',
    'sys_schema.sql',
  ];
  const texts = scripts.map((name) => {
    const file = ['', 'mariadb_', 'mysql_']
      .map((prefix) => join(share, prefix + name))
      .find((path) => existsSync(path));
    if (file === undefined)
      throw new CodedError('LOCAL_DATABASE_SETUP', `MariaDB's script ${name} is not in ${share}.`);
    return readFileSync(file, 'utf8');
  });
  return [
    'create database if not exists mysql;',
    'use mysql;',
    'set @auth_root_socket = null;',
    ...texts,
    "delete from mysql.global_priv where Host <> 'localhost';",
    '',
  ].join('\n');
}
