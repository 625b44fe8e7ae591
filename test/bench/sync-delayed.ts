// Replays of objects of several sizes, with the network to MySQL as it is and with a delay in it, beside bare inserts of
// the same rows. A proxy, which every replay goes through, puts the delay in each direction, so a question and its answer
// take twice as long. The bare inserts have no proxy.
import { createConnection } from 'mysql2/promise';
import { rowOf } from '../support/objects.ts';
import { type Bench, type BenchReport, type BenchSize, inTurns, median, ratios, rounded } from './report.ts';
import { untilKindsAreFound } from './settled.ts';
import { type Copy, inWorld, measureCeiling, measureReplay, mysqlCpu, perSecond, tellCopies } from './sync-replay.ts';
import { uids, type World } from './sync-world.ts';

const OBJECTS = 10_000;
const ROUNDS = 5;
const PINGS = 50;

export interface ReplaySize {
  readonly name: string;
  readonly bytes: number;
  /** Of the number of objects: larger ones are fewer, because their bytes are what takes the time. */
  readonly share: number;
  /** Of its figures. */
  readonly ending: string;
}

export const replaySizes: readonly [ReplaySize, ...ReplaySize[]] = [
  { name: '2 KB', bytes: 2000, share: 1, ending: '' },
  { name: '10 KB', bytes: 10_000, share: 0.5, ending: '_10k' },
  { name: '100 KB', bytes: 100_000, share: 0.05, ending: '_100k' },
];

export const delayedSyncBench: Bench = {
  name: 'sync-delayed',
  chart: 'Objects a second into an empty database, beside bare inserts of the same rows',
  run: runDelayedBench,
};

async function runDelayedBench(report: BenchReport, { objects = OBJECTS }: BenchSize): Promise<void> {
  for (const size of replaySizes) await inWorld((world) => measureReplays(world, report, size, objects));
}

/** The last replay's rows stay. */
export async function measureReplays(
  world: World,
  report: BenchReport,
  { name, bytes, share, ending }: ReplaySize,
  objects: number,
): Promise<void> {
  const count = Math.ceil(objects * share);
  const creating = performance.now();
  const created = await world.create(uids('replay', count), undefined, bytes);
  report.note(`created ${count} objects of ${name} in ${rounded((performance.now() - creating) / 1000, 1)} s`);
  await untilKindsAreFound(world.bundle.controlPlane);
  const rows = created.map(rowOf);
  const after = (ms: number) => async (): Promise<Copy> => {
    world.bundle.databaseLink.delay(ms);
    return measureReplay(world, count);
  };
  const copies = await inTurns(ROUNDS, {
    'bare inserts': () => measureCeiling(world, rows),
    'delay 3 ms': after(3),
    'delay 1 ms': after(1),
    'no delay': after(0),
  });
  for (const [variant, of] of Object.entries(copies)) {
    tellCopies(report, `${count} of ${name}, ${variant}`, of);
    report.bar({ group: `${name} objects`, series: variant, values: of.map(perSecond) });
  }
  const [ceiling, replay] = [copies['bare inserts'], copies['no delay']];
  const against = (of: readonly Copy[], pick: (copy: Copy) => number, base: readonly Copy[]): readonly number[] =>
    ratios(of.map(pick), base.map(pick));
  report.rounds(`replay_vs_ceiling${ending}`, against(replay, perSecond, ceiling));
  report.rounds(`mysql_cpu_vs_bare${ending}`, against(replay, mysqlCpu, ceiling));
  report.rounds(
    `replay_cpu_s_per_1k${ending}`,
    replay.map(({ cpu }) => (cpu.ours / count) * 1000),
    3,
  );
  report.rounds(`replay_1ms_vs_0ms${ending}`, against(copies['delay 1 ms'], perSecond, replay));
  report.rounds(`replay_3ms_vs_0ms${ending}`, against(copies['delay 3 ms'], perSecond, replay));
  report.note(`a question and its answer take ${rounded(await pingMs(world, 3))} ms with a delay of 3 ms`);
}

/** What the proxy makes of a delay. */
async function pingMs({ bundle: { databaseLink, database } }: World, delayMs: number): Promise<number> {
  databaseLink.delay(delayMs);
  const { host, port } = databaseLink;
  const connection = await createConnection({ host, port, ...database.writer });
  const times: number[] = [];
  for (let ping = 0; ping < PINGS; ping += 1) {
    const started = performance.now();
    await connection.ping();
    times.push(performance.now() - started);
  }
  connection.destroy();
  databaseLink.delay(0);
  return median(times);
}
