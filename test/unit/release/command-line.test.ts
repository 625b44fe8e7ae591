// npm run release, until it begins to build.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type CommandResult, runCommand } from '../../../hack/local/run-command.ts';
import { readCommandLine } from '../../../hack/release/command-line.ts';
import { imageParts } from '../../../hack/release/image.ts';

const main = join(import.meta.dirname, '../../../hack/release/main.ts');
const digest = `sha256:${'0a'.repeat(32)}`;

describe('npm run release', () => {
  const release = (...args: readonly string[]): Promise<CommandResult> => runCommand(process.execPath, [main, ...args]);

  it('says what its options are, and what it writes', async () => {
    const { code, stdout, stderr } = await release('--help');
    assert.deepEqual([code, stderr], [0, '']);
    for (const word of ['--image', '--folder', '--download', '--kubectl', 'install.yaml', 'chart/', 'krew.yaml']) {
      assert.ok(stdout.includes(word), word);
    }
  });

  it('refuses a mistake in one line, with exit code 2, before it builds anything', async () => {
    const { code, stdout, stderr } = await release('--imag', 'registry.example/name:1.2.3');
    assert.deepEqual([code, stdout], [2, '']);
    assert.equal(stderr, `Unknown option '--imag'. "npm run release -- --help" names the options.\n`);
  });

  for (const args of [['--image'], ['--image', '--folder'], ['registry.example/name:1.2.3']]) {
    it(`answers in one line: ${args.join(' ')}`, () => {
      assert.throws(() => readCommandLine(args), {
        message: /^[^\n]+\. "npm run release -- --help" names the options\.$/,
      });
    });
  }

  for (const image of [
    '',
    'registry.example/name',
    'registry.example/name@sha256:…',
    'registry.example/name@sha256:abc',
    `registry.example/name@sha512:${'0a'.repeat(32)}`,
    `registry.example/name@${digest}0`,
    `registry.example/Name@${digest}`,
    'registry.example/name:',
    'registry.example/name:1.2.3 ',
    'https://registry.example/name:1.2.3',
    'registry.example:5000/name',
  ]) {
    it(`refuses the image "${image}"`, () => {
      assert.throws(() => readCommandLine([`--image=${image}`]), { code: 'RELEASE_IMAGE', message: /64 hexadecimal/ });
    });
  }

  it('takes images with a tag, a digest or both, of which the digest counts', () => {
    assert.equal(readCommandLine([`--image=name@${digest}`]).image, `name@${digest}`);
    const parts = ['name:1.2.3', `registry.example:5000/a/b-c__d@${digest}`, `registry.example/name:1.2.3@${digest}`];
    assert.deepEqual(parts.map(imageParts), [
      { newName: 'name', newTag: '1.2.3' },
      { newName: 'registry.example:5000/a/b-c__d', digest },
      { newName: 'registry.example/name', digest },
    ]);
  });
});
