// A browser without a window, for the tests of the page: the one on PATH, else packages of Debian unpacked in the cache.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { cacheDirectory } from './cache-directory.ts';
import { cachedFolder } from './cached-folder.ts';
import { unpackDebianPackages } from './debian-packages.ts';
import { findExecutables } from './executable.ts';
import type { Preparation } from './preparation.ts';

const names = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
const packages = ['chromium-headless-shell', 'fonts-dejavu-core'];
const advice = 'Put chromium or google-chrome on PATH, and try again.';

/** Its helpers are started by its own path, so it cannot run under a program loader of its own as the databases do. */
const leaveOut = ['libc6'];

export interface BrowserProgram {
  readonly command: string;
  /** Over the environment of this process; its files go into `directory`. */
  readonly environment: (directory: string) => Readonly<Record<string, string>>;
}

export async function findChromium(preparation: Preparation): Promise<BrowserProgram> {
  const folders = (preparation.env['PATH'] ?? '').split(':').filter((folder) => folder !== '');
  const installed = findExecutables(names, folders)[0];
  if (installed !== undefined) return { command: installed, environment: () => ({}) };
  const path = join(cacheDirectory(preparation.env), 'debian-packages', `chromium-own-${process.arch}`);
  const root = await cachedFolder(
    {
      path,
      what: 'chromium',
      fill: (folder, reaped) => {
        return unpackDebianPackages(folder, { packages, suite: undefined, advice, leaveOut }, reaped);
      },
    },
    preparation,
  );
  const command = findExecutables(names, [join(root, 'usr/lib/chromium'), join(root, 'usr/bin')])[0];
  if (command === undefined) throw new CodedError('LOCAL_NO_PACKAGES', `There is no chromium in ${root}.\n${advice}`);
  return { command, environment: (directory) => unpackedEnvironment(root, directory) };
}

function unpackedEnvironment(root: string, directory: string): Readonly<Record<string, string>> {
  const triplet = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }[process.arch as 'x64' | 'arm64'];
  const libraries = [`usr/lib/${triplet}`, `lib/${triplet}`, `usr/lib/${triplet}/pulseaudio`];
  const fonts = join(directory, 'fonts.conf');
  mkdirSync(directory, { recursive: true });
  const places = `<dir>${join(root, 'usr/share/fonts')}</dir><cachedir>${join(directory, 'fonts')}</cachedir>`;
  writeFileSync(fonts, `<?xml version="1.0"?>\n<fontconfig>${places}</fontconfig>\n`);
  return {
    LD_LIBRARY_PATH: libraries
      .map((folder) => join(root, folder))
      .filter((folder) => existsSync(folder))
      .join(':'),
    FONTCONFIG_FILE: fonts,
    HOME: directory,
  };
}
