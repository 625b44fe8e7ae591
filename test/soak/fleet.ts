// The reconcilers under load: one, or several that share the work. Of those a kubelet would start again what ends by itself,
// as a replica does that has lost its slot.
import { setTimeout as delay } from 'node:timers/promises';
import type { Bundle } from '../../hack/local/bundle.ts';
import type { ServerProcess } from '../../hack/local/server-process.ts';
import type { Random } from './random.ts';

const LOOK_MS = 200;
const RBAC = 'config/components/active-replicas/rbac.yaml';

/** Of the bundle, where several share the work. */
export const shared = { leaderElection: { enabled: true, active: 'all' } } as const;

export class Fleet {
  readonly processes: readonly ServerProcess[];
  /** Which stay down until they are revived. */
  readonly #down = new Set<ServerProcess>();
  readonly #starting = new Map<ServerProcess, Promise<void>>();
  readonly #over = new AbortController();
  readonly #keeping: Promise<void>;

  constructor(processes: readonly ServerProcess[]) {
    this.processes = processes;
    this.#keeping = this.shares ? this.#keepRunning() : Promise.resolve();
  }

  /** With the reconciler of the bundle, which is not started yet, and others beside it. */
  static async start(bundle: Bundle, count: number): Promise<Fleet> {
    const processes = [bundle.reconciler];
    for (let number = 2; number <= count; number += 1)
      processes.push((await bundle.createReplica(`replica-${number}`)).process);
    await bundle.kubectl('apply', '-f', RBAC);
    await Promise.all(processes.map((process) => process.start()));
    return new Fleet(processes);
  }

  get shares(): boolean {
    return this.processes.length > 1;
  }

  /** One of them ends, and stays down. */
  async end(random: Random, how: 'crash' | 'stop'): Promise<void> {
    const process = this.#one(random);
    this.#down.add(process);
    await this.#starting.get(process);
    await process[how]();
  }

  async revive(): Promise<void> {
    const down = [...this.#down];
    this.#down.clear();
    await Promise.all(down.map((process) => this.#start(process)));
  }

  /** One of them does nothing for a while; answers how it goes on. */
  freeze(random: Random): () => void {
    const process = this.#one(random);
    process.kill('SIGSTOP');
    return () => process.kill('SIGCONT');
  }

  /** Nothing is started any more. */
  async close(): Promise<void> {
    this.#over.abort();
    await this.#keeping;
    await Promise.all(this.#starting.values());
  }

  #one(random: Random): ServerProcess {
    return random.pick(this.processes.map((process) => [1, process] as const));
  }

  async #keepRunning(): Promise<void> {
    while (!this.#over.signal.aborted) {
      for (const process of this.processes) if (!process.running && !this.#down.has(process)) void this.#start(process);
      await delay(LOOK_MS);
    }
  }

  /** What does not get ready in time runs all the same, or is started again. */
  #start(process: ServerProcess): Promise<void> {
    const starting = this.#starting.get(process) ?? this.#begin(process);
    this.#starting.set(process, starting);
    return starting;
  }

  async #begin(process: ServerProcess): Promise<void> {
    try {
      await process.start();
    } catch (error) {
      if (!this.shares) throw error;
    } finally {
      this.#starting.delete(process);
    }
  }
}
