// The short way after a change: types of everything, lint of the files that changed, and the unit tests that
// reach them. `npm run unit` compares with the last commit, `npm run unit -- main` with another one, and
// `npm run unit -- --watch` runs again whenever a file is saved.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, globSync, watch } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = join(import.meta.dirname, '..');
const folders = ['src', 'webhooks', 'schema', 'hack', 'test'];
const watches = process.argv.includes('--watch');
const base = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? 'HEAD';
const SETTLED_MS = 200;

interface Job {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
}

function git(...args: readonly string[]): readonly string[] {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n').filter(Boolean);
}

function changedFiles(): readonly string[] {
  const changed = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')];
  return [...new Set(changed)].filter((file) => existsSync(join(root, file)));
}

/** The test files that import one of the files, over any number of steps, or are one of them. */
async function testsThatReach(files: ReadonlySet<string>): Promise<readonly string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: globSync('test/unit/**/*.test.ts', { cwd: root }),
    outdir: 'never-written',
    bundle: true,
    write: false,
    metafile: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  });
  return Object.values(metafile.outputs)
    .filter(({ inputs }) => Object.keys(inputs).some((input) => files.has(input)))
    .flatMap(({ entryPoint }) => entryPoint ?? []);
}

async function jobsFor(files: readonly string[]): Promise<readonly Job[]> {
  const code = files.filter((file) => file.endsWith('.ts'));
  if (code.length === 0) return [];
  const tests = await testsThatReach(new Set(code));
  return [
    { name: 'types', program: '../typescript-native/bin/tsc', args: ['--noEmit'] },
    { name: 'format', program: 'biome', args: ['check', '--no-errors-on-unmatched', ...code] },
    { name: 'lint', program: 'oxlint', args: ['--deny-warnings', '--no-error-on-unmatched-pattern', ...code] },
    ...(tests.length === 0
      ? []
      : [
          {
            name: `tests of ${tests.length} files`,
            program: 'node',
            args: ['--test', '--test-isolation=none', '--test-reporter=dot', ...tests],
          },
        ]),
  ];
}

/** Resolves with whether it passed; prints a line, and all that it said where it failed. */
function run({ name, program, args }: Job): Promise<boolean> {
  const started = performance.now();
  const child = spawn(join(root, 'node_modules/.bin', program), args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const said: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => said.push(part));
  child.stderr.on('data', (part: Buffer) => said.push(part));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      process.stdout.write(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)\n`);
      if (code !== 0) process.stdout.write(Buffer.concat(said));
      resolve(code === 0);
    });
  });
}

async function runOnce(): Promise<boolean> {
  const jobs = await jobsFor(changedFiles());
  if (jobs.length === 0)
    process.stdout.write(`No TypeScript file differs from ${base}. "npm test -- test/unit/" runs all.\n`);
  const passed = await Promise.all(jobs.map((job) => run(job)));
  return passed.every(Boolean);
}

/** Runs again after each change, one run at a time. */
function runOnChange(): void {
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();
  const again = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      running = running.then(async () => {
        process.stdout.write('\n');
        await runOnce();
      });
    }, SETTLED_MS);
  };
  for (const folder of folders) watch(join(root, folder), { recursive: true }, again);
  again();
}

if (watches) runOnChange();
else process.exitCode = (await runOnce()) ? 0 : 1;
