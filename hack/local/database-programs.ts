import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { cacheDirectory } from './cache-directory.ts';
import { cachedFolder } from './cached-folder.ts';
import { unpackDebianPackages } from './debian-packages.ts';
import { findExecutables } from './executable.ts';
import { type Flavour, flavours } from './flavours.ts';
import type { Preparation, ReapedPreparation } from './preparation.ts';
import { runCommand } from './run-command.ts';

// Servers are often not on the PATH of a user who is not an administrator.
const administratorFolders = ['/usr/local/sbin', '/usr/sbin'];

/** A database server and, where there is one, a client, ready to be run. */
export interface DatabasePrograms {
  readonly flavour: Flavour;
  readonly version: string;
  /** The program and the arguments that come before all others. */
  readonly server: readonly string[];
  readonly client: readonly string[] | undefined;
  /** Arguments that tell the server where its own files are. */
  readonly locations: readonly string[];
  /** The folder with messages, character sets and the like. */
  readonly share: string;
}

/** The server on PATH when it is what was asked for, else packages of Debian unpacked in the cache. */
export async function findDatabasePrograms(flavour: Flavour, preparation: Preparation): Promise<DatabasePrograms> {
  return (await installedPrograms(flavour, preparation.env)) ?? (await unpackedPrograms(flavour, preparation));
}

async function installedPrograms(flavour: Flavour, env: NodeJS.ProcessEnv): Promise<DatabasePrograms | undefined> {
  const { serverNames, clientNames, shares } = flavours[flavour];
  const folders = [...(env['PATH'] ?? '').split(':').filter((folder) => folder !== ''), ...administratorFolders];
  const client = findExecutables(clientNames, folders)[0];
  for (const server of findExecutables(serverNames, folders)) {
    const version = await suitableVersion(flavour, [server]);
    if (version === undefined) continue;
    return {
      flavour,
      version,
      server: [server],
      client: client === undefined ? undefined : [client],
      locations: [],
      share: firstExisting(dirname(dirname(server)), shares),
    };
  }
  return undefined;
}

async function unpackedPrograms(flavour: Flavour, preparation: Preparation): Promise<DatabasePrograms> {
  const { suite, packages, advice, serverNames, clientNames, shares } = flavours[flavour];
  const path = join(cacheDirectory(preparation.env), 'debian-packages', `${flavour}-${suite ?? 'own'}-${process.arch}`);
  const fill = (folder: string, reaped: ReapedPreparation): Promise<void> =>
    unpackDebianPackages(folder, { packages, suite, advice }, reaped);
  const root = await cachedFolder({ path, what: flavour, fill }, preparation);
  const run = loaderOf(root);
  const folders = ['usr/sbin', 'usr/bin'].map((name) => join(root, name));
  const server = findExecutables(serverNames, folders)[0];
  const client = findExecutables(clientNames, folders)[0];
  const version = server === undefined ? undefined : await suitableVersion(flavour, [...run, server]);
  if (server === undefined || version === undefined) {
    throw new CodedError('LOCAL_NO_PACKAGES', `The packages in ${root} have no suitable ${flavour} server.\n${advice}`);
  }
  const share = firstExisting(join(root, 'usr'), shares);
  return {
    flavour,
    version,
    server: [...run, server],
    client: client === undefined ? undefined : [...run, client],
    locations: [
      `--basedir=${join(root, 'usr')}`,
      `--lc-messages-dir=${share}`,
      `--character-sets-dir=${join(share, 'charsets')}`,
      `--plugin-dir=${firstExisting(root, ['usr/lib/mysql/plugin', 'usr/lib/mariadb/plugin'])}`,
    ],
    share,
  };
}

/** The version when this is a server of that flavour and new enough. */
async function suitableVersion(flavour: Flavour, server: readonly string[]): Promise<string | undefined> {
  const [command = '', ...args] = server;
  const { stdout } = await runCommand(command, [...args, '--no-defaults', '--version']);
  return flavours[flavour].accepts(stdout);
}

/** Unpacked programs run with the C library they came with, which is newer or older than the system's. */
function loaderOf(root: string): string[] {
  const triplet = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }[process.arch as 'x64' | 'arm64'];
  const folders = ['usr/lib', 'lib'].map((name) => join(root, name, triplet)).filter((folder) => existsSync(folder));
  const loader = folders
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .find((file) => /\/ld-linux-[\w-]+\.so\.\d+$/.test(file));
  if (loader === undefined)
    throw new CodedError('LOCAL_NO_PACKAGES', `The packages in ${root} have no program loader.`);
  return [loader, '--library-path', folders.join(':')];
}

function firstExisting(parent: string, names: readonly string[]): string {
  return names.map((name) => join(parent, name)).find((folder) => existsSync(folder)) ?? parent;
}
