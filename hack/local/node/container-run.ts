// One run of one container: a process behind a shim (shim.sh). Everything worth knowing about it is in its folder, so
// that a node that is started anew reads there what still runs and how the rest ended.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, type ProcessIdentity, readIdentity, signalProcess } from './process-identity.ts';

const shim = join(import.meta.dirname, 'shim.sh');
const startFailedCode = 128;
/** What container engines report for a container that they lost. */
const lostCode = 137;
/** Longest text of a termination message, and of the log that may stand in for one. */
const messageBytes = 4096;
const messageLines = 80;

/** Written when the run begins. */
export interface RunFacts {
  readonly number: number;
  readonly image: string;
  readonly startedAt: string;
  /** It never became a process. */
  readonly startError?: string;
  readonly messageFrom: 'File' | 'FallbackToLogsOnError';
}

export type RunState =
  | { readonly kind: 'running'; readonly startedAt: string }
  | {
      readonly kind: 'ended';
      readonly startedAt: string;
      readonly finishedAt: string;
      readonly exitCode: number;
      readonly reason: 'Completed' | 'Error' | 'StartError' | 'ContainerStatusUnknown';
      readonly message: string;
    };

export type Ended = Extract<RunState, { readonly kind: 'ended' }>;

export interface LaunchPlan {
  /** Program and arguments that put the process into place and become it. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export class ContainerRun {
  readonly folder: string;
  readonly facts: RunFacts;
  #ended: Ended | undefined;

  private constructor(folder: string, facts: RunFacts) {
    this.folder = folder;
    this.facts = facts;
  }

  /** Makes the folder of a run that begins. */
  static create(folder: string, facts: RunFacts): ContainerRun {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'facts.json'), JSON.stringify(facts));
    for (const name of ['log', 'termination-log']) writeFileSync(join(folder, name), '', { mode: 0o666 });
    return new ContainerRun(folder, facts);
  }

  /** Undefined where a node died before the run began. */
  static read(folder: string): ContainerRun | undefined {
    const text = textOf(join(folder, 'facts.json'));
    return text === undefined || text === '' ? undefined : new ContainerRun(folder, JSON.parse(text) as RunFacts);
  }

  get logFile(): string {
    return join(this.folder, 'log');
  }

  get messageFile(): string {
    return join(this.folder, 'termination-log');
  }

  /** The container's own process; undefined before it runs. */
  get main(): ProcessIdentity | undefined {
    return readIdentity(join(this.folder, 'main.pid'));
  }

  /** Settled once the process runs. `onExit` is called when it has ended, unless the node ended first. */
  async launch({ command, env }: LaunchPlan, onExit: () => void): Promise<void> {
    const child = spawn('sh', [shim, this.folder, ...command], {
      cwd: '/',
      env: { ...env },
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.once('exit', onExit);
    child.unref();
    await this.#letGo(child);
  }

  async #letGo(child: ChildProcess): Promise<void> {
    child.stdin?.on('error', () => undefined);
    const known = (): boolean => readIdentity(join(this.folder, 'shim.pid')) !== undefined;
    for (let wait = 1; !known() && child.exitCode === null; wait = Math.min(wait * 2, 20)) await after(wait);
    child.stdin?.end('go\n');
    for (let wait = 1; this.main === undefined && child.exitCode === null; wait = Math.min(wait * 2, 20)) {
      await after(wait);
    }
  }

  state(): RunState {
    this.#ended ??= this.#readEnd();
    return this.#ended ?? { kind: 'running', startedAt: this.facts.startedAt };
  }

  /** To its first process, as `kubectl delete` does it; to all of them to make an end. */
  signal(signal: NodeJS.Signals): void {
    const { main } = this;
    if (main !== undefined) signalProcess(main, signal, signal === 'SIGKILL' ? 'group' : 'one');
  }

  #readEnd(): Ended | undefined {
    const { startedAt, startError } = this.facts;
    if (startError !== undefined) {
      const message = startError;
      return {
        kind: 'ended',
        startedAt,
        finishedAt: startedAt,
        exitCode: startFailedCode,
        reason: 'StartError',
        message,
      };
    }
    const exit = textOf(join(this.folder, 'exit'));
    if (exit !== undefined) return this.#endOf(exit);
    const { main } = this;
    const shimIdentity = readIdentity(join(this.folder, 'shim.pid'));
    // A shim that lives will still write how it ended.
    if (shimIdentity === undefined || isAlive(shimIdentity) || (main !== undefined && isAlive(main))) return undefined;
    const late = textOf(join(this.folder, 'exit'));
    if (late !== undefined) return this.#endOf(late);
    const [reason, message] = ['ContainerStatusUnknown', 'The container could not be located'] as const;
    return { kind: 'ended', startedAt, finishedAt: new Date().toISOString(), exitCode: lostCode, reason, message };
  }

  #endOf(text: string): Ended {
    const [code = '', seconds = ''] = text.trim().split(' ');
    const exitCode = Number(code);
    return {
      kind: 'ended',
      startedAt: this.facts.startedAt,
      finishedAt: new Date(Number(seconds) * 1000).toISOString(),
      exitCode,
      reason: exitCode === 0 ? 'Completed' : 'Error',
      message: this.#terminationMessage(exitCode),
    };
  }

  #terminationMessage(exitCode: number): string {
    const written = tailOf(this.messageFile, messageBytes);
    if (written !== '' || exitCode === 0 || this.facts.messageFrom === 'File') return written;
    return tailOf(this.logFile, messageBytes).split('\n').slice(-messageLines).join('\n');
  }
}

function tailOf(file: string, bytes: number): string {
  try {
    const { size } = statSync(file);
    const buffer = Buffer.alloc(Math.min(size, bytes));
    const descriptor = openSync(file, 'r');
    readSync(descriptor, buffer, 0, buffer.length, size - buffer.length);
    closeSync(descriptor);
    return buffer.toString('utf8');
  } catch {
    return '';
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
