// The watch-to-reconcile machinery, beside the informer of the client library in the same run.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '../../hack/local/certificates.ts';
import { kubeconfigText } from '../../hack/local/kubeconfig.ts';
import { systemClock } from '../../src/base/clock.ts';
import { CodedError } from '../../src/base/errors.ts';
import { WorkQueue } from '../../src/runtime/work-queue.ts';
import { type Bench, type BenchReport, inTurns, median, ratios } from './report.ts';

/** The first third is not measured, so that both run compiled code. */
const EVENTS = 150_000;
const ROUNDS = 5;
const OBJECTS = 100_000;
const CALLS = 1000;
const QUEUE_KEYS = 100_000;
/** No measurement takes longer, whatever goes wrong. */
const LIMIT_MS = 60_000;

type Figures = Readonly<Record<string, number>>;

const file = (name: string): string => join(import.meta.dirname, name);

/** Runs the work against a scripted server with so many listed objects and events after them. */
async function withServer<T>(
  listed: number,
  events: number,
  work: (kubeconfig: string, port: number) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  const authority = await createAuthority('bench-ca');
  const { certificatePem, keyPem } = await authority.issue({ commonName: 'bench', hosts: ['127.0.0.1'] });
  writeFileSync(join(folder, 'tls.crt'), certificatePem);
  writeFileSync(join(folder, 'tls.key'), keyPem);
  const server = spawn(process.execPath, [file('watch-server.ts'), folder, String(listed), String(events)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    const port = Number(line.toString());
    const url = `https://127.0.0.1:${port}`;
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, kubeconfigText({ url, caPem: authority.caPem, user: { name: 'bench', token: 'none' } }));
    return await work(kubeconfig, port);
  } finally {
    server.stdin.end();
    rmSync(folder, { recursive: true });
  }
}

async function measure(what: string, kubeconfig: string, count: number): Promise<Figures> {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--expose-gc', file('watch-client.ts'), what, kubeconfig, String(count)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: LIMIT_MS,
    },
  );
  let output = '';
  child.stdout?.on('data', (text: Buffer) => (output += text.toString()));
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new CodedError('BENCH_FAILED', `measuring "${what}" failed`);
  return JSON.parse(output) as Figures;
}

async function compareWithLibrary(report: BenchReport): Promise<Figures> {
  const run = (what: string) => () => withServer(0, EVENTS, (kubeconfig) => measure(what, kubeconfig, EVENTS));
  const { ours, library, reading } = await inTurns(ROUNDS, {
    ours: run('ours'),
    library: run('library'),
    reading: run('reading'),
  });
  const of = (runs: readonly Figures[], name: string): number => median(runs.map((run) => run[name] ?? Number.NaN));
  const cpu = (runs: readonly Figures[]): readonly number[] =>
    runs.map(({ cpuMicrosPerEvent = Number.NaN }) => cpuMicrosPerEvent);
  report.rounds('cpu_vs_client_informer_tls', ratios(cpu(ours), cpu(library)));
  return {
    events_per_second: of(ours, 'eventsPerSecond'),
    cpu_us_per_event: of(ours, 'cpuMicrosPerEvent'),
    cpu_us_per_event_reading_objects: of(reading, 'cpuMicrosPerEvent'),
    client_informer_events_per_second: of(library, 'eventsPerSecond'),
    client_informer_cpu_us_per_event: of(library, 'cpuMicrosPerEvent'),
  };
}

async function measureSync(): Promise<Figures> {
  const run = await withServer(OBJECTS, 0, (kubeconfig) => measure('sync', kubeconfig, OBJECTS));
  return {
    sync_100k_seconds: run['seconds'] ?? Number.NaN,
    sync_100k_cpu_seconds: run['cpuSeconds'] ?? Number.NaN,
    mb_per_10k_idle: run['mbPer10k'] ?? Number.NaN,
    longest_block_ms: run['longestBlockMs'] ?? Number.NaN,
  };
}

function connectionsOf(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: '/connections', rejectUnauthorized: false, agent: false } as const;
    get(options, (response) => {
      response.on('data', (body: Buffer) =>
        resolve((JSON.parse(body.toString()) as { connections: number }).connections),
      );
    }).on('error', reject);
  });
}

async function measureConnections(): Promise<Figures> {
  return withServer(0, 0, async (kubeconfig, port) => {
    await measure('calls', kubeconfig, CALLS);
    // The question itself came over one more connection.
    return { connections_per_1000_calls: (await connectionsOf(port)) - 1 };
  });
}

/** One operation is an add, and one is handing out and finishing. */
async function measureQueue(): Promise<Figures> {
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const queue = new WorkQueue(systemClock);
    const started = performance.now();
    for (let key = 0; key < QUEUE_KEYS; key += 1) queue.add(`namespace/object-${key}`);
    for (let taken = 0; taken < QUEUE_KEYS; taken += 1) queue.done((await queue.get())?.key ?? '');
    rates.push((2 * QUEUE_KEYS) / ((performance.now() - started) / 1000));
  }
  return { queue_operations_per_second: median(rates) };
}

export const runtimeBench: Bench = {
  name: 'runtime',
  run: async (report) => {
    report.note(
      `Watch → queue → no-op reconcile, objects of about 4 KB over TLS, ${EVENTS} events, of which the first 50,000 are not measured, ${ROUNDS} paired runs.`,
    );
    report.note('Server and client are processes of this machine and share its processors. Figures are medians.');
    for (const part of [compareWithLibrary, measureSync, measureConnections, measureQueue]) {
      for (const [name, value] of Object.entries(await part(report))) report.figure(name, value);
    }
  },
};
