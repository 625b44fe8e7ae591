// The built program as one file, and the manifest by which Krew installs the plugin of kubectl out of it.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { stringify } from 'yaml';
import { CodedError } from '../../src/base/errors.ts';
import { sha256Hex } from '../../src/base/hash.ts';
import { runCommand } from '../local/run-command.ts';

const ARCHIVE = 'program.tar.gz';
/** The same content is the same file on every machine. For GNU tar. */
const REPRODUCIBLE = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX'];

const DESCRIPTION = `\
Lists, counts, describes and restores objects of Michelangelo that are in MySQL: live ones, evicted
ones and deleted ones. Asks the query API of the bundle, so a user sees what they may see in the
cluster.
`;

export interface Plugin {
  /** Has the folder `program`, and gets the files. */
  readonly folder: string;
  /** Where the files of the release are downloaded from; without it there is no manifest for Krew. */
  readonly download?: string | undefined;
}

/** Resolves to the paths that were written. */
export async function writePlugin({ folder, download }: Plugin): Promise<readonly string[]> {
  const archive = join(folder, ARCHIVE);
  const packed = await pack(folder);
  writeFileSync(archive, packed);
  if (download === undefined) return [archive];
  const { version } = JSON.parse(readFileSync(join(folder, 'program/package.json'), 'utf8')) as { version: string };
  const manifest = join(folder, 'krew.yaml');
  writeFileSync(
    manifest,
    stringify(krewManifest(version, `${download}/${ARCHIVE}`, sha256Hex(packed)), { lineWidth: 0 }),
  );
  return [archive, manifest];
}

async function pack(folder: string): Promise<Buffer> {
  const tar = join(folder, 'program.tar');
  try {
    const { code, stderr } = await runCommand('tar', [...REPRODUCIBLE, '-cf', tar, '-C', folder, 'program']);
    if (code !== 0) throw new CodedError('RELEASE_PACK', `Cannot pack the program with tar: ${stderr.trim()}`);
    return gzipSync(readFileSync(tar), { level: 9 });
  } finally {
    rmSync(tar, { force: true });
  }
}

function krewManifest(version: string, uri: string, sha256: string): object {
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'ingester' },
    spec: {
      version: `v${version}`,
      shortDescription: 'Query and restore objects of Michelangelo that left etcd',
      description: DESCRIPTION,
      caveats: 'The plugin needs Node 20 or newer on PATH, and a cluster with the query API.\n',
      platforms: [
        {
          // It is JavaScript, and started by a shell.
          selector: { matchExpressions: [{ key: 'os', operator: 'In', values: ['linux', 'darwin'] }] },
          uri,
          sha256,
          bin: 'program/bin/kubectl-ingester',
        },
      ],
    },
  };
}
