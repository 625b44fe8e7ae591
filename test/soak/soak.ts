// Load and faults at the same time, on real parts, and then the question whether MySQL and the API server agree.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Bundle } from '../../hack/local/bundle.ts';
import type { VitessCluster } from '../../hack/local/vitess/cluster.ts';
import { hasFinalizer, type KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { eventually } from '../support/eventually.ts';
import { queryShard } from '../support/use-vitess.ts';
import { injectFaults } from './faults.ts';
import { Fleet } from './fleet.ts';
import { MemoryLimits } from './memory-limits.ts';
import { Random } from './random.ts';
import { type AskDatabase, prepareRefusals } from './refused-rows.ts';
import type { ShiftedClock } from './shifted-clock.ts';
import { type Known, resource, Workload } from './workload.ts';

export interface SoakOptions {
  readonly seed: number;
  readonly durationMs: number;
  /** The reconcilers; that of the bundle unless given. */
  readonly fleet?: Fleet;
  /** What the bundle has in place of a MySQL. */
  readonly vitess?: VitessCluster | undefined;
  /** Of the reconcilers, which were started with its environment. */
  readonly clock: ShiftedClock;
  readonly note: (text: string) => void;
}

export interface SoakReport {
  readonly operations: number;
  readonly objects: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Most resident memory of each role, in MiB. */
  readonly memory: Readonly<Record<string, number>>;
  /** Empty where every guarantee was kept. */
  readonly findings: readonly string[];
}

export const NAMESPACE = 'soak';
/** Evictions also wait for Kubernetes' garbage collector, which has to follow an API server that was restarted. */
const SETTLE_MS = 240_000;
const TOGETHER = 4;
const LOG_LINES = 40;

export async function soak(bundle: Bundle, options: SoakOptions): Promise<SoakReport> {
  const { kubeconfig } = bundle.controlPlane;
  const client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
  const { fleet = new Fleet([bundle.reconciler]), vitess } = options;
  const memory = new MemoryLimits({ webhook: [bundle.webhook], reconciler: fleet.processes });
  try {
    await bundle.kubectl('create', 'namespace', NAMESPACE);
    const databases = databasesOf(bundle, vitess);
    await prepareRefusals(databases);
    const workload = new Workload(client, NAMESPACE, new Random(options.seed));
    const end = Date.now() + options.durationMs;
    const workers = Array.from({ length: TOGETHER }, async () => {
      while (Date.now() < end) {
        await workload.act();
        await delay(20);
      }
    });
    const { clock, note } = options;
    const stage = { bundle, workload, fleet, databases, vitess, clock, note };
    const faults = await injectFaults(stage, new Random(options.seed + 1), end);
    await Promise.all(workers);
    options.note(
      `${workload.operations} operations on ${workload.known.size} objects; waiting for the end of all work`,
    );
    const wrong = await settled(() => compare(bundle, client, workload));
    for (const line of logOf(fleet, wrong)) note(line);
    const findings = [...wrong, ...memory.findings];
    return { operations: workload.operations, objects: workload.known.size, faults, memory: memory.most(), findings };
  } finally {
    memory.stop();
    await client.close();
  }
}

function databasesOf({ database }: Bundle, vitess: VitessCluster | undefined): readonly AskDatabase[] {
  if (vitess === undefined) return [(sql) => database.query(sql)];
  return vitess.databases.shards.map((name) => (sql) => queryShard(vitess, name, sql));
}

/** What the reconcilers said last about each object that something is wrong with. */
function logOf({ processes }: Fleet, findings: readonly string[]): readonly string[] {
  const uids = new Set(
    findings.flatMap((finding) => /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(finding) ?? []),
  );
  const read = ({ logFile }: { readonly logFile: string }): readonly string[] =>
    readFileSync(logFile, 'utf8').split('\n');
  const lines = uids.size === 0 ? [] : processes.flatMap(read);
  return [...uids].flatMap((uid) => lines.filter((line) => line.includes(uid)).slice(-LOG_LINES));
}

/** What is still wrong when nothing changes for the better any more. */
export async function settled(look: () => Promise<readonly string[]>): Promise<readonly string[]> {
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

export async function compare(bundle: Bundle, client: KubeClient, workload: Workload): Promise<readonly string[]> {
  const rows = await rowsOf(bundle);
  const { items } = await client.list(resource, { namespace: NAMESPACE, limit: 5000 }, new AbortController().signal);
  const live = new Map(items.map((item) => [item.identity.uid, item.parse()]));
  return [
    ...[...live].flatMap(([uid, object]) => aboutLive(object, rows.get(uid))),
    ...[...rows].flatMap(([uid, row]) =>
      !live.has(uid) && (row.state === 'live' || row.state === 'evicting') ? [`extra: ${uid} is ${row.state}`] : [],
    ),
    ...[...workload.known.values()].flatMap((known) => aboutKnown(known, rows.get(known.uid), live.has(known.uid))),
  ];
}

function aboutLive(object: KubernetesObject, row: Row | undefined): readonly string[] {
  const { uid, resourceVersion, deletionTimestamp, finalizers = [] } = object.metadata;
  // What other finalizers hold waits for the controllers of Kubernetes.
  if (deletionTimestamp !== undefined)
    return [hasFinalizer(object) ? `no wedge: ${uid} is held` : `${uid} is leaving, held by ${finalizers.join()}`];
  if (row === undefined) return [`no forgetting: ${uid} has no row`];
  if (!hasFinalizer(object)) return [`no unguarded object: ${uid}`];
  return row.version === resourceVersion ? [] : [`stale: ${uid} is ${row.version}, not ${resourceVersion}`];
}

function aboutKnown(known: Known, row: Row | undefined, exists: boolean): readonly string[] {
  const about = inspect(
    { row, exists, asked: [...known.wishes], perhaps: [...known.maybe] },
    { breakLength: Infinity },
  );
  return problemsOf(known, row, exists).map((problem) => `${problem}; ${about}`);
}

function problemsOf({ uid, content, wishes, maybe }: Known, row: Row | undefined, exists: boolean): readonly string[] {
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
