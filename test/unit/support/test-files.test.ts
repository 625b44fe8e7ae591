import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { filesToRepeat } from '../../support/test-files.ts';

describe('a run with failures', () => {
  it('repeats one file or two', () => {
    assert.deepEqual(filesToRepeat(['a']), ['a']);
    assert.deepEqual(filesToRepeat(['a', 'b']), ['a', 'b']);
  });

  it('repeats nothing where many failed, or it is unknown which', () => {
    assert.deepEqual(filesToRepeat(['a', 'b', 'c']), []);
    assert.deepEqual(filesToRepeat([]), []);
  });

  it('names every file with a failure, also a file that did not even load, and begins the files in the order given', () => {
    const root = mkdtempSync(join(tmpdir(), 'ingester-test-files-'));
    const order = `import { appendFileSync } from 'node:fs'; appendFileSync(${JSON.stringify(join(root, 'order'))},`;
    const test = "import { it } from 'node:test'; it('is run', () => {";
    const files = {
      'good.test.mjs': `${order} 'good '); ${test} });`,
      'bad.test.mjs': `${order} 'bad '); ${test} throw Error('x'); });`,
      'broken.test.mjs': "import './missing.mjs';",
    };
    try {
      for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
      const options = JSON.stringify({ root, files: Object.keys(files), concurrency: 1, timeoutMs: 60_000 });
      const program = `import { runTestFiles } from ${JSON.stringify(join(import.meta.dirname, '../../support/test-files.ts'))};
        const { passed, failed, took } = await runTestFiles(${options});
        process.stderr.write(JSON.stringify({ passed, failed, took: [...took.keys()] }));`;
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      writeFileSync(join(root, 'run.mjs'), program);
      const { stderr } = spawnSync(process.execPath, [join(root, 'run.mjs')], { env, encoding: 'utf8' });
      assert.deepEqual(JSON.parse(stderr), {
        passed: false,
        failed: ['bad.test.mjs', 'broken.test.mjs'],
        took: ['good.test.mjs', 'bad.test.mjs'],
      });
      assert.equal(readFileSync(join(root, 'order'), 'utf8'), 'good bad ');
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});

describe('files that share a process', () => {
  const run = (files: Readonly<Record<string, string>>): { readonly passed: unknown; readonly stdout: string } => {
    const root = mkdtempSync(join(tmpdir(), 'ingester-test-files-'));
    try {
      for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
      const options = JSON.stringify({ root, files: Object.keys(files), concurrency: 2, timeoutMs: 60_000 });
      const program = `import { runTestFilesTogether } from ${JSON.stringify(join(import.meta.dirname, '../../support/test-files.ts'))};
        const { passed } = await runTestFilesTogether(${options});
        process.stderr.write(JSON.stringify(passed));`;
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      writeFileSync(join(root, 'run.mjs'), program);
      const { stdout, stderr } = spawnSync(process.execPath, [join(root, 'run.mjs')], { env, encoding: 'utf8' });
      return { passed: JSON.parse(stderr), stdout };
    } finally {
      rmSync(root, { recursive: true });
    }
  };
  const test = "import { it } from 'node:test'; it('is run', () => {";
  const good = `${test} });`;

  it('pass where each passes, and each is run', () => {
    const { passed, stdout } = run({ 'a.test.mjs': good, 'b.test.mjs': good, 'c.test.mjs': good });
    assert.equal(passed, true);
    assert.equal(stdout.match(/✔ is run/g)?.length, 3);
  });

  it('fail where one fails, and the output names its file', () => {
    const { passed, stdout } = run({ 'a.test.mjs': good, 'bad.test.mjs': `${test} throw Error('x'); });` });
    assert.equal(passed, false);
    assert.match(stdout, /test at bad\.test\.mjs:1/);
  });

  it('fail where the process ends before the last test, whatever its exit code', () => {
    const { passed } = run({ 'a.test.mjs': `${test} process.exit(0); });`, 'b.test.mjs': good });
    assert.equal(passed, false);
  });
});
