// What becomes of a first copy and of a restart at ten times the size. Two worlds take turns, so that what else the machine
// does meets both sizes alike.
import { type Bench, type BenchReport, type BenchSize, inTurns, median, ratios, rounded } from './report.ts';
import { measureRestart, type Restart, untilKindsAreFound } from './settled.ts';
import { type Copy, inWorld, measureReplay, perSecond, tellCopies } from './sync-replay.ts';
import { uids, type World } from './sync-world.ts';

const OBJECTS = 100_000;
/** The smaller world has one object of so many. */
const TIMES = 10;
const ROUNDS = 3;
/** Of the bare list: as large as pages of the reconciler become. */
const PAGE_OBJECTS = 500;

export const largeSyncBench: Bench = {
  name: 'sync-large',
  chart: 'Objects a second into an empty database, by the number of objects',
  run: runLargeBench,
};

async function runLargeBench(report: BenchReport, { objects = OBJECTS }: BenchSize): Promise<void> {
  const few = Math.ceil(objects / TIMES);
  await inWorld((small) =>
    inWorld(async (large) => {
      for (const [world, count] of [[small, few] as const, [large, objects] as const]) {
        const creating = performance.now();
        await world.create(uids('replay', count));
        await untilKindsAreFound(world.bundle.controlPlane);
        report.note(`created ${count} objects of 2 KB in ${rounded((performance.now() - creating) / 1000, 0)} s`);
      }
      const rounds = await inTurns(ROUNDS, { few: () => round(small, few), all: () => round(large, objects) });
      tell(report, few, rounds.few);
      tell(report, objects, rounds.all);
      const speeds = (of: readonly Round[]): readonly number[] => of.map(({ copy }) => perSecond(copy));
      report.rounds('replay_100k_vs_10k', ratios(speeds(rounds.all), speeds(rounds.few)));
      report.rounds(
        'gets_per_1k_objects_100k',
        rounds.all.map(({ reads }) => (reads / objects) * 1000),
      );
      const most = (of: readonly Round[], pick: (round: Round) => number): number =>
        rounded(Math.max(...of.map(pick)), 0);
      report.figure(
        'rss_mib_100k_replay',
        most(rounds.all, ({ replayMib }) => replayMib),
      );
      report.rounds('restart_vs_list', restarts(rounds.few));
      report.rounds('restart_100k_vs_list', restarts(rounds.all));
      report.figure(
        'rss_mib_100k_restart',
        most(rounds.all, ({ restartMib }) => restartMib),
      );
      report.figure(
        'restart_row_writes',
        most([...rounds.few, ...rounds.all], ({ restart }) => restart.rowWrites),
      );
      // Ready only when all is stored, which may take minutes.
    }, '/healthz'),
  );
}

interface Round {
  readonly copy: Copy;
  /** Calls for single objects during the copy. */
  readonly reads: number;
  readonly replayMib: number;
  readonly restart: Restart;
  readonly restartMib: number;
  readonly listSeconds: number;
}

async function round(world: World, objects: number): Promise<Round> {
  const before = await world.objectReads();
  const copy = await measureReplay(world, objects);
  const reads = (await world.objectReads()) - before;
  const replayMib = world.peakMib();
  const restart = await measureRestart(world);
  const restartMib = world.peakMib();
  await world.bundle.reconciler.stop();
  return { copy, reads, replayMib, restart, restartMib, listSeconds: await world.bareListSeconds(PAGE_OBJECTS) };
}

function restarts(of: readonly Round[]): readonly number[] {
  return ratios(
    of.map(({ restart }) => restart.seconds),
    of.map(({ listSeconds }) => listSeconds),
  );
}

function tell(report: BenchReport, objects: number, of: readonly Round[]): void {
  const copies = of.map(({ copy }) => copy);
  tellCopies(report, `first copy of ${objects}`, copies);
  report.bar({ group: '2 KB objects', series: `${objects} objects`, values: copies.map(perSecond) });
  const seconds = rounded(median(of.map(({ restart }) => restart.seconds)));
  report.row({ phase: `restart with ${objects}`, 'objects/s': rounded(objects / seconds, 0), seconds });
  const list = rounded(median(of.map(({ listSeconds }) => listSeconds)));
  report.row({ phase: `bare list of ${objects}`, 'objects/s': rounded(objects / list, 0), seconds: list });
}
