// What traces cost the webhook and the reconciler: without them, with one in a hundred, and with all, in turns.
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuthority } from '../../hack/local/certificates.ts';
import { freePort } from '../../hack/local/free-port.ts';
import { startReaper } from '../../hack/local/reaper.ts';
import { createRole, probe } from '../../hack/local/role-process.ts';
import type { ServerProcess } from '../../hack/local/server-process.ts';
import { writeKeyPair } from '../../hack/local/webhook-process.ts';
import { cpuSeconds, createOf, run } from './admission-load.ts';
import { type Bench, type BenchReport, inTurns, median, quantile, rounded } from './report.ts';
import { buildShipped } from './shipped.ts';
import { comingRows, inWorld } from './sync-replay.ts';
import { uids, type World } from './sync-world.ts';

const ROUNDS = 31;
const STARTS = 7;
const CALLS = 2000;
const CONCURRENCY = 16;
const WARM_UP = 20_000;
const BODY_BYTES = 4096;
const REPLAYS = 4;
const OBJECTS = 10_000;
/** Until the last spans are sent; all have it. */
const SETTLED_MS = 2000;

type Variant = 'off' | 'percent' | 'all';
const variants: readonly Variant[] = ['off', 'percent', 'all'];
const labels: Readonly<Record<Variant, string>> = { off: 'off', percent: 'one in a hundred', all: 'all' };

type Env = Readonly<Record<string, string>>;

function environment(variant: Variant, endpoint: string): Env {
  if (variant === 'off') return {};
  const on = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_BSP_SCHEDULE_DELAY: '1000' };
  if (variant === 'all') return on;
  return { ...on, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' };
}

/** Takes everything and looks at nothing. */
async function withCollector(work: (endpoint: string) => Promise<void>): Promise<void> {
  const server = createServer((request, response) => void request.resume().on('end', () => response.end()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const of = <T>(make: (variant: Variant) => T): Readonly<Record<Variant, T>> => ({
  off: make('off'),
  percent: make('percent'),
  all: make('all'),
});

interface Measured {
  readonly process: ServerProcess;
  readonly port: number;
  readonly healthPort: number;
}

/** Shares of the spans that were recorded and did not arrive: what is dropped costs less. */
async function lostShare(healthPort: number): Promise<number> {
  const { body } = await probe(healthPort, '/metrics');
  const [exported = 0, ...lost] = ['exported', 'failed', 'dropped'].map((outcome) =>
    Number(new RegExp(`ingester_trace_spans_total\\{outcome="${outcome}"\\} (\\d+)`).exec(body)?.[1] ?? 0),
  );
  const all = lost.reduce((sum, count) => sum + count, exported);
  return all === 0 ? 0 : 1 - exported / all;
}

async function measureAdmission(report: BenchReport, endpoint: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-traces-'));
  const reaper = startReaper(directory);
  const program = await buildShipped('webhook');
  const { main, env } = program;
  const certDir = join(directory, 'tls');
  mkdirSync(certDir);
  const authority = await createAuthority('bench-ca');
  writeKeyPair(certDir, await authority.issue({ commonName: 'bench', hosts: ['127.0.0.1'] }));
  const create = async (variant: Variant): Promise<Measured> => {
    const [port, healthPort] = [await freePort(), await freePort()];
    const configuration = { server: { bindAddress: `127.0.0.1:${port}`, certDir }, webhook: { shutdownDelay: '0s' } };
    const own = { ...env, ...environment(variant, endpoint) };
    const role = {
      role: 'webhook',
      name: variant,
      main,
      directory,
      reaper,
      configuration,
      healthPort,
      env: own,
    } as const;
    return { process: createRole(role), port, healthPort };
  };
  const servers = { off: await create('off'), percent: await create('percent'), all: await create('all') };
  try {
    const starts = await inTurns(
      STARTS,
      of((variant) => () => readyMs(servers[variant])),
    );
    for (const variant of variants) await servers[variant].process.start();
    const load = { body: createOf(BODY_BYTES), requests: CALLS, concurrency: CONCURRENCY, ca: authority.caPem };
    const call = (variant: Variant, requests = CALLS) => {
      const { process, port } = servers[variant];
      return run({ port, pid: process.pid ?? 0 }, { ...load, requests });
    };
    for (const variant of variants) await call(variant, WARM_UP);
    const rounds = await inTurns(
      ROUNDS,
      of((variant) => () => call(variant)),
    );
    for (const variant of variants) {
      const cpu = rounds[variant].map(({ cpuPer1000 }) => cpuPer1000);
      report.row({
        traces: `admission, ${labels[variant]}`,
        'CPU s/1000': rounded(median(cpu), 3),
        'p99 ms': rounded(median(rounds[variant].map(({ latencies }) => quantile(latencies, 0.99)))),
        'ready ms': rounded(median(starts[variant]), 0),
        'spans lost': rounded(await lostShare(servers[variant].healthPort), 3),
      });
      report.rounds(`admission_cpu_s_per_1k_${variant}`, cpu, 3);
    }
  } finally {
    for (const { process } of Object.values(servers)) await process.stop();
    program.remove();
    rmSync(directory, { recursive: true, force: true });
    await reaper.dismiss();
  }
}

/** From the start of the process until it is ready; then it ends. */
async function readyMs({ process, healthPort }: Measured): Promise<number> {
  const started = performance.now();
  const running = process.start();
  while ((await probe(healthPort, '/readyz')).status !== 200) await delay(5);
  const ready = performance.now() - started;
  await running;
  await process.stop();
  return ready;
}

async function measureSync(report: BenchReport, endpoint: string, objects: number): Promise<void> {
  await inWorld(async (world) => {
    await world.create(uids('traced', objects));
    const replicas = {
      off: await world.bundle.createReplica('off', environment('off', endpoint)),
      percent: await world.bundle.createReplica('percent', environment('percent', endpoint)),
      all: await world.bundle.createReplica('all', environment('all', endpoint)),
    };
    const lost: Record<Variant, number> = { off: 0, percent: 0, all: 0 };
    const rounds = await inTurns(
      REPLAYS,
      of((variant) => async () => {
        const { process, healthPort } = replicas[variant];
        const cpu = await replay(world, process, objects);
        lost[variant] = await lostShare(healthPort);
        await process.stop();
        return cpu;
      }),
    );
    for (const variant of variants) {
      report.row({
        traces: `sync, ${labels[variant]}`,
        'CPU s/1000': rounded(median(rounds[variant]), 3),
        'spans lost': rounded(lost[variant], 3),
      });
      report.rounds(`sync_cpu_s_per_1k_${variant}`, rounds[variant], 3);
    }
  });
}

/** Processor seconds for a thousand objects of a first copy, those of its start among them. */
async function replay(world: World, reconciler: ServerProcess, objects: number): Promise<number> {
  await world.clearTables();
  const stored = await comingRows(world, objects);
  await reconciler.start();
  await stored('every object has a row');
  await delay(SETTLED_MS);
  return (cpuSeconds(reconciler.pid ?? 0) / objects) * 1000;
}

export const tracesBench: Bench = {
  name: 'traces',
  run: async (report, { objects = OBJECTS }) => {
    report.note(
      `Processor seconds of the role, for 1,000 calls of /mutate with ${BODY_BYTES} bytes and 1,000 objects of`,
    );
    report.note('a first copy; spans go to a collector on this machine that takes them and looks at nothing.');
    await withCollector(async (endpoint) => {
      await measureAdmission(report, endpoint);
      await measureSync(report, endpoint, objects);
    });
  },
};
