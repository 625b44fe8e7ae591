// The plugin as a release has it, installed as Krew does: unpacked, and put on PATH by a symbolic link.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { buildProgram } from '../../hack/build/program.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { writePlugin } from '../../hack/release/plugin.ts';
import { sha256Hex } from '../../src/base/hash.ts';

const download = 'https://git.example/ingester/releases/download/v1.2.3';

interface Krew {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly version: string;
    readonly platforms: readonly { readonly uri: string; readonly sha256: string; readonly bin: string }[];
  };
}

describe('the plugin of a release', () => {
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'release-plugin-'));
    await buildProgram(join(folder, 'program'), undefined);
  });
  after(() => rmSync(folder, { recursive: true }));

  it('is one file with the same bytes each time, and no manifest for Krew where nothing says where it will be', async () => {
    const [archive = '', ...more] = await writePlugin({ folder });
    const first = readFileSync(archive);
    await writePlugin({ folder });
    assert.deepEqual([more, sha256Hex(first) === sha256Hex(readFileSync(archive))], [[], true]);
  });

  it('is what the manifest for Krew says, and runs from a link', async () => {
    const [archive = '', manifest = ''] = await writePlugin({ folder, download });
    const { metadata, spec } = parse(readFileSync(manifest, 'utf8')) as Krew;
    const [platform] = spec.platforms;
    assert.ok(platform !== undefined);
    assert.equal(metadata.name, 'ingester');
    assert.equal(platform.uri, `${download}/program.tar.gz`);
    assert.equal(platform.sha256, sha256Hex(readFileSync(archive)));
    const [unpacked, bin] = [join(folder, 'store'), join(folder, 'bin')];
    for (const each of [unpacked, bin]) mkdirSync(each);
    assert.equal((await runCommand('tar', ['-xzf', archive, '-C', unpacked])).code, 0);
    symlinkSync(join(unpacked, platform.bin), join(bin, 'kubectl-ingester'));
    const { stdout, stderr, code } = await runCommand(join(bin, 'kubectl-ingester'), [
      'version',
      '--client',
      '-o',
      'json',
    ]);
    assert.equal(code, 0, stderr);
    assert.equal(`v${(JSON.parse(stdout) as { clientVersion: string }).clientVersion}`, spec.version);
  });

  it('is not packed where there is no program, which is said', async () => {
    const empty = mkdtempSync(join(folder, 'empty-'));
    await assert.rejects(writePlugin({ folder: empty }), /RELEASE_PACK|Cannot pack the program with tar: .*program/);
  });
});
