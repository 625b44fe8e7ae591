// The webhook beside a bare HTTPS server in the same run, and what it adds to a create through a real API server.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createAuthority } from '../../hack/local/certificates.ts';
import { startControlPlane } from '../../hack/local/control-plane.ts';
import { freePort } from '../../hack/local/free-port.ts';
import { type Reaper, startReaper } from '../../hack/local/reaper.ts';
import { createRole, probe } from '../../hack/local/role-process.ts';
import type { ServerProcess } from '../../hack/local/server-process.ts';
import { applyManifests, startWebhook, writeKeyPair } from '../../hack/local/webhook-process.ts';
import { CodedError } from '../../src/base/errors.ts';
import { ApiServer, contentTypes, pathOf } from '../support/api-server.ts';
import { aManifest, kind } from '../support/cluster.ts';
import { startSlowBodies } from '../support/slow-bodies.ts';
import {
  createOf,
  type Load,
  type LoadResult,
  peakResidentMib,
  residentMib,
  run,
  type Target,
} from './admission-load.ts';
import { type Bench, type BenchReport, median, quantile, rounded } from './report.ts';
import { untilKindsAreFound } from './settled.ts';
import { buildShipped, type ShippedProgram } from './shipped.ts';

const ROUNDS = 5;
const STARTS = 5;
const WARM_UP = 2000;
const RESIDENT_AFTER = 100_000;
const CREATES_PER_SECOND = 50;
const CREATE_SECONDS = 10;
const KIB = 1024;

interface Size {
  readonly name: string;
  readonly bytes: number;
  /** Calls of one round at each concurrency. */
  readonly requests: number;
  readonly concurrencies: readonly number[];
}

const sizes: readonly Size[] = [
  { name: '4 KiB', bytes: 4 * KIB, requests: 3000, concurrencies: [1, 16, 64] },
  { name: '200 KiB', bytes: 200 * KIB, requests: 300, concurrencies: [1, 16, 64] },
  { name: '1.4 MiB', bytes: 1.4 * KIB * KIB, requests: 64, concurrencies: [1, 16, 64] },
];

interface Place {
  readonly directory: string;
  readonly reaper: Reaper;
}

/** A directory, and processes that end with it. */
async function within<T>(work: (place: Place) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'bench-admission-'));
  const reaper = startReaper(directory);
  try {
    return await work({ directory, reaper });
  } finally {
    rmSync(directory, { recursive: true, force: true });
    await reaper.dismiss();
  }
}

function targetOf(pid: number | undefined, port: number): Target {
  if (pid === undefined) throw new CodedError('BENCH_FAILED', 'a server did not start');
  return { pid, port };
}

async function startBare(certDir: string): Promise<{ readonly child: ChildProcess; readonly target: Target }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'admission-bare.ts'), certDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, target: targetOf(child.pid, Number(line.toString())) };
}

interface Servers {
  readonly webhook: Target;
  readonly bare: Target;
  readonly ca: string;
}

async function measureHandler(report: BenchReport, program: ShippedProgram): Promise<void> {
  await within(async (place) => {
    const certDir = join(place.directory, 'tls');
    mkdirSync(certDir);
    const authority = await createAuthority('bench-ca');
    writeKeyPair(certDir, await authority.issue({ commonName: 'bench', hosts: ['127.0.0.1'] }));
    const { process: server, port, readyMs } = await startMeasured(place, certDir, program);
    const { child, target: bare } = await startBare(certDir);
    try {
      report.figure('ready_ms', rounded(readyMs, 0));
      const servers = { webhook: targetOf(server.pid, port), bare, ca: authority.caPem };
      await warmUp(servers);
      const ratios: number[] = [];
      report.figure('rss_mib', rounded(await residentAfterMany(servers), 0));
      for (const size of sizes) ratios.push(...(await compare(report, size, servers)));
      report.figure('p99_vs_bare_4k', rounded(Math.max(...ratios.slice(0, 3))));
    } finally {
      child.stdin?.end();
      await server.stop();
    }
  });
}

interface Started {
  readonly process: ServerProcess;
  readonly port: number;
  readonly readyMs: number;
}

/** Starts the webhook several times; the last one runs on. */
async function startMeasured(place: Place, certDir: string, program: ShippedProgram): Promise<Started> {
  const [port, healthPort] = [await freePort(), await freePort()];
  const configuration = { server: { bindAddress: `127.0.0.1:${port}`, certDir }, webhook: { shutdownDelay: '0s' } };
  const { main, env } = program;
  const process = createRole({ role: 'webhook', main, ...place, configuration, healthPort, env });
  await process.start();
  const times: number[] = [];
  for (let start = 0; start < STARTS; start += 1) {
    await process.stop();
    const started = performance.now();
    const running = process.start();
    while ((await probe(healthPort, '/readyz')).status !== 200) await delay(5);
    times.push(performance.now() - started);
    await running;
  }
  return { process, port, readyMs: median(times) };
}

async function warmUp({ webhook, bare, ca }: Servers): Promise<void> {
  const load: Load = { body: createOf(4 * KIB), requests: WARM_UP, concurrency: 16, ca };
  await run(bare, load);
  await run(webhook, load);
}

/** Both in turn, so that whatever else the machine does hits them alike. One p99 ratio for each concurrency. */
async function compare(report: BenchReport, size: Size, { webhook, bare, ca }: Servers): Promise<readonly number[]> {
  const body = createOf(size.bytes);
  const ratios: number[] = [];
  const cpu: number[] = [];
  for (const concurrency of size.concurrencies) {
    const load = { body, requests: size.requests, concurrency, ca };
    const rounds: { readonly ours: LoadResult; readonly theirs: LoadResult }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      rounds.push({ ours: await run(webhook, load), theirs: await run(bare, load) });
    }
    const of = (share: number, which: 'ours' | 'theirs'): number =>
      median(rounds.map((round) => quantile(round[which].latencies, share)));
    const ratio = median(
      rounds.map(({ ours, theirs }) => quantile(ours.latencies, 0.99) / quantile(theirs.latencies, 0.99)),
    );
    ratios.push(ratio);
    cpu.push(...rounds.map(({ ours }) => ours.cpuPer1000));
    report.row({
      object: size.name,
      concurrency,
      'p50 ms': rounded(of(0.5, 'ours')),
      'p99 ms': rounded(of(0.99, 'ours')),
      'bare p50 ms': rounded(of(0.5, 'theirs')),
      'bare p99 ms': rounded(of(0.99, 'theirs')),
      'p99 / bare': rounded(ratio),
      'calls/s': rounded(median(rounds.map(({ ours }) => ours.perSecond)), 0),
      'CPU s/1000': rounded(median(rounds.map(({ ours }) => ours.cpuPer1000)), 3),
      'bare CPU s/1000': rounded(median(rounds.map(({ theirs }) => theirs.cpuPer1000)), 3),
    });
  }
  const figures: Readonly<Record<string, string>> = { '4 KiB': '4k', '200 KiB': '200k', '1.4 MiB': '1400k' };
  report.figure(`cpu_s_per_1k_${figures[size.name] ?? size.name}`, rounded(median(cpu)));
  return ratios;
}

async function residentAfterMany({ webhook, ca }: Servers): Promise<number> {
  await run(webhook, { body: createOf(4 * KIB), requests: RESIDENT_AFTER, concurrency: 16, ca });
  return residentMib(webhook.pid);
}

const UNGUARDED = 'unguarded';
const GUARDED = 'guarded';

/** Creates in two namespaces at the same time; the webhook is registered for one of them. */
async function measureCreates(report: BenchReport, { main, env }: ShippedProgram): Promise<void> {
  await within(async (place) => {
    const controlPlane = await startControlPlane({ progress: (text) => report.note(text) });
    // As it is deployed; startWebhook logs every request for those who look for mistakes.
    const webhook = await startWebhook({ ...place, configuration: { log: { level: 'info' } }, main, env });
    const api = new ApiServer(controlPlane.kubeconfig);
    try {
      await applyManifests(controlPlane, join(place.directory, 'config/overlays/local'));
      await leaveOut(api, UNGUARDED);
      await createsAtRate(api, 'warm-up');
      await untilKindsAreFound(controlPlane);
      const all: Latencies = { guarded: [], unguarded: [] };
      for (let round = 0; round < ROUNDS; round += 1) {
        const { guarded, unguarded } = await createsAtRate(api, `round-${round}`);
        all.guarded.push(...guarded);
        all.unguarded.push(...unguarded);
        const say = (share: number): string =>
          `p${share * 100} ${rounded(quantile(guarded, share))} ms with and ${rounded(quantile(unguarded, share))} ms without`;
        report.note(`${CREATES_PER_SECOND} creates/s of each, round ${round + 1}: ${say(0.5)}; ${say(0.99)}`);
      }
      // Of all rounds together: the p99 of one of them is the fifth of 500, and another one each time.
      report.figure('added_p99_ms_50rps', rounded(quantile(all.guarded, 0.99) - quantile(all.unguarded, 0.99)));
      const over = (share: number): number => rounded(quantile(all.guarded, share) / quantile(all.unguarded, share));
      report.figure('added_p50_ratio', over(0.5));
      report.figure('added_p99_ratio', over(0.99));
    } finally {
      api.close();
      await webhook.process.stop();
      await controlPlane.stop();
    }
  });
}

const ATTACKERS = 200;
const ATTACKED_CREATES = 200;
const ATTACKED_MIB = 7;

/** Creates through the API server while clients without rights send bodies that never end. */
async function measureAttack(report: BenchReport, { main, env }: ShippedProgram): Promise<void> {
  await within(async (place) => {
    const controlPlane = await startControlPlane({ progress: (text) => report.note(text) });
    const webhook = await startWebhook({ ...place, configuration: { log: { level: 'info' } }, main, env });
    const api = new ApiServer(controlPlane.kubeconfig);
    const bytes = ATTACKED_MIB * KIB * KIB;
    await applyManifests(controlPlane, join(place.directory, 'config/overlays/local'));
    await api.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: GUARDED } } });
    await untilKindsAreFound(controlPlane);
    const attack = startSlowBodies({ port: webhook.port, connections: ATTACKERS, bytes, piece: 16 * KIB });
    try {
      while (attack.opened < ATTACKERS) await delay(50);
      let served = 0;
      for (let index = 0; index < ATTACKED_CREATES; index += 1) {
        const body = aManifest('Model', GUARDED, `attacked-${index}`, { spec: { description: 'x'.repeat(3 * KIB) } });
        const { status } = await api.call({ method: 'POST', path: pathOf(kind('Model'), GUARDED), body });
        if (status === 201) served += 1;
      }
      report.figure('attacked_creates_ok', served / ATTACKED_CREATES);
      report.figure('attacked_rss_mib', rounded(peakResidentMib(webhook.process.pid ?? 0), 0));
    } finally {
      attack.stop();
      api.close();
      await webhook.process.stop();
      await controlPlane.stop();
    }
  });
}

/** No webhook is called for objects of this namespace. */
async function leaveOut(api: ApiServer, namespace: string): Promise<void> {
  for (const name of [UNGUARDED, GUARDED]) {
    await api.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } });
  }
  const value = {
    matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [namespace] }],
  };
  const body = [{ op: 'add', path: '/webhooks/0/namespaceSelector', value }];
  const registrations = '/apis/admissionregistration.k8s.io/v1';
  for (const registration of [
    'mutatingwebhookconfigurations/ingester-finalizer',
    'validatingwebhookconfigurations/ingester-rules',
  ]) {
    const path = `${registrations}/${registration}`;
    await api.must({ method: 'PATCH', path, body, contentType: contentTypes.json });
  }
}

interface Latencies {
  readonly guarded: number[];
  readonly unguarded: number[];
}

/** Sends at fixed times whether or not the earlier ones are answered, as users do; the two namespaces in turn. */
async function createsAtRate(api: ApiServer, round: string): Promise<Latencies> {
  const started = performance.now();
  const create = async (namespace: string, dueMs: number, name: string): Promise<number> => {
    await delay(Math.max(started + dueMs - performance.now(), 0));
    const sent = performance.now();
    const body = aManifest('Model', namespace, name, { spec: { description: 'x'.repeat(3 * KIB) } });
    await api.must({ method: 'POST', path: pathOf(kind('Model'), namespace), body });
    return performance.now() - sent;
  };
  const series = (namespace: string, offset: number): Promise<number[]> =>
    Promise.all(
      Array.from({ length: CREATES_PER_SECOND * CREATE_SECONDS }, (_, index) =>
        create(namespace, ((index + offset) * 1000) / CREATES_PER_SECOND, `${round}-${index}`),
      ),
    );
  const [guarded, unguarded] = await Promise.all([series(GUARDED, 0), series(UNGUARDED, 0.5)]);
  return { guarded, unguarded };
}

export const admissionBench: Bench = {
  name: 'admission',
  run: async (report) => {
    report.note(`POST /mutate over TLS with connections kept open, ${ROUNDS} paired rounds; figures are medians.`);
    report.note('Client, webhook and API server are processes of this machine and share its processors.');
    const program = await buildShipped('webhook');
    try {
      // First, while this process, which sends them, has no garbage of large bodies to collect.
      await measureCreates(report, program);
      await measureHandler(report, program);
      await measureAttack(report, program);
    } finally {
      program.remove();
    }
  },
};
