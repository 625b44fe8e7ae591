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

/** Namespaces: no webhook is called for the first, a bare one for the second, ours for the third. */
const namespaces = ['unguarded', 'bare', 'guarded'] as const;
const [UNGUARDED, BARE, GUARDED] = namespaces;

/** Creates in three namespaces at the same time. The bare webhook tells what the API server's own part of a call is. */
async function measureCreates(report: BenchReport, { main, env }: ShippedProgram): Promise<void> {
  await within(async (place) => {
    const controlPlane = await startControlPlane({ progress: (text) => report.note(text) });
    // As it is deployed; startWebhook logs every request for those who look for mistakes.
    const webhook = await startWebhook({ ...place, configuration: { log: { level: 'info' } }, main, env });
    const bare = await startBare(webhook.certDir);
    const api = new ApiServer(controlPlane.kubeconfig);
    try {
      await applyManifests(controlPlane, join(place.directory, 'config/overlays/local'));
      await shareNamespaces(api, bare.target, webhook.authority.caPem);
      await createsAtRate(api, 'warm-up');
      await untilKindsAreFound(controlPlane);
      const all: Latencies = { unguarded: [], bare: [], guarded: [] };
      for (let round = 0; round < ROUNDS; round += 1) {
        const latencies = await createsAtRate(api, `round-${round}`);
        for (const namespace of namespaces) all[namespace].push(...latencies[namespace]);
        const say = (share: number): string =>
          namespaces.map((namespace) => `${rounded(quantile(latencies[namespace], share))} ms ${namespace}`).join(', ');
        report.note(`${CREATES_PER_SECOND} creates/s of each, round ${round + 1}: p50 ${say(0.5)}; p99 ${say(0.99)}`);
      }
      // Of all rounds together: the p99 of one of them is the fifth of 500, and another one each time.
      const p99 = (namespace: keyof Latencies): number => quantile(all[namespace], 0.99);
      report.figure('added_p99_ms_50rps', rounded(p99(GUARDED) - p99(UNGUARDED)));
      const over = (namespace: keyof Latencies, share: number): number =>
        rounded(quantile(all[namespace], share) / quantile(all[UNGUARDED], share));
      report.figure('added_p50_ratio', over(GUARDED, 0.5));
      report.figure('added_p99_ratio', over(GUARDED, 0.99));
      report.figure('bare_added_p50_ratio', over(BARE, 0.5));
      report.figure('bare_added_p99_ratio', over(BARE, 0.99));
    } finally {
      api.close();
      bare.child.stdin?.end();
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

const registrations = '/apis/admissionregistration.k8s.io/v1';
const finalizerWebhooks = `${registrations}/mutatingwebhookconfigurations`;

/** Leaves two namespaces out of our registrations, and registers the bare server for one of them with the same rules. */
async function shareNamespaces(api: ApiServer, bare: Target, caPem: string): Promise<void> {
  for (const name of namespaces)
    await api.must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name } } });
  const selector = (operator: 'In' | 'NotIn', values: readonly string[]): object => ({
    matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator, values }],
  });
  const value = selector('NotIn', [UNGUARDED, BARE]);
  for (const path of [
    `${finalizerWebhooks}/ingester-finalizer`,
    `${registrations}/validatingwebhookconfigurations/ingester-rules`,
  ]) {
    const body = [{ op: 'add', path: '/webhooks/0/namespaceSelector', value }];
    await api.must({ method: 'PATCH', path, body, contentType: contentTypes.json });
  }
  const { webhooks } = (await api.must({
    method: 'GET',
    path: `${finalizerWebhooks}/ingester-finalizer`,
  })) as unknown as {
    readonly webhooks: readonly object[];
  };
  const clientConfig = { url: `https://127.0.0.1:${bare.port}/`, caBundle: Buffer.from(caPem).toString('base64') };
  const webhook = { ...webhooks[0], clientConfig, namespaceSelector: selector('In', [BARE]) };
  await api.must({
    method: 'POST',
    path: finalizerWebhooks,
    body: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingWebhookConfiguration',
      metadata: { name: 'bench-bare' },
      webhooks: [webhook],
    },
  });
}

type Latencies = Readonly<Record<(typeof namespaces)[number], number[]>>;

/** Sends at fixed times whether or not the earlier ones are answered, as users do; the namespaces in turn. */
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
  const [unguarded, bare, guarded] = await Promise.all([
    series(UNGUARDED, 0),
    series(BARE, 1 / 3),
    series(GUARDED, 2 / 3),
  ]);
  return { unguarded, bare, guarded };
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
