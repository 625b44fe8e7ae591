// Everything that must pass: the static checks, then the tests from the fastest to the slowest. With arguments, only the
// test files whose path contains one of them: npm test -- informer e2e/faults
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { findBinaries } from '../hack/local/binaries.ts';
import { findChromium } from '../hack/local/chromium.ts';
import { findDatabasePrograms } from '../hack/local/database-programs.ts';
import { findHelm } from '../hack/local/helm.ts';
import { progressOnStderr } from '../hack/local/progress.ts';

const root = join(import.meta.dirname, '..');
const wanted = process.argv.slice(2).filter((argument) => argument !== '--');

/** From the fastest to the slowest. */
const suites: readonly { readonly folder: string; readonly servers: boolean; readonly concurrency: number }[] = [
  { folder: 'unit', servers: false, concurrency: 2 },
  { folder: 'property', servers: false, concurrency: 2 },
  { folder: 'contract', servers: true, concurrency: 1 },
  { folder: 'integration', servers: true, concurrency: 2 },
  { folder: 'e2e', servers: true, concurrency: 2 },
];

function filesOf(folder: string): readonly string[] {
  return globSync(`test/${folder}/**/*.test.ts`, { cwd: root })
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
    .sort();
}

function run(title: string, args: readonly string[]): void {
  process.stdout.write(`\n== ${title}\n`);
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) {
    process.stdout.write(`\n${title} failed.\n`);
    process.exit(1);
  }
}

/** Builds or unpacks what the servers need, where the wait can be shown; tests have deadlines. */
async function prepareServers(): Promise<void> {
  const preparation = { env: process.env, progress: progressOnStderr, signal: undefined };
  await findBinaries(preparation);
  if (process.env['INGESTER_MYSQL_URL'] === undefined) await findDatabasePrograms('mysql', preparation);
  if (process.env['INGESTER_MARIADB_URL'] === undefined) await findDatabasePrograms('mariadb', preparation);
  await findChromium(preparation);
  await findHelm(preparation);
}

/** A test that hangs fails; the whole crash matrix takes longer than any other. */
const timeoutMs = process.env['CRASH_MATRIX'] === 'write' ? 3_600_000 : 600_000;

const started = performance.now();
if (wanted.length === 0) run('check', ['hack/check.ts']);
let prepared = false;
for (const { folder, servers, concurrency } of suites) {
  const files = filesOf(folder);
  if (files.length === 0) continue;
  if (servers && !prepared) await prepareServers();
  prepared ||= servers;
  run(`${folder} tests`, ['--test', `--test-concurrency=${concurrency}`, `--test-timeout=${timeoutMs}`, ...files]);
}
process.stdout.write(`\nAll passed in ${Math.round((performance.now() - started) / 1000)} s.\n`);
