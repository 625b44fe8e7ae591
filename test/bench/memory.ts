// Whether the memory stays bounded, whatever the size and number of objects: the built program with its shipped settings.
import { UNGUARDED_ANNOTATION } from '../../src/api/names.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { CodedError } from '../../src/base/errors.ts';
import { defaultKinds } from '../../src/kinds/kinds.ts';
import { leases } from '../../src/kube/resources.ts';
import { type Bench, type BenchReport, type BenchSize, rounded } from './report.ts';
import { restingMib } from './settled.ts';
import { kind, parallel, resource, uids, World } from './sync-world.ts';
import { until } from './until.ts';

/** Of the largest; the other parts have a fixed share of it, so that --objects makes all of them smaller. */
const LARGE_OBJECTS = 2000;
const DELETIONS_EACH = 150;
const SMALL_EACH = 50;
/** Close to what etcd takes, in pieces, so that parsing them costs memory, too. */
const LARGE_BYTES = 1_400_000;
const PIECE_BYTES = 1000;
const BATCH = 5000;
const BATCH_OF_LARGE = 100;
const LIMIT_MS = 3_600_000;
const POLL_MS = 1000;
const RESTARTS = 2;
const never = new AbortController().signal;
/** Chooses one object, whose eviction shows that a scan has seen them all. */
const CHOSEN = 'chosen';

export const memoryBench: Bench = { name: 'memory', run: runMemoryBench };

async function runMemoryBench(report: BenchReport, { objects = LARGE_OBJECTS }: BenchSize): Promise<void> {
  const rules = [{ name: 'one', kinds: [kind.kind], when: `object.metadata.name == 'run-${CHOSEN}-0'` }];
  const scanning = { eviction: { rules, interval: '30s' }, audit: { period: '60s' } };
  await inWorld(scanning, (world) => largeObjects(world, report, objects));
  const replicas = { leaderElection: { enabled: true } };
  await inWorld(replicas, (world) => standby(world, report, objects * DELETIONS_EACH));
  await inWorld({}, (world) => idle(world, report, objects * SMALL_EACH));
}

async function inWorld(
  configuration: Readonly<Record<string, object>>,
  work: (world: World) => Promise<void>,
): Promise<void> {
  // The first list of gigabytes takes minutes, and readiness waits for it.
  const world = await World.start(configuration, '/healthz');
  try {
    await work(world);
  } finally {
    await world.stop();
  }
}

/** First list, eviction scan, audit, and restarts with all of that again. */
async function largeObjects(world: World, report: BenchReport, count: number): Promise<void> {
  report.note(`creating ${count} objects of ${LARGE_BYTES / 1e6} MB`);
  for (let from = 0; from < count; from += BATCH_OF_LARGE)
    await world.create(uids(`large-${from}`, Math.min(BATCH_OF_LARGE, count - from)), enlarged);
  await world.create([`${CHOSEN}-0`], enlarged);
  const peaks: number[] = [];
  await world.bundle.reconciler.start();
  await until(async () => (await world.inserted()) > count, LIMIT_MS, 'every object has a row', POLL_MS);
  row(report, peaks, 'first list', world);
  const evicted = async (): Promise<boolean> => (await world.count('evict_time IS NOT NULL')) === 1;
  await until(evicted, LIMIT_MS, 'the eviction rules have looked at every object', POLL_MS);
  row(report, peaks, 'eviction scan', world);
  await audited(world);
  row(report, peaks, 'audit', world);
  for (let restart = 1; restart <= RESTARTS; restart += 1) {
    await world.bundle.reconciler.stop();
    await world.bundle.reconciler.start();
    await settled(world);
    await audited(world);
    row(report, peaks, `restart ${restart}, with eviction scan and audit`, world);
  }
  report.figure('rss_mib_1400k_objects', rounded(Math.max(...peaks), 0));
}

function row(report: BenchReport, peaks: number[], what: string, world: World): void {
  const peak = world.peakMib();
  peaks.push(peak);
  report.row({ what, 'peak MiB': rounded(peak, 0) });
}

function enlarged(object: KubernetesObject): object {
  const pieces = Math.floor(LARGE_BYTES / (PIECE_BYTES + 20));
  const input = Object.fromEntries(
    Array.from({ length: pieces }, (_, index) => [
      `part-${index}`,
      `${index} `.repeat(PIECE_BYTES).slice(0, PIECE_BYTES),
    ]),
  );
  return { ...object, spec: { ...(object['spec'] as object), input } };
}

/** The audit of the kind has ended since the process started. */
function audited(world: World): Promise<number> {
  const ended = async (): Promise<boolean> =>
    (await world.metric('ingester_audit_timestamp_seconds', `kind="${kind.kind}"`)) > 0;
  return until(ended, LIMIT_MS, 'the audit has compared every object', POLL_MS);
}

function settled(world: World): Promise<number> {
  const idling = async (): Promise<boolean> => {
    if (world.comparedKinds() < defaultKinds.length) return false;
    return (await world.metric('workqueue_depth')) + (await world.metric('controller_runtime_active_workers')) === 0;
  };
  return until(idling, LIMIT_MS, 'the reconciler has nothing to do', POLL_MS);
}

/** A process that never leads sees objects come and go. */
async function standby(world: World, report: BenchReport, deletions: number): Promise<void> {
  await holdLease(world);
  await world.bundle.reconciler.start();
  report.note(`creating and deleting ${deletions} objects beside a standby`);
  const warmUp = Math.min(20_000, Math.ceil(deletions / 4));
  await comeAndGo(world, 'warm', warmUp);
  const before = await restingMib(world);
  await comeAndGo(world, 'gone', deletions);
  const after = await restingMib(world);
  if ((await world.count()) > 0) throw new CodedError('BENCH_FAILED', 'The standby wrote rows: it leads');
  report.row({ what: `standby, before ${deletions} deletions`, MiB: rounded(before) });
  report.row({ what: `standby, after ${deletions} deletions`, MiB: rounded(after) });
  report.figure('standby_rss_growth_mib', rounded(Math.max(0, after - before), 1));
}

/** For a day, by a holder that does not exist. */
async function holdLease(world: World): Promise<void> {
  const now = new Date().toISOString().replace('Z', '000Z');
  const metadata = { name: 'ingester-reconciler', namespace: 'ingester-system' };
  const spec = { holderIdentity: 'bench', leaseDurationSeconds: 86_400, acquireTime: now, renewTime: now };
  await world.client.create(leases, metadata.namespace, {
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
    ...{ metadata, spec },
  });
}

async function comeAndGo(world: World, prefix: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += BATCH) {
    const names = uids(`${prefix}-${from}`, Math.min(BATCH, count - from));
    const objects = await world.create(names, unguarded);
    await parallel(objects, ({ metadata: { namespace, name } }) =>
      world.client.delete({ resource, namespace, name }, {}),
    );
    const none = async (): Promise<boolean> =>
      (await world.client.list(resource, { limit: 1, metadataOnly: true }, never)).items.length === 0;
    await until(none, LIMIT_MS, 'every object is gone', POLL_MS);
  }
}

function unguarded(object: KubernetesObject): object {
  const { finalizers: _, annotations = {}, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, annotations: { ...annotations, [UNGUARDED_ANNOTATION]: 'true' } } };
}

async function idle(world: World, report: BenchReport, count: number): Promise<void> {
  report.note(`creating ${count} objects of 2 KB`);
  await world.create(uids('small', count));
  await world.bundle.reconciler.start();
  await until(async () => (await world.inserted()) >= count, LIMIT_MS, 'every object has a row', POLL_MS);
  await settled(world);
  const stored = await restingMib(world);
  await world.bundle.reconciler.stop();
  await world.bundle.reconciler.start();
  await settled(world);
  const restarted = await restingMib(world);
  report.row({ what: `idle, ${count} objects stored`, MiB: rounded(stored) });
  report.row({ what: `idle, after a restart with ${count} objects`, MiB: rounded(restarted) });
  report.figure('rss_mib_100k', rounded(Math.max(stored, restarted), 0));
}
