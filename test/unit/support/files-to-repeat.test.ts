import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readResults } from '../../support/file-results.ts';
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

  it('names every file with a failure, also a file that did not even load, and says how long each took', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ingester-file-results-'));
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
      const list = join(folder, 'results');
      const reporter = join(import.meta.dirname, '../../support/file-results.ts');
      const to = [`--test-reporter=${reporter}`, `--test-reporter-destination=${list}`];
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      const { status } = spawnSync(process.execPath, ['--test', ...to, good, bad, broken], { env });
      assert.equal(status, 1);
      const { failed, took } = readResults(await readFile(list, 'utf8'));
      assert.deepEqual([...failed].sort(), [bad, broken].sort());
      assert.ok((took.get(good) ?? 0) > 0 && (took.get(bad) ?? 0) > 0);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
