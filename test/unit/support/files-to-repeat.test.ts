import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { filesToRepeat } from '../../support/files-to-repeat.ts';

describe('a run with failures', () => {
  it('repeats one file or two', () => {
    assert.deepEqual(filesToRepeat(['a']), ['a']);
    assert.deepEqual(filesToRepeat(['a', 'b']), ['a', 'b']);
  });

  it('repeats nothing where many failed, none, or it is unknown which', () => {
    assert.deepEqual(filesToRepeat(['a', 'b', 'c']), []);
    assert.deepEqual(filesToRepeat([]), []);
    assert.deepEqual(filesToRepeat(undefined), []);
  });

  it('reports every file with a failure, also a file that did not even load, and no other', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ingester-failed-files-'));
    const file = async (name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), text);
      return join(folder, name);
    };
    try {
      const good = await file('good.test.mjs', "import { it } from 'node:test'; it('passes', () => {});");
      const bad = await file(
        'bad.test.mjs',
        "import { it } from 'node:test'; it('fails', () => { throw Error('x'); });",
      );
      const broken = await file('broken.test.mjs', "import './missing.mjs';");
      const list = join(folder, 'failed');
      const reporter = join(import.meta.dirname, '../../support/failed-files.ts');
      const to = [`--test-reporter=${reporter}`, `--test-reporter-destination=${list}`];
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const { status } = spawnSync(process.execPath, ['--test', ...to, good, bad, broken], { env });
      assert.equal(status, 1);
      const named = new Set((await readFile(list, 'utf8')).split('\n').filter(Boolean));
      assert.deepEqual([...named].sort(), [bad, broken].sort());
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
