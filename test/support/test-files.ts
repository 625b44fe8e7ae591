// Runs test files, each in a process of its own or many in one, and says which failed and which of them may run a second
// time.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, relative } from 'node:path';
import { run } from 'node:test';
import { spec as Spec } from 'node:test/reporters';

export interface TestFiles {
  readonly root: string;
  /** Relative to the root; begun in this order, which the command line of Node's test runner would sort by name. */
  readonly files: readonly string[];
  readonly concurrency: number;
  /** Of one process. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface FileResults {
  readonly passed: boolean;
  readonly failed: readonly string[];
  /** Milliseconds of each file that was run to its end. */
  readonly took: ReadonlyMap<string, number>;
}

/** Prints what each test brings. */
export async function runTestFiles({ root, files, concurrency, timeoutMs, signal }: TestFiles): Promise<FileResults> {
  const failed = new Set<string>();
  const took = new Map<string, number>();
  const ended: boolean[] = [];
  const absolute = files.map((file) => join(root, file));
  const events = run({ cwd: root, files: absolute, concurrency, timeout: timeoutMs, ...(signal && { signal }) });
  events.on('test:fail', ({ file }) => {
    if (file !== undefined) failed.add(relative(root, file));
  });
  events.on('test:summary', ({ file, duration_ms: ms, success }) => {
    if (file === undefined) ended.push(success);
    else took.set(relative(root, file), ms);
  });
  for await (const text of events.compose(new Spec())) process.stdout.write(String(text));
  return { passed: ended.length > 0 && ended.every(Boolean), failed: [...failed], took };
}

/**
 * For files that start nothing and leave nothing: a process for each would take four times the processor time. Each of
 * `concurrency` processes has its share of the files. Prints where each failed test is; no file is named or timed.
 */
export async function runTestFilesTogether(options: TestFiles): Promise<FileResults> {
  const { files, concurrency } = options;
  const shares = Array.from({ length: concurrency }, (_, share) =>
    files.filter((_file, index) => index % concurrency === share),
  );
  const passed = await Promise.all(
    shares.filter((share) => share.length > 0).map((share) => runShare({ ...options, files: share })),
  );
  return { passed: passed.every(Boolean), failed: [], took: new Map() };
}

/** A process that ends before its last test has no summary. */
const SUMMARY = /^\S+ fail 0$/m;

async function runShare({ root, files, timeoutMs, signal }: TestFiles): Promise<boolean> {
  const args = ['--test', '--test-isolation=none', '--test-reporter=spec', ...files];
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: timeoutMs,
    ...(signal && { signal }),
  });
  child.on('error', () => undefined);
  const output: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => output.push(part));
  const [code] = (await once(child, 'close')) as [number | null];
  const text = Buffer.concat(output).toString();
  process.stdout.write(text);
  return code === 0 && SUMMARY.test(text);
}

/** Where more files fail, something is broken. */
const MOST = 2;

/** Few files that failed on real servers, never many, and none where the run failed and no file is to blame. */
export function filesToRepeat(failed: readonly string[]): readonly string[] {
  return failed.length > MOST ? [] : failed;
}
