// End to end: objects in a real API server, rows in a real MySQL, the reconciler as a process with its shipped settings.
import { randomUUID } from 'node:crypto';
import { CodedError } from '../../src/base/errors.ts';
import {
  type Bench,
  type BenchReport,
  type BenchSize,
  bucketQuantile,
  inTurns,
  median,
  quantile,
  ratios,
  rounded,
  spread,
} from './report.ts';
import { untilIdle, untilKindsAreFound } from './settled.ts';
import { measureReplays, replaySizes } from './sync-delayed.ts';
import { comingRows, inWorld } from './sync-replay.ts';
import { type CpuSeconds, kind, resource, uids, type World } from './sync-world.ts';
import { until } from './until.ts';

const OBJECTS = 10_000;
/** Creates of one burst: of the objects, one of so many. */
const BURST_SHARE = 4;
const BURST_ROUNDS = 5;
const NONE: CpuSeconds = { ours: Number.NaN, mysql: Number.NaN };
const UPDATED = 2000;
const RATE = 200;
const OTHER_RATES = [100, 400];
const LAG_ROUNDS = 5;
const RATE_SECONDS = 15;
const OUTAGE_SECONDS = 60;
const OUTAGE_RATE = 50;
const LIMIT_MS = 120_000;
/** Between two looks at the rows that changed. What one sees and the one before did not came half-way between them. */
const LAG_POLL_MS = 20;
const LAG_METRIC = 'ingester_change_lag_seconds';

export const syncBench: Bench = { name: 'sync', run: runSyncBench };

async function runSyncBench(report: BenchReport, { objects = OBJECTS }: BenchSize): Promise<void> {
  const peaks: number[] = [];
  const [small, ...larger] = replaySizes;
  await inWorld(async (world) => {
    report.note(
      `MySQL ${world.bundle.server.version}, durable; ${objects} objects of 2 KB with 8 labels, 4 annotations`,
    );
    await measureReplays(world, report, small, objects);
    await burst(world, report, objects);
    await outage(world, report);
    peaks.push(world.peakMib());
  });
  await inWorld(async (world) => {
    await world.bundle.reconciler.start();
    await world.create(uids('updated', UPDATED));
    await untilKindsAreFound(world.bundle.controlPlane);
    report.note(`updates over ${UPDATED} objects, the only ones of this cluster`);
    for (const rate of OTHER_RATES) await lag(world, report, rate);
    const rounds = [];
    for (let round = 0; round < LAG_ROUNDS; round += 1) rounds.push(await lag(world, report, RATE));
    report.rounds(
      'lag_p99_ms_200',
      rounds.map(({ p99 }) => p99),
      0,
    );
    report.rounds(
      'lag_vs_api_p99_200',
      rounds.map(({ ratio }) => ratio),
    );
    report.rounds(
      'lag_histogram_vs_client_p50',
      rounds.map(({ told }) => told),
    );
    peaks.push(world.peakMib());
  });
  for (const size of larger) await inWorld((world) => measureReplays(world, report, size, objects));
  report.figure('rss_mib', rounded(Math.max(...peaks), 0));
}

/** As many creates as the API server takes, by turns with the reconciler and without it. */
async function burst(world: World, report: BenchReport, objects: number): Promise<void> {
  const count = Math.ceil(objects / BURST_SHARE);
  const names = (name: string, round: number): readonly string[] => uids(`${name}-${round}`, count);
  const { alone, beside } = await inTurns(BURST_ROUNDS, {
    alone: async (round) => {
      await world.bundle.reconciler.stop();
      return { created: await createdPerSecond(world, names('alone', round)), behindMs: Number.NaN, cpu: NONE };
    },
    beside: async (round) => {
      await world.bundle.reconciler.start();
      // What the source still hands on is in no queue yet, so an idle queue alone does not say that all is stored.
      await until(async () => (await world.count()) === world.created, LIMIT_MS, 'what was created before is stored');
      await untilIdle(world);
      const before = world.cpu();
      const allStored = await comingRows(world, (await world.count()) + count);
      const created = await createdPerSecond(world, names('beside', round));
      const ended = Date.now();
      const behindMs = (await allStored('the burst is stored')) - ended;
      const after = world.cpu();
      return { created, behindMs, cpu: { ours: after.ours - before.ours, mysql: after.mysql - before.mysql } };
    },
  });
  const per1000 = (pick: (cpu: CpuSeconds) => number): number =>
    rounded((median(beside.map(({ cpu }) => pick(cpu))) / count) * 1000);
  const [bare, rates] = [alone, beside].map((of) => of.map(({ created }) => created)) as [number[], number[]];
  report.row({ phase: 'creates, API server alone', 'objects/s': rounded(median(bare), 0), spread: spread(bare, 0) });
  report.row({
    phase: `bursts of ${count} creates`,
    'objects/s': rounded(median(rates), 0),
    spread: spread(rates, 0),
    'behind ms': median(beside.map(({ behindMs }) => behindMs)),
    'our CPU s/1000': per1000(({ ours }) => ours),
    'MySQL CPU s/1000': per1000(({ mysql }) => mysql),
    'peak MiB': rounded(world.peakMib(), 0),
  });
  report.rounds('burst_vs_api_alone', ratios(rates, bare));
}

async function createdPerSecond(world: World, names: readonly string[]): Promise<number> {
  const started = performance.now();
  await world.create(names);
  return (names.length / (performance.now() - started)) * 1000;
}

/** Updates at a steady rate, whatever the answers take. Resolves with the milliseconds that each answer took. */
async function update(
  world: World,
  rate: number,
  seconds: number,
  answered: (uid: string, version: string) => void,
): Promise<readonly number[]> {
  const objects = (await world.objects()).slice(0, UPDATED);
  const calls: Promise<number>[] = [];
  // A patch that says what the one of another round has said changes nothing.
  const round = randomUUID().slice(0, 8);
  const started = performance.now();
  for (let index = 0; index < rate * seconds; index += 1) {
    const wait = started + (index * 1000) / rate - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    const { namespace, name } = objects[index % objects.length]!.metadata;
    const patch = { spec: { input: { attempt: index } }, metadata: { labels: { round: `${round}-${index}` } } };
    const asked = performance.now();
    const call = world.client.mergePatch({ resource, namespace, name }, patch);
    calls.push(
      call.then(({ metadata }) => {
        answered(metadata.uid, metadata.resourceVersion);
        return performance.now() - asked;
      }),
    );
  }
  return Promise.all(calls);
}

/**
 * Milliseconds from the answer of the API server until the row can be read. Returns the p99 of them, their ratio to the
 * p99 of what the API server takes for its answers, and the ratio of the median that the reconciler's histogram tells to
 * theirs.
 */
async function lag(
  world: World,
  report: BenchReport,
  rate: number,
): Promise<{ readonly p99: number; readonly ratio: number; readonly told: number }> {
  const waiting = new Map<string, { readonly version: bigint; readonly at: number }[]>();
  const lags: number[] = [];
  let writing = true;
  const [first] = await world.query(`SELECT MAX(update_time) AS t FROM \`${kind.table}\``);
  const began = String(first?.['t']);
  let since = began;
  let writtenAt = Date.now();
  let lookedAt = writtenAt;
  const watch = async (): Promise<void> => {
    while (writing || waiting.size > 0) {
      if (Date.now() - writtenAt > LIMIT_MS)
        throw new CodedError('BENCH', `${waiting.size} objects are not stored, such as ${[...waiting.keys()][0]}`);
      // Rows are seen in another order than they were timed; the last look is at all of them.
      const from = writing ? `'${since}' - INTERVAL 1 SECOND` : `'${began}'`;
      const lookedBefore = lookedAt;
      lookedAt = Date.now();
      const rows = await world.query(
        `SELECT uid, CAST(res_version AS CHAR) AS v, CAST(update_time AS CHAR) AS t FROM \`${kind.table}\` ` +
          `WHERE update_time >= ${from} ORDER BY update_time`,
      );
      const cameAt = (lookedBefore + lookedAt) / 2;
      for (const row of rows) {
        since = String(row['t']);
        const uid = String(row['uid']);
        const version = BigInt(String(row['v']));
        const left = (waiting.get(uid) ?? []).filter((one) => {
          if (one.version > version) return true;
          lags.push(Math.max(0, cameAt - one.at));
          return false;
        });
        if (left.length > 0) waiting.set(uid, left);
        else waiting.delete(uid);
      }
      await new Promise((resolve) => setTimeout(resolve, LAG_POLL_MS));
    }
  };
  const watching = watch();
  const bucketsBefore = await world.buckets(LAG_METRIC);
  const before = world.cpu();
  const answers = await update(world, rate, RATE_SECONDS, (uid, version) => {
    writtenAt = Date.now();
    waiting.set(uid, [...(waiting.get(uid) ?? []), { version: BigInt(version), at: writtenAt }]);
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
    'API p50 ms': rounded(quantile(answers, 0.5), 0),
    'API p99 ms': rounded(quantile(answers, 0.99), 0),
    'our CPU s/1000': rounded(((after.ours - before.ours) / count) * 1000),
    'MySQL CPU s/1000': rounded(((after.mysql - before.mysql) / count) * 1000),
    'peak MiB': rounded(world.peakMib(), 0),
  });
  const p99 = quantile(lags, 0.99);
  const toldMs = bucketQuantile(bucketsBefore, await world.buckets(LAG_METRIC), 0.5) * 1000;
  return { p99, ratio: p99 / quantile(answers, 0.99), told: toldMs / quantile(lags, 0.5) };
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
