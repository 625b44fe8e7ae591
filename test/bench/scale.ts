// How the reconciler grows with the number of objects: the built program with its shipped settings and MySQL, and an API
// server that makes the objects of one kind up when they are asked for. Where there are more objects than are copied in
// reasonable time, rows of the others are loaded beforehand; those that are copied come last, when most is in memory.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { whileAllRun } from '../../hack/local/server-died.ts';
import { systemClock } from '../../src/base/clock.ts';
import { CodedError } from '../../src/base/errors.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { type Bench, type BenchReport, type BenchSize, rounded } from './report.ts';
import { type Population, ScaleServer } from './scale-server.ts';
import { measureRestart, type Restart, restingMib, untilIdle } from './settled.ts';
import { bulkLoad } from './storage-bulk-load.ts';
import { comingRows } from './sync-replay.ts';
import { bareListSeconds, type CpuSeconds, cpuSeconds, kind, memoryMib, World } from './sync-world.ts';
import { until } from './until.ts';

const OBJECTS = 1_000_000;
/** The other sizes have one object of so many. */
const SHARES = [100, 10, 1];
const MOST_COPIED = 100_000;
/** Where there are more objects than are copied in reasonable time. */
const COPIED_OF_MANY = 10_000;
/** As large as pages of the reconciler become. */
const PAGE_OBJECTS = 500;
const LIMIT_MS = 1_800_000;
const POLL_MS = 50;

export const scaleBench: Bench = { name: 'scale', run: runScaleBench };

async function runScaleBench(report: BenchReport, { objects = OBJECTS }: BenchSize): Promise<void> {
  // An audit begins a minute after the start, wherever the measurement is then.
  const world = await World.start({ audit: { period: '0s' } }, '/healthz');
  const kubeconfig = join(world.bundle.directory, 'ingester-reconciler.kubeconfig');
  const server = await ScaleServer.inFrontOf(world.bundle.controlPlane, kubeconfig);
  const transport = new PooledTransport({ kubeconfig, context: '', clock: systemClock });
  try {
    const sizes: Size[] = [];
    for (const share of SHARES) {
      const measuring = measure(world, server, { count: Math.ceil(objects / share), transport });
      const size = await whileAllRun([world.bundle.reconciler], measuring);
      sizes.push(size);
      tell(report, size);
    }
    tellSlopes(report, sizes);
  } finally {
    await transport.close();
    server.close();
    await world.stop();
  }
}

interface Size {
  readonly count: number;
  readonly copied: number;
  readonly bareListSeconds: number;
  /** From the first row that was copied to the last. */
  readonly copySeconds: number;
  /** Of the start, the list and the copy, all until it has nothing more to do. */
  readonly firstSeconds: number;
  readonly firstCpu: CpuSeconds;
  readonly firstPeakMib: number;
  readonly firstIdleMib: number;
  readonly diskBytes: number;
  readonly restart: Restart;
  readonly restartCpu: CpuSeconds;
  readonly restartPeakMib: number;
  readonly restartIdleMib: number;
  /** By the commands, without the waits that the reconciler makes between pages. */
  readonly audit: Command | undefined;
  readonly scan: Command;
}

interface Command {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMib: number;
}

async function measure(
  world: World,
  server: ScaleServer,
  { count, transport }: { readonly count: number; readonly transport: PooledTransport },
): Promise<Size> {
  await world.bundle.reconciler.stop();
  await world.clearTables();
  const population = populationOf(count);
  if (population.loaded > 0) await load(world, population.loaded);
  server.population = population;
  const bareBefore = await bareListSeconds(transport, PAGE_OBJECTS);
  const first = await firstList(world, population);
  const beforeRestart = world.cpu().mysql;
  const restart = await measureRestart(world, LIMIT_MS);
  const { ours, mysql } = world.cpu();
  const restartPeakMib = world.peakMib();
  const restartIdleMib = await restingMib(world);
  // Of rows that were loaded the content is not what the product would have written.
  const audit = population.loaded === 0 ? await runCommand(world, ['audit']) : undefined;
  const scan = await runCommand(world, ['evict', '--dry-run']);
  const bare = Math.min(bareBefore, await bareListSeconds(transport, PAGE_OBJECTS));
  return {
    ...{ count, copied: population.more, bareListSeconds: bare, ...first },
    ...{ restart, restartCpu: { ours, mysql: mysql - beforeRestart }, restartPeakMib, restartIdleMib, audit, scan },
  };
}

/** With room for most of a table in MySQL, as the sizing page asks for. */
async function load({ bundle: { database } }: World, rows: number): Promise<void> {
  await database.query('SET GLOBAL innodb_buffer_pool_size = 2147483648');
  await bulkLoad(database, kind, rows);
}

/** Nine in ten of the rows that are loaded are live. */
function populationOf(count: number): Population {
  const groups = count > MOST_COPIED ? Math.floor((count - COPIED_OF_MANY) / 9) : 0;
  return { loaded: groups * 10, more: count - groups * 9 };
}

/** A command beside the reconciler, with its configuration and memory settings and a rule that chooses nothing. */
async function runCommand({ bundle, program }: World, args: readonly string[]): Promise<Command> {
  const configuration = parse(readFileSync(join(bundle.directory, 'reconciler.yaml'), 'utf8')) as object;
  const rules = [{ name: 'none', kinds: [kind.kind], when: "object.metadata.name == 'none'" }];
  const file = join(bundle.directory, 'command.yaml');
  writeFileSync(file, stringify({ ...configuration, eviction: { rules } }), { mode: 0o600 });
  const started = performance.now();
  const child = spawn(process.execPath, [program.main, '--config', file, ...args, '--kind', kind.kind], {
    env: { ...process.env, NODE_COMPILE_CACHE: undefined, ...program.env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit') as Promise<[number | null]>;
  const seen = { peakMib: 0, cpuSeconds: 0 };
  const timer = setInterval(() => {
    // It may have ended since.
    if (!existsSync(`/proc/${child.pid}/status`)) return;
    seen.peakMib = Math.max(seen.peakMib, memoryMib(child.pid, 'VmHWM') || 0);
    seen.cpuSeconds = Math.max(seen.cpuSeconds, cpuSeconds(child.pid) || 0);
  }, POLL_MS);
  const [code] = await ended;
  clearInterval(timer);
  if (code !== 0) throw new CodedError('BENCH_FAILED', `ingester ${args.join(' ')} failed with exit code ${code}`);
  return { seconds: (performance.now() - started) / 1000, ...seen };
}

type First = Pick<Size, 'copySeconds' | 'firstSeconds' | 'firstCpu' | 'firstPeakMib' | 'firstIdleMib' | 'diskBytes'>;

async function firstList(world: World, { loaded, more }: Population): Promise<First> {
  const before = world.cpu().mysql;
  const [stored, inserted] = [await comingRows(world, loaded + more), await world.inserted()];
  await world.bundle.reconciler.start();
  const began = await until(
    async () => (await world.inserted()) > inserted,
    LIMIT_MS,
    'the first object has a row',
    POLL_MS,
  );
  const ended = await stored('every object has a row');
  await untilIdle(world, LIMIT_MS);
  const { ours, mysql } = world.cpu();
  return {
    copySeconds: (ended - began) / 1000,
    firstSeconds: (world.comparedAt() - world.startedAt()) / 1000,
    firstCpu: { ours, mysql: mysql - before },
    firstPeakMib: world.peakMib(),
    firstIdleMib: await restingMib(world),
    diskBytes: await world.diskBytes(),
  };
}

function tell(report: BenchReport, size: Size): void {
  const { count, copied, restart } = size;
  const per1000 = (value: number, objects: number): number => rounded((value / objects) * 1000, 3);
  const line = (phase: string, cells: Readonly<Record<string, number>>): void => report.row({ phase, ...cells });
  const bare = rounded(size.bareListSeconds);
  line(`${count}: bare list`, { seconds: bare, 's/1000': per1000(size.bareListSeconds, count) });
  line(`${count}: first list, ${copied} of them copied`, {
    seconds: rounded(size.firstSeconds),
    's/1000': per1000(size.copySeconds, copied),
    'our CPU s/1000': per1000(size.firstCpu.ours, count),
    'MySQL CPU s/1000': per1000(size.firstCpu.mysql, count),
    'peak MiB': rounded(size.firstPeakMib, 0),
    'idle MiB': rounded(size.firstIdleMib, 0),
    writes: copied,
  });
  line(`${count}: restart, nothing changed`, {
    seconds: rounded(restart.seconds),
    's/1000': per1000(restart.seconds, count),
    'our CPU s/1000': per1000(size.restartCpu.ours, count),
    'MySQL CPU s/1000': per1000(size.restartCpu.mysql, count),
    'peak MiB': rounded(size.restartPeakMib, 0),
    'idle MiB': rounded(size.restartIdleMib, 0),
    writes: restart.rowWrites,
  });
  for (const [name, command] of [['audit', size.audit] as const, ['eviction scan', size.scan] as const]) {
    if (command === undefined) continue;
    line(`${count}: ${name}`, {
      seconds: rounded(command.seconds),
      's/1000': per1000(command.seconds, count),
      'our CPU s/1000': per1000(command.cpuSeconds, count),
      'peak MiB': rounded(command.peakMib, 0),
    });
  }
  const figure = (name: string, value: number): void => report.figure(`${name}_${nameOf(count)}`, value);
  figure('bare_list_seconds', bare);
  figure('copy_seconds_per_1k', per1000(size.copySeconds, copied));
  figure('first_list_peak_rss_mib', rounded(size.firstPeakMib, 0));
  figure('idle_rss_mib', rounded(idleMib(size), 0));
  figure('restart_seconds', rounded(restart.seconds));
  figure('restart_peak_rss_mib', rounded(size.restartPeakMib, 0));
  figure('restart_row_writes', restart.rowWrites);
  figure('restart_cpu_seconds_per_1k', per1000(size.restartCpu.ours, count));
  if (copied === count) figure('mysql_disk_bytes_per_object', rounded(size.diskBytes / count, 0));
  figure('scan_peak_rss_mib', rounded(size.scan.peakMib, 0));
  if (size.audit !== undefined) figure('audit_peak_rss_mib', rounded(size.audit.peakMib, 0));
  figure('restart_mysql_cpu_seconds_per_1k', per1000(size.restartCpu.mysql, count));
}

function idleMib({ firstIdleMib, restartIdleMib }: Size): number {
  return Math.max(firstIdleMib, restartIdleMib);
}

/** `10k`, `1m`; the number itself where it is no round one. */
function nameOf(count: number): string {
  if (count % 1_000_000 === 0) return `${count / 1_000_000}m`;
  return count % 1000 === 0 ? `${count / 1000}k` : String(count);
}

/** What one object more takes, from the least to the most of them. */
function tellSlopes(report: BenchReport, sizes: readonly Size[]): void {
  const [few, many] = [sizes[0], sizes.at(-1)];
  if (few === undefined || many === undefined) return;
  const slope = (mibOf: (size: Size) => number): number =>
    rounded(((mibOf(many) - mibOf(few)) * 1024 * 1024) / (many.count - few.count), 0);
  report.figure('rss_slope_bytes_per_object', slope(idleMib));
  report.figure(
    'first_list_peak_slope_bytes_per_object',
    slope(({ firstPeakMib }) => firstPeakMib),
  );
  report.figure(
    'restart_peak_slope_bytes_per_object',
    slope(({ restartPeakMib }) => restartPeakMib),
  );
}
