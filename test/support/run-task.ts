// A task as a Job runs it: a process of its own, with its database in the environment.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programFile } from '../../hack/local/program.ts';
import type { MysqlAccess } from '../../src/storage/mysql/access.ts';

export interface TaskRan {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The last line of stdout. */
  readonly result: Readonly<Record<string, unknown>>;
  /** What the kubelet would show. */
  readonly termination: string;
}

export interface RunningTask {
  readonly child: ChildProcess;
  readonly ended: Promise<TaskRan>;
}

export function databaseEnv(access: MysqlAccess): Record<string, string> {
  return {
    INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE: 'true',
    INGESTER_MYSQL_HOST: access.host,
    INGESTER_MYSQL_PORT: String(access.port),
    INGESTER_MYSQL_USER: access.user,
    INGESTER_MYSQL_PASSWORD: typeof access.password === 'string' ? access.password : access.password(),
    INGESTER_MYSQL_DATABASE: access.database,
  };
}

export function startTask(args: readonly string[], env: Readonly<Record<string, string>>): RunningTask {
  const directory = mkdtempSync(join(tmpdir(), 'ingester-task-'));
  const log = join(directory, 'termination-log');
  writeFileSync(log, '');
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [programFile('main'), ...args], {
    env: { PATH, TERMINATION_LOG: log, ...env },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = once(child, 'close').then(([code, signal]): TaskRan => {
    const termination = readFileSync(log, 'utf8');
    rmSync(directory, { recursive: true });
    const result = parsed(stdout.trimEnd().split('\n').at(-1) ?? '');
    return {
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      stdout,
      stderr,
      result,
      termination,
    };
  });
  return { child, ended };
}

export function runTask(args: readonly string[], env: Readonly<Record<string, string>>): Promise<TaskRan> {
  return startTask(args, env).ended;
}

function parsed(line: string): Readonly<Record<string, unknown>> {
  return line.startsWith('{') ? (JSON.parse(line) as Readonly<Record<string, unknown>>) : {};
}
