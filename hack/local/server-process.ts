import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeSync } from 'node:fs';
import { CodedError } from '../../src/base/errors.ts';
import { logTail, readLog } from './log-tail.ts';
import type { Reaper } from './reaper.ts';
import { waitUntil } from './wait-until.ts';

// The server waits for a line before it runs, which is sent once the reaper knows its pid. Were we killed in between,
// the line never comes and the server never starts.
const gate = 'read -r go || exit 1; exec "$0" "$@" </dev/null';

export interface ServerSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly directory: string;
  readonly logFile: string;
  readonly reaper: Reaper;
  /** True once the server answers. */
  readonly ready: () => boolean | Promise<boolean>;
  /** How long it may take to end after SIGTERM before it is killed. */
  readonly stopTimeoutMs?: number;
}

const READY_TIMEOUT_MS = 60_000;
const defaultStopTimeoutMs = 10_000;

/** How a server ended that was not told to. */
export interface ServerDeath {
  readonly server: ServerProcess;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One server, in a process group of its own, that can be started again with the same arguments. */
export class ServerProcess {
  readonly name: string;
  readonly logFile: string;
  /** Settled when it ends for the first time without having been told to. */
  readonly died: Promise<ServerDeath>;
  readonly #spec: ServerSpec;
  readonly #dies = Promise.withResolvers<ServerDeath>();
  #toldToEnd = false;
  #child: ChildProcess | undefined;

  constructor(spec: ServerSpec) {
    this.#spec = spec;
    this.name = spec.name;
    this.logFile = spec.logFile;
    this.died = this.#dies.promise;
  }

  /** Undefined while it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get running(): boolean {
    return this.#child !== undefined;
  }

  /** Starts it unless it runs, and waits until it answers. */
  async start(signal?: AbortSignal): Promise<void> {
    if (this.#child === undefined) await this.#spawn();
    try {
      await this.#waitReady(signal);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Sends a signal and does not wait. */
  kill(signal: NodeJS.Signals): void {
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') this.#toldToEnd = true;
    this.#child?.kill(signal);
  }

  /** Settled once the process is gone. */
  async exited(): Promise<void> {
    if (this.#child !== undefined) await once(this.#child, 'exit');
  }

  /** Kills it. */
  async crash(): Promise<void> {
    const exited = this.exited();
    this.kill('SIGKILL');
    await exited;
  }

  /** Asks it to end and kills it when it does not. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const exited = once(child, 'exit');
    this.kill('SIGTERM');
    // A paused process answers nothing until it continues.
    child.kill('SIGCONT');
    const deadline = setTimeout(() => child.kill('SIGKILL'), this.#spec.stopTimeoutMs ?? defaultStopTimeoutMs);
    await exited;
    clearTimeout(deadline);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async #spawn(): Promise<void> {
    const { command, args, directory, env, logFile, reaper } = this.#spec;
    const log = openSync(logFile, 'a', 0o600);
    writeSync(log, `\n--- ${[command, ...args].join(' ')}\n`);
    const child = spawn('sh', ['-c', gate, command, ...args], {
      cwd: directory,
      env: env ?? process.env,
      detached: true,
      stdio: ['pipe', log, log],
    });
    closeSync(log);
    child.stdin?.on('error', () => undefined);
    if (child.pid === undefined) {
      await once(child, 'spawn');
      return;
    }
    const { pid } = child;
    this.#child = child;
    this.#toldToEnd = false;
    child.once('exit', (code, signal) => {
      this.#child = undefined;
      if (!this.#toldToEnd) this.#dies.resolve({ server: this, code, signal });
      reaper.drop(pid);
    });
    await reaper.add(pid);
    child.stdin?.end('go\n');
  }

  async #waitReady(signal: AbortSignal | undefined): Promise<void> {
    const { name, logFile, ready } = this.#spec;
    let answers = false;
    const settled = async (): Promise<boolean> => {
      if (!this.running) return true;
      answers = await ready();
      return answers && this.running;
    };
    const inTime = await waitUntil(settled, { timeoutMs: READY_TIMEOUT_MS, signal });
    if (inTime && this.running) return;
    const what = inTime ? 'ended while it started' : `did not answer within ${READY_TIMEOUT_MS / 1000} s`;
    throw new ServerStartError(`${name} ${what}. Its last output:\n${logTail(logFile)}`, readLog(logFile));
  }
}

export class ServerStartError extends CodedError {
  /** Another program took the port between choosing and using it. */
  readonly portTaken: boolean;

  constructor(message: string, log: string) {
    super('LOCAL_SERVER_START', message);
    this.portTaken = /address already in use/i.test(log);
  }
}
