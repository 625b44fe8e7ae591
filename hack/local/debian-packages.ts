import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { findDebianMirror } from './debian-mirror.ts';
import { tailOf } from './log-tail.ts';
import type { ReapedPreparation } from './preparation.ts';
import { withElapsedTime } from './progress.ts';
import { runCommand } from './run-command.ts';

export interface DebianPackages {
  readonly packages: readonly string[];
  /** A release of Debian; without one, this system's own. */
  readonly suite: string | undefined;
  /** What a user can do on a system that is not Debian. */
  readonly advice: string;
  /** Packages that are needed by others and not unpacked: the system's own are used. */
  readonly leaveOut?: readonly string[];
}

/**
 * Unpacks packages with everything they need into `folder`, without installing them: apt works on a state of its own
 * in which nothing is installed, so neither root nor a change to the system is needed.
 */
export async function unpackDebianPackages(
  folder: string,
  { packages, suite, advice, leaveOut = [] }: DebianPackages,
  { env, progress, reaper, signal }: ReapedPreparation,
): Promise<void> {
  const mirror = await findDebianMirror(advice, env);
  const release = suite ?? mirror.codename;
  const apt = join(folder, 'apt');
  const config = writeAptConfiguration(
    apt,
    `[signed-by=${mirror.keyring} target=Packages] ${mirror.uri} ${release} main`,
  );
  const run = async (command: string, ...args: string[]): Promise<void> => {
    const { code, stderr } = await runCommand(command, args, { reaper, signal, env: { ...env, LC_ALL: 'C' } });
    signal?.throwIfAborted();
    if (code === 0) return;
    throw new CodedError('LOCAL_NO_PACKAGES', `${command} ${args.join(' ')} failed:\n${tailOf(stderr)}\n${advice}`);
  };
  progress(`Unpacking ${packages.join(' and ')} of Debian ${release} into the cache. This is needed only once.`);
  await withElapsedTime(
    progress,
    () => `Unpacking ${packages.join(' and ')}`,
    async () => {
      await run('apt-get', '-c', config, 'update');
      await run('apt-get', '-c', config, 'install', '--yes', '--download-only', '--no-install-recommends', ...packages);
      const archives = join(apt, 'cache/archives');
      const wanted = (name: string): boolean => !leaveOut.some((one) => name.startsWith(`${one}_`));
      for (const file of readdirSync(archives).filter((name) => name.endsWith('.deb') && wanted(name))) {
        await run('dpkg-deb', '--extract', join(archives, file), folder);
      }
    },
  );
  rmSync(apt, { recursive: true });
}

function writeAptConfiguration(apt: string, source: string): string {
  for (const part of ['state/lists/partial', 'cache/archives/partial', 'log']) {
    mkdirSync(join(apt, part), { recursive: true });
  }
  writeFileSync(join(apt, 'status'), '');
  writeFileSync(join(apt, 'sources.list'), `deb ${source}\n`);
  const settings = {
    'Dir::State': join(apt, 'state'),
    'Dir::State::status': join(apt, 'status'),
    'Dir::Cache': join(apt, 'cache'),
    'Dir::Log': join(apt, 'log'),
    'Dir::Etc::sourcelist': join(apt, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
    'Dir::Etc::preferences': '-',
    'Dir::Etc::preferencesparts': '-',
    'Acquire::Languages': 'none',
    // Run by root, apt downloads as another user, who could not write here.
    'APT::Sandbox::User': 'root',
  };
  // What the system hooks into apt is about the system's packages.
  const cleared = ['APT::Update', 'DPkg::Pre-Invoke', 'DPkg::Post-Invoke', 'DPkg::Pre-Install-Pkgs'];
  const lines = [
    ...cleared.map((name) => `#clear ${name};`),
    ...Object.entries(settings).map(([name, value]) => `${name} "${value}";`),
  ];
  const config = join(apt, 'apt.conf');
  writeFileSync(config, `${lines.join('\n')}\n`);
  return config;
}
