// End to end: objects in a real API server, rows in a real MySQL, the reconciler as a process with its shipped settings.
import { createConnection } from 'mysql2/promise';
import type { ObjectRow } from '../../src/storage/row.ts';
import { rowOf } from '../support/objects.ts';
import { prepareBatch, writePrepared } from './ceiling-writer.ts';
import { type Bench, type BenchReport, type BenchSize, quantile, rounded } from './report.ts';
import { untilKindsAreFound } from './settled.ts';
import { type CpuSeconds, kind, resource, uids, World } from './sync-world.ts';
import { until } from './until.ts';

const OBJECTS = 10_000;
const CEILING_BATCH = 128;
const CEILING_LANES = 3;
const UPDATED = 2000;
const RATES = [100, 200, 400];
const RATE_SECONDS = 15;
const OUTAGE_SECONDS = 60;
const OUTAGE_RATE = 50;
const LIMIT_MS = 120_000;
/** Of a replay and of the ceiling, which are compared in turns: what else goes on in the machine meets both. */
const ROUNDS = 3;
/** Between two looks at the rows that are there: often enough to be exact to a fiftieth, seldom enough not to matter. */
const STORED_POLL_MS = 100;
/** Between two looks at the rows that changed; what is seen late counts as late. */
const LAG_POLL_MS = 20;

export const syncBench: Bench = { name: 'sync', run: runSyncBench };

async function runSyncBench(report: BenchReport, { objects = OBJECTS }: BenchSize): Promise<void> {
  const peaks: number[] = [];
  await inWorld(async (world) => {
    report.note(
      `MySQL ${world.bundle.server.version}, durable; ${objects} objects of 2 KB with 8 labels, 4 annotations`,
    );
    await replays(world, report, objects);
    await burst(world, report, objects);
    await outage(world, report);
    peaks.push(world.peakMib());
  });
  await inWorld(async (world) => {
    await world.bundle.reconciler.start();
    await world.create(uids('updated', UPDATED));
    await untilKindsAreFound(world.bundle.controlPlane);
    report.note(`updates over ${UPDATED} objects, the only ones of this cluster`);
    for (const rate of RATES) await lag(world, report, rate);
    peaks.push(world.peakMib());
  });
  report.figure('rss_mib', rounded(Math.max(...peaks), 0));
}

/** A cluster and a database of their own. */
async function inWorld(work: (world: World) => Promise<void>): Promise<void> {
  const world = await World.start();
  try {
    await work(world);
  } finally {
    await world.stop();
  }
}

/** Objects a second of bare multi-row inserts of these rows, all ready before the clock starts. */
async function measureCeiling(world: World, rows: readonly ObjectRow[]): Promise<number> {
  const { server, database } = world.bundle;
  const access = {
    host: server.host,
    port: server.port,
    database: database.name,
    ...database.writer,
    charset: 'utf8mb4_bin',
  };
  const connections = await Promise.all(Array.from({ length: CEILING_LANES }, () => createConnection(access)));
  const batches = Array.from({ length: Math.ceil(rows.length / CEILING_BATCH) }, (_, index) =>
    prepareBatch(rows.slice(index * CEILING_BATCH, (index + 1) * CEILING_BATCH)),
  );
  const started = performance.now();
  const entries = batches.values();
  await Promise.all(
    connections.map(async (connection) => {
      for (const batch of entries) await writePrepared(connection, batch);
    }),
  );
  const perSecond = rows.length / ((performance.now() - started) / 1000);
  for (const connection of connections) connection.destroy();
  await world.clearTables();
  return perSecond;
}

interface Replay {
  readonly perSecond: number;
  readonly cpu: CpuSeconds;
}

/** Existing objects into an empty database, against bare inserts of the same rows. The last replay's rows stay. */
async function replays(world: World, report: BenchReport, objects: number): Promise<void> {
  const creating = performance.now();
  const created = await world.create(uids('replay', objects));
  report.note(`created ${objects} objects in ${rounded((performance.now() - creating) / 1000, 1)} s`);
  await untilKindsAreFound(world.bundle.controlPlane);
  const rows = created.map(rowOf);
  const rounds: { readonly replay: Replay; readonly ceiling: number }[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    if (round > 1) await world.bundle.reconciler.stop();
    await world.clearTables();
    const ceiling = await measureCeiling(world, rows);
    const replay = await measureReplay(world, objects);
    rounds.push({ replay, ceiling });
    report.row({ phase: `bare inserts (ceiling), round ${round}`, 'objects/s': rounded(ceiling, 0) });
    report.row({
      phase: `replay of ${objects}, round ${round}`,
      'objects/s': rounded(replay.perSecond, 0),
      seconds: rounded(objects / replay.perSecond),
      'our CPU s/1000': rounded((replay.cpu.ours / objects) * 1000),
      'MySQL CPU s/1000': rounded((replay.cpu.mysql / objects) * 1000),
      'peak MiB': rounded(world.peakMib(), 0),
    });
  }
  const median = (values: readonly number[]): number => quantile(values, 0.5);
  report.figure('replay_vs_ceiling', rounded(median(rounds.map(({ replay, ceiling }) => replay.perSecond / ceiling))));
  const cpu = median(rounds.map(({ replay }) => replay.cpu.ours));
  report.figure('replay_cpu_s_per_1k', rounded((cpu / objects) * 1000, 3));
}

/** From the moment the reconciler says that it works. Its processor time is that of its start too. */
async function measureReplay(world: World, objects: number): Promise<Replay> {
  const mysqlBefore = world.cpu().mysql;
  const stored = await comingRows(world, objects);
  const starting = world.bundle.reconciler.start();
  const ended = await stored('every object has a row');
  await starting;
  const { ours, mysql } = world.cpu();
  const seconds = (ended - world.startedAt()) / 1000;
  return { perSecond: objects / seconds, cpu: { ours, mysql: mysql - mysqlBefore } };
}

/**
 * Asked before the rows come; the answer waits until the table has this many. They are counted only when as many were
 * inserted: counting reads every row, and took an eighth of the server from what was measured.
 */
async function comingRows(world: World, rows: number): Promise<(what: string) => Promise<number>> {
  const wanted = (await world.inserted()) + rows - (await world.count());
  const there = async (): Promise<boolean> => (await world.inserted()) >= wanted && (await world.count()) === rows;
  return (what) => until(there, LIMIT_MS, what, STORED_POLL_MS);
}

async function burst(world: World, report: BenchReport, objects: number): Promise<void> {
  const before = world.cpu();
  const allStored = await comingRows(world, 2 * objects);
  const started = Date.now();
  await world.create(uids('burst', objects));
  const created = Date.now();
  const stored = await allStored('the burst is stored');
  const after = world.cpu();
  const seconds = (stored - started) / 1000;
  report.row({
    phase: `burst of ${objects} creates`,
    'objects/s': rounded(objects / seconds, 0),
    seconds: rounded(seconds),
    'behind ms': stored - created,
    'our CPU s/1000': rounded(((after.ours - before.ours) / objects) * 1000),
    'MySQL CPU s/1000': rounded(((after.mysql - before.mysql) / objects) * 1000),
    'peak MiB': rounded(world.peakMib(), 0),
  });
}

/** Updates at a steady rate, whatever the answers take. Resolves when all were answered. */
async function update(
  world: World,
  rate: number,
  seconds: number,
  answered: (uid: string, version: string) => void,
): Promise<void> {
  const objects = (await world.objects()).slice(0, UPDATED);
  const calls: Promise<unknown>[] = [];
  const started = performance.now();
  for (let index = 0; index < rate * seconds; index += 1) {
    const wait = started + (index * 1000) / rate - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    const { namespace, name } = objects[index % objects.length]!.metadata;
    const patch = { spec: { input: { attempt: index } }, metadata: { labels: { round: `r${rate}-${index}` } } };
    const call = world.client.mergePatch({ resource, namespace, name }, patch);
    calls.push(call.then(({ metadata }) => answered(metadata.uid, metadata.resourceVersion)));
  }
  await Promise.all(calls);
}

/** Milliseconds from the answer of the API server until the row can be read. */
async function lag(world: World, report: BenchReport, rate: number): Promise<void> {
  const waiting = new Map<string, { readonly version: bigint; readonly at: number }[]>();
  const lags: number[] = [];
  let writing = true;
  const [first] = await world.query(`SELECT MAX(update_time) AS t FROM \`${kind.table}\``);
  let since = String(first?.['t']);
  const watch = async (): Promise<void> => {
    while (writing || waiting.size > 0) {
      const rows = await world.query(
        `SELECT uid, CAST(res_version AS CHAR) AS v, CAST(update_time AS CHAR) AS t FROM \`${kind.table}\` ` +
          `WHERE update_time >= '${since}' - INTERVAL 1 SECOND ORDER BY update_time`,
      );
      const seen = Date.now();
      for (const row of rows) {
        since = String(row['t']);
        const uid = String(row['uid']);
        const version = BigInt(String(row['v']));
        const left = (waiting.get(uid) ?? []).filter((one) => {
          if (one.version > version) return true;
          lags.push(Math.max(0, seen - one.at));
          return false;
        });
        if (left.length > 0) waiting.set(uid, left);
        else waiting.delete(uid);
      }
      await new Promise((resolve) => setTimeout(resolve, LAG_POLL_MS));
    }
  };
  const watching = watch();
  const before = world.cpu();
  await update(world, rate, RATE_SECONDS, (uid, version) => {
    waiting.set(uid, [...(waiting.get(uid) ?? []), { version: BigInt(version), at: Date.now() }]);
  });
  writing = false;
  await watching;
  const count = rate * RATE_SECONDS;
  const after = world.cpu();
  report.row({
    phase: `updates at ${rate}/s`,
    'objects/s': rate,
    'lag p50 ms': rounded(quantile(lags, 0.5), 0),
    'lag p99 ms': rounded(quantile(lags, 0.99), 0),
    'lag max ms': rounded(Math.max(...lags), 0),
    'our CPU s/1000': rounded(((after.ours - before.ours) / count) * 1000),
    'MySQL CPU s/1000': rounded(((after.mysql - before.mysql) / count) * 1000),
    'peak MiB': rounded(world.peakMib(), 0),
  });
  if (rate === 200) report.figure('lag_p99_ms_200', rounded(quantile(lags, 0.99), 0));
}

/** MySQL is killed while objects change; how long after its return the database is equal to the API server. */
async function outage(world: World, report: BenchReport): Promise<void> {
  const { server } = world.bundle;
  if (server.external) {
    report.note('outage: not measured, the MySQL server is external');
    report.figure('outage_recovery_s', undefined);
    return;
  }
  await server.kill();
  await update(world, OUTAGE_RATE, OUTAGE_SECONDS, () => undefined);
  await server.start();
  const back = Date.now();
  const expected = new Map((await world.objects()).map(({ metadata }) => [metadata.uid, metadata.resourceVersion]));
  const equal = async (): Promise<boolean> => {
    const rows = await world.rows();
    return rows.size === expected.size && [...expected].every(([uid, version]) => rows.get(uid) === version);
  };
  const seconds = ((await until(equal, LIMIT_MS, 'the database is equal to the API server')) - back) / 1000;
  report.row({
    phase: `MySQL away for ${OUTAGE_SECONDS} s`,
    seconds: rounded(seconds),
    'peak MiB': rounded(world.peakMib(), 0),
  });
  report.figure('outage_recovery_s', rounded(seconds));
}
