// What it costs that several replicas share the work instead of one that does it, how evenly they do, and how long buckets
// have no owner when one of them ends or dies.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { probe } from '../../hack/local/role-process.ts';
import type { ServerProcess } from '../../hack/local/server-process.ts';
import { GROUP } from '../../src/api/names.ts';
import { BUCKETS, bucketOf } from '../../src/runtime/replicas/buckets.ts';
import { type Bench, type BenchReport, type BenchSize, inTurns, median, ratios, rounded } from './report.ts';
import { cpuSeconds, kind, uids, World } from './sync-world.ts';
import { until } from './until.ts';

const OBJECTS = 2000;
/** Times as many objects are there when all are copied again. */
const COPIED_SHARE = 10;
const ROUNDS = 3;
const LIMIT_MS = 180_000;
const REST_MS = 1000;
/** Processor seconds in that time, of all of them. */
const RESTING = 0.1;
/** Between two creates while replicas come and go. */
const PAUSE_MS = 20;

export const replicasBench: Bench = { name: 'replicas', run: runReplicasBench };

interface Replica {
  readonly process: ServerProcess;
  readonly healthPort: number;
}

async function runReplicasBench(report: BenchReport, { objects = OBJECTS }: BenchSize): Promise<void> {
  const world = await World.start(
    { leaderElection: { enabled: true, active: 'all' }, audit: { period: '0s' } },
    '/healthz',
    { featureGates: 'ShardedListAndWatch=true' },
  );
  try {
    await world.bundle.kubectl('apply', '-f', 'config/components/active-replicas/rbac.yaml');
    await tellCosts(report, world, objects);
    await tellChanges(report, world);
    await tellCopies(report, world, objects * COPIED_SHARE);
  } finally {
    await world.stop();
  }
}

async function replicasOf({ bundle }: World, names: readonly string[], env = {}): Promise<readonly Replica[]> {
  const first = { process: bundle.reconciler, healthPort: bundle.reconcilerHealthPort };
  return [first, ...(await Promise.all(names.map((name) => bundle.createReplica(name, env))))];
}

interface Cost {
  readonly cpuSeconds: number;
  readonly watchedBytes: number;
  readonly largestShare: number;
}

async function tellCosts(report: BenchReport, world: World, objects: number): Promise<void> {
  const replicas = await replicasOf(world, ['second', 'third']);
  const measured = (used: readonly Replica[]) => (round: number) => costOf(world, used, { objects, round });
  const { one, three } = await inTurns(ROUNDS, { one: measured(replicas.slice(0, 1)), three: measured(replicas) });
  for (const [phase, costs] of [['1 replica', one] as const, ['3 replicas', three] as const]) {
    report.row({
      phase,
      'CPU s/1000': rounded((median(costs.map((cost) => cost.cpuSeconds)) / objects) * 1000, 3),
      'watched bytes/object': rounded(median(costs.map(({ watchedBytes }) => watchedBytes)) / objects, 0),
      'largest share': rounded(median(costs.map(({ largestShare }) => largestShare))),
    });
  }
  const tell = (name: string, values: readonly number[]): void => report.rounds(name, values);
  const ratio = (of: (cost: Cost) => number): readonly number[] => ratios(three.map(of), one.map(of));
  tell(
    'cpu_per_object_3_vs_1',
    ratio((cost) => cost.cpuSeconds),
  );
  tell(
    'stream_bytes_3_vs_1',
    ratio((cost) => cost.watchedBytes),
  );
  const shares = three.map(({ largestShare }) => largestShare);
  tell('replica_share_max', shares);
}

/** Of the creation of objects, from the first until every one is stored and all is at rest again. */
async function costOf(
  world: World,
  used: readonly Replica[],
  { objects, round }: { readonly objects: number; readonly round: number },
): Promise<Cost> {
  await Promise.all(used.map(({ process }) => process.start()));
  await untilShared(used);
  await untilResting(used);
  const look = async () => ({
    cpu: used.reduce((sum, { process }) => sum + cpuSeconds(process.pid), 0),
    rows: await Promise.all(used.map(storedBy)),
    bytes: await watchedBytes(world),
  });
  const before = await look();
  const inserted = await world.inserted();
  await world.create(uids(`round-${round}-${used.length}`, objects));
  await until(async () => (await world.inserted()) - inserted >= objects, LIMIT_MS, 'every object has a row');
  await untilResting(used);
  const after = await look();
  await Promise.all(used.map(({ process }) => process.stop()));
  const rows = after.rows.map((count, index) => count - (before.rows[index] ?? 0));
  return {
    cpuSeconds: after.cpu - before.cpu,
    watchedBytes: after.bytes - before.bytes,
    largestShare: Math.max(...rows) / rows.reduce((sum, count) => sum + count, 0),
  };
}

/**
 * Of a copy of every object, from the start of the processes on. Their transactions are full, while those of objects that are
 * created one by one are the smaller the more replicas share them.
 */
async function tellCopies(report: BenchReport, world: World, objects: number): Promise<void> {
  await world.create(uids('copied', Math.max(0, objects - world.created)));
  const replicas = await replicasOf(world, ['second-copying', 'third-copying']);
  const measured = (used: readonly Replica[]) => () => copyCost(world, used);
  const { one, three } = await inTurns(ROUNDS, { one: measured(replicas.slice(0, 1)), three: measured(replicas) });
  for (const [phase, costs] of [['copy by 1 replica', one] as const, ['copy by 3 replicas', three] as const])
    report.row({ phase, objects: world.created, 'CPU s/1000': rounded((median(costs) / world.created) * 1000, 3) });
  report.rounds('cpu_per_copied_object_3_vs_1', ratios(three, one));
}

/** Processor seconds. */
async function copyCost(world: World, used: readonly Replica[]): Promise<number> {
  await world.clearTables();
  const inserted = await world.inserted();
  await Promise.all(used.map(({ process }) => process.start()));
  await until(async () => (await world.inserted()) - inserted >= world.created, LIMIT_MS, 'every object has a row');
  await untilResting(used);
  const cpu = used.reduce((sum, { process }) => sum + cpuSeconds(process.pid), 0);
  await Promise.all(used.map(({ process }) => process.stop()));
  return cpu;
}

/** While objects are created all the time: one comes, one ends, one dies. */
async function tellChanges(report: BenchReport, world: World): Promise<void> {
  // Their logs tell which object each has stored.
  const replicas = await replicasOf(world, ['fourth', 'fifth'], { INGESTER_LOG_LEVEL: 'debug' });
  const [first, second, third] = replicas;
  if (first === undefined || second === undefined || third === undefined) return;
  const over = new AbortController();
  const created = createUntil(world, over.signal);
  const [handovers, takeovers] = [[] as number[], [] as number[]];
  await Promise.all([second, third].map(({ process }) => process.start()));
  await untilShared([second, third]);
  for (let round = 0; round < ROUNDS; round += 1) {
    await first.process.start();
    await untilShared(replicas);
    handovers.push(await timeUntilShared([second, third], () => first.process.stop()));
    await first.process.start();
    await untilShared(replicas);
    takeovers.push(await timeUntilShared([second, third], () => first.process.crash()));
  }
  // One comes, and the others give up buckets while they go on with the rest.
  await first.process.start();
  await untilShared(replicas);
  await delay(REST_MS);
  over.abort();
  await created;
  await untilResting(replicas);
  report.rounds('handover_ms', handovers, 0);
  report.rounds(
    'takeover_s',
    takeovers.map((ms) => ms / 1000),
  );
  report.figure('handover_missed', await missed(world));
  report.figure('handover_worked_on_by_old_owner', workedOnAfterwards([second, third]));
  await Promise.all(replicas.map(({ process }) => process.stop()));
}

/** From when the replica began to end until the others have all buckets. */
async function timeUntilShared(left: readonly Replica[], end: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await Promise.all([end(), untilShared(left)]);
  return performance.now() - started;
}

async function createUntil(world: World, signal: AbortSignal): Promise<void> {
  for (let index = 0; !signal.aborted; index += 1) {
    await world.create([`changes-${index}`]);
    await delay(PAUSE_MS);
  }
}

/** Objects that MySQL does not have as they are. */
async function missed(world: World): Promise<number> {
  const rows = await world.rows();
  return (await world.objects()).filter(({ metadata: { uid, resourceVersion } }) => rows.get(uid) !== resourceVersion)
    .length;
}

/** Objects that a replica has stored of buckets that it had given up before. */
function workedOnAfterwards(replicas: readonly Replica[]): number {
  return replicas.reduce((sum, { process }) => {
    let own: ReadonlySet<number> = new Set();
    const foreign = readFileSync(process.logFile, 'utf8')
      .split('\n')
      .filter((line) => {
        const buckets = /"buckets":\[([\d,]*)\].*A term begins/.exec(line)?.[1];
        if (buckets !== undefined) own = new Set(buckets.split(',').map(Number));
        const uid = line.includes('Synced to MySQL') ? /"uid":"([^"]+)"/.exec(line)?.[1] : undefined;
        return uid !== undefined && !own.has(bucketOf(uid));
      });
    return sum + foreign.length;
  }, 0);
}

async function untilShared(replicas: readonly Replica[]): Promise<void> {
  const shared = async (): Promise<boolean> => {
    const counts = await Promise.all(replicas.map((replica) => metricOf(replica, /^ingester_buckets (\d+)/m)));
    return counts.every((count) => count > 0) && counts.reduce((sum, count) => sum + count, 0) === BUCKETS;
  };
  await until(shared, LIMIT_MS, 'every bucket has an owner, and every replica buckets');
}

async function untilResting(replicas: readonly Replica[]): Promise<void> {
  const used = (): number => replicas.reduce((sum, { process }) => sum + cpuSeconds(process.pid), 0);
  const resting = async (): Promise<boolean> => {
    const before = used();
    await delay(REST_MS);
    return used() - before <= RESTING;
  };
  await until(resting, LIMIT_MS, 'the reconcilers have nothing to do');
}

async function metricOf({ healthPort }: Replica, pattern: RegExp): Promise<number> {
  return Number(pattern.exec((await probe(healthPort, '/metrics')).body)?.[1] ?? 0);
}

const storedBy = (replica: Replica): Promise<number> => metricOf(replica, /^ingester_committed_rows_total (\d+)/m);

/** Bytes of events of the kind that the API server has sent to watches. */
async function watchedBytes({ bundle }: World): Promise<number> {
  const text = await bundle.kubectl('get', '--raw', '/metrics');
  const sums = text.split('\n').filter((line) => {
    const isSum = line.startsWith('apiserver_watch_events_sizes_sum{') && line.includes(`group="${GROUP}"`);
    return isSum && new RegExp(`(kind|resource)="(${kind.kind}|${kind.plural})"`).test(line);
  });
  return sums.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
