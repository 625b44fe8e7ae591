// Everything that must pass: the static checks, then the tests from the fastest to the slowest. With arguments, only the
// test files whose path contains one of them: npm test -- informer e2e/faults. Those in test/gitops run by "npm run gitops",
// those in test/kind by "npm run kind", those in test/vitess by "npm run vitess".
import { spawn, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildProgram } from '../hack/build/program.ts';
import { findGoProgram, findGoPrograms, goPrograms } from '../hack/local/go-program.ts';
import { preparePrograms, prepareServers } from '../hack/local/prepare.ts';
import { progressOnStderr } from '../hack/local/progress.ts';
import { vitessPrograms } from '../hack/local/vitess/programs.ts';
import { memoryFolder } from './support/memory-folder.ts';
import { apart, type Suite, suites } from './support/suites.ts';
import { type FileResults, filesToRepeat, runTestFiles, runTestFilesTogether } from './support/test-files.ts';

const root = join(import.meta.dirname, '..');
const wanted = process.argv.slice(2).filter((argument) => argument !== '--');

/** Those that take minutes begin, so that none is left alone at the end. */
const slow =
  /runtime-faults|crash-matrix|migrate-|snapshots|clone|lifecycle|installed|documented|operations|query.test|uninstall/;

/** They have servers of their own: a cluster of containers, or Docker. */
const withContainers = process.env['E2E_KUBECONFIG'] !== undefined || wanted.some((part) => part.startsWith('kind/'));

/** A file that hangs fails, one on a slow machine does not; the whole crash matrix, and containers, take longer. */
const timeoutMs = process.env['CRASH_MATRIX'] === 'write' || withContainers ? 3_600_000 : 1_200_000;

function filesOf(folder: string): readonly string[] {
  if (apart.includes(folder) && wanted.length === 0) return [];
  return globSync(`test/${folder}/**/*.test.ts`, { cwd: root }).filter(
    (file) => wanted.length === 0 || wanted.some((part) => file.includes(part)),
  );
}

function bySlowness(left: string, right: string): number {
  return Number(slow.test(right)) - Number(slow.test(left)) || left.localeCompare(right);
}

const stop = new AbortController();
const { signal } = stop;
const inMemory = memoryFolder();
if (inMemory !== undefined) process.env['TMPDIR'] = inMemory;
process.on('exit', () => {
  stop.abort();
  if (inMemory !== undefined) rmSync(inMemory, { recursive: true, force: true });
});
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => process.exit(1));

function announce(title: string): void {
  process.stdout.write(`\n== ${title}\n`);
}

function fail(title: string): never {
  process.stdout.write(`\n${title} failed.\n`);
  process.exit(1);
}

/** What each file took, in milliseconds. */
const took = new Map<string, number>();
/** So many of the slowest files are named at the end. */
const NAMED = 10;

type Run = Omit<Suite, 'folders' | 'servers'> & { readonly files: readonly string[] };

async function results(title: string, { files, concurrency, together = false }: Run): Promise<FileResults> {
  announce(title);
  const runFiles = together ? runTestFilesTogether : runTestFiles;
  const found = await runFiles({ root, files, concurrency, timeoutMs, signal });
  for (const [file, ms] of found.took) took.set(file, ms);
  return found;
}

/** Runs one suite to its end, or ends the program. Returns the files that passed only the second time. */
async function runSuite(
  title: string,
  { servers, ...suite }: Run & Pick<Suite, 'servers'>,
): Promise<readonly string[]> {
  const first = await results(title, suite);
  if (first.passed) return [];
  const repeated = servers && wanted.length === 0 ? filesToRepeat(first.failed) : [];
  if (repeated.length === 0) fail(title);
  const second = await results(`${repeated.join(', ')}, a second time`, { files: repeated, concurrency: 1 });
  if (!second.passed) fail(title);
  return repeated;
}

/** Roles, pods and commands of the tests run the program as it is shipped. */
async function useBuiltProgram(): Promise<void> {
  if (process.env['TEST_PROGRAM'] !== undefined) return;
  const folder = mkdtempSync(join(tmpdir(), 'ingester-program-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  await buildProgram(folder, undefined);
  process.env['TEST_PROGRAM'] = folder;
}

/** Gets ready what a suite needs, where the wait can be shown; tests have deadlines. */
async function prepare(folders: readonly string[]): Promise<void> {
  const preparation = { env: process.env, progress: progressOnStderr, signal: undefined };
  await prepareServers(preparation);
  const integration = folders.includes('integration');
  if (integration && wanted.length === 0) await findGoProgram(goPrograms.promtool, preparation);
  if (folders.includes('vitess')) await findGoPrograms(vitessPrograms, preparation);
  else if (!integration) await preparePrograms(preparation, folders.includes('gitops'));
}

/** What is not there yet is built while the checks and the first suites run. */
function prepareBeside(): void {
  const child = spawn(process.execPath, ['hack/local/prepare.ts'], { cwd: root, stdio: 'ignore' });
  child.unref();
  process.on('exit', () => child.kill());
}

function check(): void {
  announce('check');
  const { status } = spawnSync(process.execPath, ['hack/check.ts'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) fail('check');
}

const started = performance.now();
if (wanted.length === 0) prepareBeside();
if (wanted.length === 0) check();
const unstable: string[] = [];
for (const { folders, ...suite } of suites) {
  const files = folders.flatMap(filesOf).sort(bySlowness);
  if (files.length === 0) continue;
  if (suite.servers) await useBuiltProgram();
  if (suite.servers && !withContainers) await prepare(folders);
  unstable.push(...(await runSuite(`${folders.join(' and ')} tests`, { ...suite, files })));
}
const slowest = [...took].sort(([, left], [, right]) => right - left).slice(0, NAMED);
if (slowest.length > 0) process.stdout.write('\nThe slowest files:\n');
for (const [file, ms] of slowest) process.stdout.write(`${(ms / 1000).toFixed(1).padStart(8)} s  ${file}\n`);
for (const file of unstable) process.stdout.write(`\nPassed only the second time, see its first run above: ${file}\n`);
process.stdout.write(`\nAll passed in ${Math.round((performance.now() - started) / 1000)} s.\n`);
