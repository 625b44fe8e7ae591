// Everything that must pass: the static checks, then the tests from the fastest to the slowest. With arguments, only the
// test files whose path contains one of them: npm test -- informer e2e/faults. Those in test/gitops run by "npm run gitops".
import { spawn, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { preparePrograms, prepareServers } from '../hack/local/prepare.ts';
import { progressOnStderr } from '../hack/local/progress.ts';
import { readResults } from './support/file-results.ts';
import { filesToRepeat } from './support/files-to-repeat.ts';
import { memoryFolder } from './support/memory-folder.ts';

const root = join(import.meta.dirname, '..');
const wanted = process.argv.slice(2).filter((argument) => argument !== '--');

interface Suite {
  readonly files: readonly string[];
  /** Its tests start servers, and what fails in them may run a second time. */
  readonly servers: boolean;
  readonly concurrency: number;
}

const processors = availableParallelism();
/** Tests of servers wait for them a third of the time. */
const withServers = { servers: true, concurrency: processors + 1 };

/** From the fastest to the slowest. */
const suites: readonly (Omit<Suite, 'files'> & { readonly folders: readonly string[] })[] = [
  { folders: ['unit'], servers: false, concurrency: processors },
  { folders: ['property'], servers: false, concurrency: processors },
  { folders: ['contract', 'integration'], ...withServers },
  { folders: ['e2e', 'attack'], ...withServers },
  { folders: ['gitops'], servers: true, concurrency: 1 },
];

/** Those that take minutes begin, so that none is left alone at the end. */
const slow = /runtime-faults|crash-matrix|migrate-kill|lifecycle|installed|documented|uninstall-is-whole/;

/** A file that hangs fails, one on a slow machine does not; the whole crash matrix takes longer than any other. */
const timeoutMs = process.env['CRASH_MATRIX'] === 'write' ? 3_600_000 : 600_000;

function filesOf(folder: string): readonly string[] {
  if (folder === 'gitops' && wanted.length === 0) return [];
  return globSync(`test/${folder}/**/*.test.ts`, { cwd: root }).filter(
    (file) => wanted.length === 0 || wanted.some((part) => file.includes(part)),
  );
}

function bySlowness(left: string, right: string): number {
  return Number(slow.test(right)) - Number(slow.test(left)) || left.localeCompare(right);
}

const inMemory = memoryFolder();
const temporary = inMemory ?? tmpdir();
process.on('exit', () => {
  if (inMemory !== undefined) rmSync(inMemory, { recursive: true, force: true });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

function succeeds(title: string, args: readonly string[]): boolean {
  process.stdout.write(`\n== ${title}\n`);
  const env = { ...process.env, TMPDIR: temporary };
  return spawnSync(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0;
}

function fail(title: string): never {
  process.stdout.write(`\n${title} failed.\n`);
  process.exit(1);
}

/** What each file took, in milliseconds. */
const took = new Map<string, number>();
/** So many of the slowest files are named at the end. */
const NAMED = 10;

/** Runs test files and returns those that failed; undefined where the run failed and no file is to blame. */
function failedFiles(title: string, files: readonly string[], concurrency: number): readonly string[] | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'ingester-test-run-'));
  const list = join(folder, 'results');
  const reporters = [
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...[`--test-reporter=${join(root, 'test/support/file-results.ts')}`, `--test-reporter-destination=${list}`],
  ];
  try {
    const limits = [`--test-concurrency=${concurrency}`, `--test-timeout=${timeoutMs}`];
    const passed = succeeds(title, ['--test', ...limits, ...reporters, ...files]);
    const results = readResults(readFileSync(list, 'utf8'));
    for (const [file, ms] of results.took) took.set(relative(root, file), ms);
    if (passed) return [];
    return results.failed.size === 0 ? undefined : [...results.failed].map((file) => relative(root, file));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs one suite to its end, or ends the program. Returns the files that passed only the second time. */
function runSuite(title: string, { files, servers, concurrency }: Suite): readonly string[] {
  const first = failedFiles(title, files, concurrency);
  const repeated = servers && wanted.length === 0 ? filesToRepeat(first) : [];
  if (first?.length === 0) return [];
  if (repeated.length === 0) fail(title);
  if (failedFiles(`${repeated.join(', ')}, a second time`, repeated, 1)?.length !== 0) fail(title);
  return repeated;
}

/** Gets ready what a suite needs, where the wait can be shown; tests have deadlines. */
async function prepare(folders: readonly string[]): Promise<void> {
  const preparation = { env: process.env, progress: progressOnStderr, signal: undefined };
  await prepareServers(preparation);
  if (!folders.includes('integration')) await preparePrograms(preparation, folders.includes('gitops'));
}

/** What is not there yet is built while the checks and the first suites run. */
function prepareBeside(): void {
  const child = spawn(process.execPath, ['hack/local/prepare.ts'], { cwd: root, stdio: 'ignore' });
  child.unref();
  process.on('exit', () => child.kill());
}

const started = performance.now();
if (wanted.length === 0) prepareBeside();
if (wanted.length === 0 && !succeeds('check', ['hack/check.ts'])) fail('check');
const unstable: string[] = [];
for (const { folders, servers, concurrency } of suites) {
  const files = folders.flatMap(filesOf).sort(bySlowness);
  if (files.length === 0) continue;
  if (servers) await prepare(folders);
  unstable.push(...runSuite(`${folders.join(' and ')} tests`, { files, servers, concurrency }));
}
const slowest = [...took].sort(([, left], [, right]) => right - left).slice(0, NAMED);
process.stdout.write('\nThe slowest files:\n');
for (const [file, ms] of slowest) process.stdout.write(`${(ms / 1000).toFixed(1).padStart(8)} s  ${file}\n`);
for (const file of unstable) process.stdout.write(`\nPassed only the second time, see its first run above: ${file}\n`);
process.stdout.write(`\nAll passed in ${Math.round((performance.now() - started) / 1000)} s.\n`);
