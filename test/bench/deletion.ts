// What the promise of the product costs: deletions, evictions and restarts of many objects, on real parts.
import { type Bench, type BenchReport, type BenchSize, rounded } from './report.ts';
import { measureRestart } from './settled.ts';
import { parallel, resource, uids, World } from './sync-world.ts';
import { until } from './until.ts';

const OBJECTS = 10_000;
const EVICTED = 1000;
const CHANGED = 500;
const LIMIT_MS = 300_000;
/** Each look costs MySQL a walk over all rows, and more often it would be the load that is measured. */
const ROWS_POLL_MS = 250;

export const deletionBench: Bench = { name: 'deletion', run: runDeletionBench };

async function runDeletionBench(report: BenchReport, { objects = OBJECTS }: BenchSize): Promise<void> {
  // As fast as it goes; shipped are 50 a second of each kind.
  const world = await World.start({ eviction: { perSecond: 0 } });
  try {
    report.note(`creating ${objects} objects`);
    await world.create(uids('kept', objects));
    report.note('created; storing them');
    await world.bundle.reconciler.start();
    await until(async () => (await world.count()) === objects, LIMIT_MS, 'every object has a row', ROWS_POLL_MS);
    await restart(world, report, objects);
    await changesWithinOneSecond(world, report);
    await longNames(world, report);
    await evictions(world, report);
    await deletions(world, report);
  } finally {
    await world.stop();
  }
}

/** Nothing changed while it was away, so nothing is written. */
async function restart(world: World, report: BenchReport, objects: number): Promise<void> {
  const { seconds, rowWrites } = await measureRestart(world);
  const what = `cold restart with ${objects} unchanged objects`;
  report.row({ what, seconds: rounded(seconds), 'row writes': rowWrites });
  report.figure('restart_row_writes', rowWrites);
}

async function changesWithinOneSecond(world: World, report: BenchReport): Promise<void> {
  const chosen = (await world.objects()).slice(0, CHANGED);
  const started = Date.now();
  const last = new Map<string, string>();
  for (const round of ['first', 'second']) {
    const answers = await parallel(
      chosen,
      ({ metadata: { namespace, name } }) =>
        world.client.mergePatch({ resource, namespace, name }, { metadata: { labels: { round } } }),
      64,
    );
    for (const { metadata } of answers) last.set(metadata.uid, metadata.resourceVersion);
  }
  const seconds = (Date.now() - started) / 1000;
  await until(
    async () => {
      const rows = await world.rows();
      return [...last].every(([uid, version]) => rows.get(uid) === version);
    },
    LIMIT_MS,
    'every last state is stored',
    ROWS_POLL_MS,
  );
  report.row({ what: `two changes of ${CHANGED} objects, sent in ${rounded(seconds, 1)} s`, missing: 0 });
}

async function longNames(world: World, report: BenchReport): Promise<void> {
  const prefix = 'x'.repeat(110);
  await world.create(uids('long', 20), (object) => {
    const name = `${prefix}-${object.metadata.name}`;
    return { ...object, metadata: { ...object.metadata, name } };
  });
  await until(async () => (await world.count(`name LIKE '${prefix}%'`)) === 20, LIMIT_MS, '20 rows of 20 long names');
  report.row({ what: '20 names that share 110 characters', rows: 20 });
}

async function evictions(world: World, report: BenchReport): Promise<void> {
  const calls = () => world.metric('rest_client_requests_total');
  const before = await calls();
  const names = uids('evicted', EVICTED);
  const started = Date.now();
  await world.create(names, (object) => {
    const annotations = { ...object.metadata.annotations, 'michelangelo/Immutable': 'true' };
    return { ...object, metadata: { ...object.metadata, annotations } };
  });
  const ended = await until(
    async () =>
      (await world.count("name LIKE 'run-evicted-%' AND evict_time IS NOT NULL AND delete_time IS NULL")) === EVICTED &&
      (await world.objects()).every(({ metadata }) => !metadata.name.startsWith('run-evicted-')),
    LIMIT_MS,
    'every immutable object is in MySQL only',
    ROWS_POLL_MS,
  );
  const perObject = ((await calls()) - before) / EVICTED;
  const seconds = (ended - started) / 1000;
  report.row({
    what: `evictions of ${EVICTED}`,
    seconds: rounded(seconds),
    'objects/s': rounded(EVICTED / seconds, 0),
    'API calls each': rounded(perObject),
  });
  report.figure('evict_calls_per_object', rounded(perObject));
}

/** Deleted while the reconciler was away: each must go, and its last state must be in MySQL. */
async function deletions(world: World, report: BenchReport): Promise<void> {
  await world.bundle.reconciler.stop();
  const objects = await world.objects();
  await parallel(objects, ({ metadata: { namespace, name } }) =>
    world.client.delete({ resource, namespace, name }, {}),
  );
  const leaving = await world.objects();
  report.note(`${leaving.length} objects wait for their deletion`);
  await world.bundle.reconciler.start();
  let left = leaving.length;
  const gone = async (): Promise<boolean> => {
    if ((await world.count('delete_time IS NULL AND evict_time IS NULL')) > 0) return false;
    return (left = (await world.objects()).length) === 0;
  };
  const ended = await until(gone, LIMIT_MS, 'every object is gone', ROWS_POLL_MS).catch(() => Date.now());
  const rows = await world.query(
    `SELECT uid, CAST(res_version AS CHAR) AS v FROM \`pipelinerun\` WHERE delete_time IS NOT NULL`,
  );
  const stored = new Map(rows.map((row) => [String(row['uid']), String(row['v'])]));
  const lost = leaving.filter(({ metadata }) => stored.get(metadata.uid) !== metadata.resourceVersion).length;
  const seconds = (ended - world.startedAt()) / 1000;
  report.row({
    what: `deletions of ${leaving.length}`,
    seconds: rounded(seconds),
    'objects/s': rounded(leaving.length / seconds, 0),
    lost,
    stuck: left,
  });
  report.figure('lost', lost);
  report.figure('stuck', left);
}
