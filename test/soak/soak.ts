// Load and faults at the same time, on real parts, and then the question whether MySQL and the API server agree.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Bundle } from '../../hack/local/bundle.ts';
import { hasFinalizer, type KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { eventually } from '../support/eventually.ts';
import { Random } from './random.ts';
import { type Known, resource, Workload } from './workload.ts';

export interface SoakOptions {
  readonly seed: number;
  readonly durationMs: number;
  readonly note: (text: string) => void;
}

export interface SoakReport {
  readonly operations: number;
  readonly objects: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Empty where every guarantee was kept. */
  readonly findings: readonly string[];
}

const NAMESPACE = 'soak';
const SETTLE_MS = 120_000;
const TOGETHER = 4;

type Fault =
  | 'kill the reconciler'
  | 'kill MySQL'
  | 'freeze MySQL'
  | 'cut the way to MySQL'
  | 'restart the API server'
  | 'freeze the API server';

export async function soak(bundle: Bundle, options: SoakOptions): Promise<SoakReport> {
  const { kubeconfig } = bundle.controlPlane;
  const client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
  try {
    await bundle.kubectl('create', 'namespace', NAMESPACE);
    const workload = new Workload(client, NAMESPACE, new Random(options.seed));
    const end = Date.now() + options.durationMs;
    const workers = Array.from({ length: TOGETHER }, async () => {
      while (Date.now() < end) {
        await workload.act();
        await delay(20);
      }
    });
    const faults = await injectFaults(bundle, new Random(options.seed + 1), { end, note: options.note });
    await Promise.all(workers);
    options.note(
      `${workload.operations} operations on ${workload.known.size} objects; waiting for the end of all work`,
    );
    const findings = await settled(() => compare(bundle, client, workload));
    return { operations: workload.operations, objects: workload.known.size, faults, findings };
  } finally {
    await client.close();
  }
}

async function injectFaults(
  bundle: Bundle,
  random: Random,
  { end, note }: { readonly end: number; readonly note: (text: string) => void },
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (;;) {
    await delay(1500 + random.below(2500));
    if (Date.now() >= end) return counts;
    const fault = random.pick<Fault>([
      [4, 'kill the reconciler'],
      [2, 'kill MySQL'],
      [1, 'freeze MySQL'],
      [2, 'cut the way to MySQL'],
      [2, 'restart the API server'],
      [1, 'freeze the API server'],
    ]);
    note(fault);
    counts[fault] = (counts[fault] ?? 0) + 1;
    await inject(bundle, fault, 500 + random.below(2500));
  }
}

async function inject(bundle: Bundle, fault: Fault, forMs: number): Promise<void> {
  const { apiServer } = bundle.controlPlane;
  switch (fault) {
    case 'kill the reconciler':
      bundle.reconciler.kill('SIGKILL');
      await bundle.reconciler.exited();
      await delay(forMs);
      return bundle.reconciler.start();
    case 'kill MySQL':
      await bundle.server.kill();
      await delay(forMs);
      return bundle.server.start();
    case 'freeze MySQL':
      bundle.server.pause();
      await delay(forMs);
      bundle.server.resume();
      return undefined;
    case 'cut the way to MySQL':
      await bundle.databaseLink.cut();
      await delay(forMs);
      return bundle.databaseLink.heal();
    case 'restart the API server':
      apiServer.kill('SIGKILL');
      await apiServer.exited();
      await delay(forMs);
      return apiServer.start();
    case 'freeze the API server':
      apiServer.kill('SIGSTOP');
      await delay(forMs);
      apiServer.kill('SIGCONT');
      return undefined;
  }
}

/** What is still wrong when nothing changes for the better any more. */
async function settled(look: () => Promise<readonly string[]>): Promise<readonly string[]> {
  let last: readonly string[] = [];
  try {
    await eventually(async () => {
      last = await look();
      assert.deepEqual(last, []);
    }, SETTLE_MS);
  } catch (error) {
    if (!(error instanceof assert.AssertionError)) throw error;
  }
  return last;
}

interface Row {
  readonly state: 'live' | 'evicting' | 'deleted' | 'evicted';
  readonly version: string;
  readonly content: number;
}

async function compare(bundle: Bundle, client: KubeClient, workload: Workload): Promise<readonly string[]> {
  const rows = await rowsOf(bundle);
  const { items } = await client.list(resource, { namespace: NAMESPACE, limit: 5000 }, new AbortController().signal);
  const live = new Map(items.map((object) => [object.metadata.uid, object]));
  return [
    ...items.flatMap((object) => aboutLive(object, rows.get(object.metadata.uid))),
    ...[...rows].flatMap(([uid, row]) =>
      !live.has(uid) && (row.state === 'live' || row.state === 'evicting') ? [`extra: ${uid} is ${row.state}`] : [],
    ),
    ...[...workload.known.values()].flatMap((known) => aboutKnown(known, rows.get(known.uid), live.has(known.uid))),
  ];
}

function aboutLive(object: KubernetesObject, row: Row | undefined): readonly string[] {
  const { uid, resourceVersion, deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined)
    return hasFinalizer(object) ? [`no wedge: ${uid} is held`] : [`${uid} is leaving`];
  if (row === undefined) return [`no forgetting: ${uid} has no row`];
  if (!hasFinalizer(object)) return [`no unguarded object: ${uid}`];
  return row.version === resourceVersion ? [] : [`stale: ${uid} is ${row.version}, not ${resourceVersion}`];
}

function aboutKnown({ uid, content, wishes, maybe }: Known, row: Row | undefined, exists: boolean): readonly string[] {
  if (row === undefined) return [`no forgetting: ${uid} has no row`];
  const found: string[] = [];
  if (row.content < content) found.push(`no going back: ${uid} has content ${row.content}, not ${content}`);
  if (exists) return wishes.size > 0 ? [...found, `${uid} is still there after ${[...wishes].join()}`] : found;
  if (maybe.size === 0) found.push(`${uid} is gone without having been asked to`);
  if (maybe.size === 1 && wishes.has('evict') && row.state !== 'evicted')
    found.push(`evicted is not deleted: ${uid} is ${row.state}`);
  if (!maybe.has('evict') && row.state !== 'deleted') found.push(`${uid} was deleted and is ${row.state}`);
  return found;
}

async function rowsOf(bundle: Bundle): Promise<ReadonlyMap<string, Row>> {
  const sql =
    'SELECT uid, row_state, res_version, JSON_VALUE(json, "$.spec.jobId") AS content FROM rayjob WHERE namespace = ?';
  const rows = await bundle.database.query(sql, [NAMESPACE]);
  const states = ['live', 'evicting', 'deleted', 'evicted'] as const;
  return new Map(
    rows.map((row) => [
      String(row['uid']),
      {
        state: states[Number(row['row_state'])] ?? 'live',
        version: String(row['res_version']),
        content: Number(row['content']),
      },
    ]),
  );
}
