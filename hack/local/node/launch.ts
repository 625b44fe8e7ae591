// Builds the command line that makes the machine look like the container's file system and becomes its process.

import { spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute, join, posix } from 'node:path';
import { type EntryKind, type Listing, type Mirror, type MountAt, planMirror } from './mirror.ts';

/** How a private mount namespace can be had here; undefined where it cannot. */
export type Unshare = readonly string[] | undefined;

// Without a user namespace for the administrator, with one for other users.
const ways = [
  ['unshare', '--mount', '--uts', '--propagation=private'],
  ['unshare', '--user', '--map-root-user', '--mount', '--uts', '--propagation=private'],
] as const;

export function findUnshare(): Unshare {
  return ways.find(([command, ...args]) => {
    const attempt = spawnSync(command, [...args, 'sh', '-c', 'mount --rbind /usr /usr'], { stdio: 'ignore' });
    return attempt.status === 0;
  });
}

// The last steps run inside of the namespace. The fstab makes it one process for all mounts.
const enter = `[ -z "$HOSTNAME" ] || echo "$HOSTNAME" >/proc/sys/kernel/hostname
fstab=$1 root=$2 where=$3; shift 3
mount --all --fstab "$fstab" >/dev/null 2>"$fstab.errors" || { echo "the volumes could not be mounted:"; cat "$fstab.errors"; exit 128; }
exec chroot "$root" sh -c 'cd "$1" || exit 128; shift; exec "$@"' sh "$where" "$@"`;

export interface Place {
  /** Folder of the run. */
  readonly folder: string;
  readonly mounts: readonly MountAt[];
  readonly workingDir: string | undefined;
  readonly unshare: Unshare;
}

/** Prepares the folder and gives the command line around `command`. */
export function placeCommand(place: Place, command: readonly string[]): readonly string[] {
  const { folder, workingDir = '/', unshare } = place;
  if (unshare === undefined) {
    linkVolumes(podRootOf(folder), place.mounts);
    return [
      'sh',
      '-c',
      'cd "$1" || exit 128; shift; exec "$@"',
      'sh',
      existsSync(workingDir) ? workingDir : '/',
      ...command,
    ];
  }
  const root = join(folder, 'root');
  const mirror = planMirror(place.mounts, machine);
  buildSkeleton(root, mirror);
  if (!existsSync(posix.join(root, workingDir)) && !existsSync(workingDir))
    mkdirSync(posix.join(root, workingDir), { recursive: true });
  const fstab = join(folder, 'fstab');
  const lines = mirror.mounts.map(
    ({ from, path, options }) => `${escaped(from)} ${escaped(root + path)} none ${options} 0 0`,
  );
  writeFileSync(fstab, `${lines.join('\n')}\n`);
  return [...unshare, 'sh', '-c', enter, 'sh', fstab, root, workingDir, ...command];
}

/** Where volumes are below, without private mounts: the variable POD_ROOT of the container names it. */
export function podRootOf(folder: string): string {
  return join(folder, 'pod-root');
}

/** Runs `command` where the process runs that `pid` is. */
export function joinCommand(pid: number, unshare: Unshare, command: readonly string[]): readonly string[] {
  if (unshare === undefined) return command;
  const user = unshare.includes('--user') ? ['--user', '--preserve-credentials'] : [];
  return ['nsenter', `--target=${pid}`, ...user, '--mount', '--root', '--wd', ...command];
}

/** The file that a command's name means, as a shell would find it; undefined where there is none. */
export function findCommand(name: string, path: string, workingDir: string | undefined): string | undefined {
  if (name.includes('/')) {
    const file = isAbsolute(name) ? name : join(workingDir ?? '/', name);
    return isExecutableFile(file) ? file : undefined;
  }
  return path
    .split(':')
    .map((folder) => join(folder, name))
    .find(isExecutableFile);
}

function isExecutableFile(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function buildSkeleton(root: string, { steps, mountPoints }: Mirror): void {
  mkdirSync(root, { recursive: true });
  for (const step of steps) {
    const path = join(root, step.path);
    if (step.make === 'link') symlinkSync(step.to, path);
    else makePoint(step.make, path);
  }
  for (const { make, path } of mountPoints) makePoint(make, path);
  // Writable by every user, as on a machine.
  if (existsSync(join(root, 'tmp'))) chmodSync(join(root, 'tmp'), 0o1777);
}

function makePoint(make: 'folder' | 'file', path: string): void {
  if (existsSync(path)) return;
  mkdirSync(make === 'folder' ? path : dirname(path), { recursive: true });
  if (make === 'file') writeFileSync(path, '');
}

function linkVolumes(podRoot: string, mounts: readonly MountAt[]): void {
  rmSync(podRoot, { recursive: true, force: true });
  for (const { from, path } of [...mounts].sort((left, right) => left.path.length - right.path.length)) {
    const link = join(podRoot, path);
    mkdirSync(dirname(link), { recursive: true });
    if (!existsSync(link)) symlinkSync(from, link);
  }
}

const machine: Listing = {
  kind: (path) => kindOf(path),
  entries: (folder) => {
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  },
  resolve: resolveExisting,
};

function kindOf(path: string): EntryKind | undefined {
  try {
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) return { linkTo: readlinkSync(path) };
    return stat.isDirectory() ? 'folder' : 'file';
  } catch {
    return undefined;
  }
}

function resolveExisting(path: string): string {
  const clean = posix.normalize(path).replace(/(?<=.)\/$/, '');
  try {
    return realpathSync(clean);
  } catch {
    const parent = posix.dirname(clean);
    return parent === clean ? clean : posix.join(resolveExisting(parent), posix.basename(clean));
  }
}

/** As fstab wants blanks and backslashes. */
function escaped(path: string): string {
  return path.replace(/[\\ \t\n]/g, (sign) => `\\${sign.charCodeAt(0).toString(8).padStart(3, '0')}`);
}
