// Counts what a piece of work costs: time, CPU of the server and of this process, statements.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BundleDatabase } from '../../hack/local/bundle-database.ts';
import type { DatabaseServer } from '../../hack/local/mysql.ts';
import { quantile } from './report.ts';

export interface Cost {
  readonly objectsPerSecond: number;
  /** Milliseconds from the call to the commit, as the caller sees it. */
  readonly p50: number;
  readonly p99: number;
  /** Microseconds of CPU per object. NaN where the server is external. */
  readonly serverMicros: number;
  readonly clientMicros: number;
  readonly statementsPerObject: number;
}

const CLOCK_TICK_MICROS = 10_000;

export class Meter {
  readonly #server: DatabaseServer;
  readonly #database: BundleDatabase;

  constructor(server: DatabaseServer, database: BundleDatabase) {
    this.#server = server;
    this.#database = database;
  }

  /** Runs the work for all items with this many callers at once. */
  async measure<T>(
    items: readonly T[],
    callers: number,
    work: (item: T, caller: number) => Promise<unknown>,
  ): Promise<Cost> {
    const latencies: number[] = [];
    const statements = await this.#questions();
    const serverCpu = this.#serverMicros();
    const clientCpu = process.cpuUsage();
    const started = performance.now();
    let next = 0;
    const call = async (caller: number): Promise<void> => {
      for (let item = items[next++]; item !== undefined; item = items[next++]) {
        const before = performance.now();
        await work(item, caller);
        latencies.push(performance.now() - before);
      }
    };
    await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
    const seconds = (performance.now() - started) / 1000;
    const used = process.cpuUsage(clientCpu);
    const serverUsed = this.#serverMicros() - serverCpu;
    return {
      objectsPerSecond: items.length / seconds,
      p50: quantile(latencies, 0.5),
      p99: quantile(latencies, 0.99),
      serverMicros: serverUsed / items.length,
      clientMicros: (used.user + used.system) / items.length,
      statementsPerObject: ((await this.#questions()) - statements) / items.length,
    };
  }

  async #questions(): Promise<number> {
    const [row] = await this.#database.query("SHOW GLOBAL STATUS LIKE 'Questions'");
    return Number(row?.['Value']);
  }

  #serverMicros(): number {
    const { directory } = this.#server;
    if (directory === undefined) return Number.NaN;
    const pid = readFileSync(join(directory, 'server.pid'), 'utf8').trim();
    // After the name in parentheses, user and system time are the 12th and 13th field.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MICROS;
  }
}
