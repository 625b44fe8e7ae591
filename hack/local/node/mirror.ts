// How a container's file system is made of the machine's: everything of the machine at its place, and the volumes at
// theirs. A volume's path that does not exist on the machine cannot be mounted over, and must not be created there. So
// the folders above it are made anew in a skeleton, and what was in them is mounted back one by one. Pure.
import { posix } from 'node:path';

/** One mount: what the machine has at `from` is seen at `path`. */
export interface MountAt {
  readonly from: string;
  readonly path: string;
  readonly kind: 'folder' | 'file';
  readonly readOnly: boolean;
}

export type EntryKind = 'folder' | 'file' | { readonly linkTo: string };

/** The machine's file system. */
export interface Listing {
  /** Undefined where there is nothing. */
  kind(path: string): EntryKind | undefined;
  entries(folder: string): readonly string[];
  /** With every symbolic link of the existing part followed. */
  resolve(path: string): string;
}

export type SkeletonStep =
  | { readonly make: 'folder' | 'file'; readonly path: string }
  | { readonly make: 'link'; readonly path: string; readonly to: string };

export interface Mirror {
  /** What the skeleton must have, in order. */
  readonly steps: readonly SkeletonStep[];
  /** Mount points to make inside of volumes, as paths of the machine. */
  readonly mountPoints: readonly { readonly make: 'folder' | 'file'; readonly path: string }[];
  /** In the order in which they must be mounted. */
  readonly mounts: readonly { readonly from: string; readonly path: string; readonly options: string }[];
}

type Mounts = { from: string; path: string; options: string }[];

export function planMirror(volumes: readonly MountAt[], listing: Listing): Mirror {
  const wanted = volumes
    .map((volume) => ({ ...volume, path: listing.resolve(volume.path) }))
    .sort((left, right) => left.path.length - right.path.length);
  const volumeAbove = (path: string): MountAt | undefined => wanted.findLast((other) => isBelow(path, other.path));
  const lacking = wanted.filter(({ path }) => listing.kind(path) === undefined && volumeAbove(path) === undefined);
  const renewed = new Set(['/', ...lacking.flatMap(({ path }) => foldersAbove(path))]);
  const steps: SkeletonStep[] = [];
  const mounts: Mounts = [];
  for (const folder of [...renewed].sort()) {
    if (folder !== '/') steps.push({ make: 'folder', path: folder });
    if (listing.kind(folder) === 'folder') mountEntries(folder, { renewed, listing, steps, mounts });
  }
  const mountPoints: { make: 'folder' | 'file'; path: string }[] = [];
  for (const { from, path, kind, readOnly } of wanted) {
    const outer = volumeAbove(path);
    if (outer !== undefined) mountPoints.push({ make: kind, path: outer.from + path.slice(outer.path.length) });
    else if (listing.kind(path) === undefined) steps.push({ make: kind, path });
    mounts.push({ from, path, options: readOnly ? 'bind,ro' : 'rbind' });
  }
  return { steps, mountPoints, mounts };
}

interface Plan {
  readonly renewed: ReadonlySet<string>;
  readonly listing: Listing;
  readonly steps: SkeletonStep[];
  readonly mounts: Mounts;
}

/** Puts what the machine has in a folder back into the folder that stands for it. */
function mountEntries(folder: string, { renewed, listing, steps, mounts }: Plan): void {
  for (const name of listing.entries(folder)) {
    const path = posix.join(folder, name);
    const kind = listing.kind(path);
    if (kind === undefined || renewed.has(path)) continue;
    if (typeof kind === 'object') steps.push({ make: 'link', path, to: kind.linkTo });
    else {
      steps.push({ make: kind, path });
      mounts.push({ from: path, path, options: 'rbind' });
    }
  }
}

function isBelow(path: string, folder: string): boolean {
  return path !== folder && path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function foldersAbove(path: string): string[] {
  const parent = posix.dirname(path);
  return parent === '/' ? ['/'] : [...foldersAbove(parent), parent];
}
