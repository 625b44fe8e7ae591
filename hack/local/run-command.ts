import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Reaper } from './reaper.ts';

export interface CommandOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
  /** Gives the command a process group of its own, ended should this process die. */
  readonly reaper?: Reaper;
  /** Ends the command and its process group. */
  readonly signal?: AbortSignal | undefined;
  readonly onStderr?: (text: string) => void;
}

export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

const killedCode = 137;
const notFoundCode = 127;

/** Runs a command to its end. A failure is a code to look at, never an exception; 127 when it is not there. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const { reaper, signal } = options;
  const child = spawnCommand(command, args, options);
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
    options.onStderr?.(text);
  });
  child.stdin.on('error', () => undefined).end(options.input ?? '');
  const closed = once(child, 'close') as Promise<[number | null]>;
  const end = (): void => endCommand(child, reaper !== undefined);
  signal?.addEventListener('abort', end);
  if (child.pid !== undefined) void reaper?.add(child.pid);
  try {
    const [code] = await closed;
    return { ...output, code: code ?? killedCode };
  } catch (error) {
    return { ...output, stderr: String(error), code: notFoundCode };
  } finally {
    signal?.removeEventListener('abort', end);
    if (child.pid !== undefined) reaper?.drop(child.pid);
  }
}

function spawnCommand(
  command: string,
  args: readonly string[],
  { cwd, env = process.env, reaper }: CommandOptions,
): ChildProcessWithoutNullStreams {
  const where = cwd === undefined ? {} : { cwd };
  return spawn(command, args, { ...where, env, detached: reaper !== undefined, stdio: 'pipe' });
}

function endCommand(child: ChildProcess, leadsGroup: boolean): void {
  if (leadsGroup && child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  else child.kill('SIGKILL');
}
