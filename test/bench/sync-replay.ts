// A replay, existing objects into an empty database, and its ceiling: bare inserts of the same rows.
import { createConnection } from 'mysql2/promise';
import type { RoleOptions } from '../../hack/local/role-process.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { prepareBatch, writePrepared } from './ceiling-writer.ts';
import { type BenchReport, median, rounded, spread } from './report.ts';
import { type CpuSeconds, World } from './sync-world.ts';
import { until } from './until.ts';

const CEILING_BATCH = 128;
const CEILING_LANES = 3;
/** The writer gathers as many bytes at most. */
const CEILING_BATCH_BYTES = 4 * 1024 * 1024;
/** Of a replay, and so much more for each object. */
const LIMIT_MS = 120_000;
const LIMIT_PER_OBJECT_MS = 5;
/** Between two looks at the rows that are there: often enough to be exact to a fiftieth, seldom enough not to matter. */
const STORED_POLL_MS = 100;

/** A cluster and a database of their own. `readyPath` is what the start of the reconciler waits for. */
export async function inWorld(
  work: (world: World) => Promise<void>,
  readyPath?: RoleOptions['readyPath'],
): Promise<void> {
  const world = await World.start({}, readyPath);
  try {
    await work(world);
  } finally {
    await world.stop();
  }
}

export interface Copy {
  readonly objects: number;
  readonly seconds: number;
  readonly cpu: CpuSeconds;
}

export const perSecond = ({ objects, seconds }: Copy): number => objects / seconds;
export const mysqlCpu = ({ cpu }: Copy): number => cpu.mysql;

/** Bare multi-row inserts of these rows into empty tables, all ready before the clock starts. */
export async function measureCeiling(world: World, rows: readonly ObjectRow[]): Promise<Copy> {
  await emptied(world);
  const { server, database } = world.bundle;
  const { host, port } = server;
  const access = { host, port, database: database.name, ...database.writer, charset: 'utf8mb4_bin' };
  const connections = await Promise.all(Array.from({ length: CEILING_LANES }, () => createConnection(access)));
  const size = batchSize(rows);
  const batches = Array.from({ length: Math.ceil(rows.length / size) }, (_, index) =>
    prepareBatch(rows.slice(index * size, (index + 1) * size)),
  );
  const before = world.cpu().mysql;
  const started = performance.now();
  const entries = batches.values();
  await Promise.all(
    connections.map(async (connection) => {
      for (const batch of entries) await writePrepared(connection, batch);
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  const cpu = { ours: Number.NaN, mysql: world.cpu().mysql - before };
  for (const connection of connections) connection.destroy();
  return { objects: rows.length, seconds, cpu };
}

/** Rows of one transaction, as many as the writer gathers. */
function batchSize(rows: readonly ObjectRow[]): number {
  const bytes = rows.reduce((sum, { json, proto }) => sum + json.length + proto.byteLength, 0);
  return Math.min(CEILING_BATCH, Math.ceil((CEILING_BATCH_BYTES * rows.length) / bytes));
}

/**
 * Of all objects, by a reconciler that starts with empty tables, from the moment it says that it works. Its processor time
 * is that of its start too.
 */
export async function measureReplay(world: World, objects: number): Promise<Copy> {
  await emptied(world);
  const before = world.cpu().mysql;
  const stored = await comingRows(world, objects);
  const starting = world.bundle.reconciler.start();
  const ended = await stored('every object has a row');
  await starting;
  const { ours, mysql } = world.cpu();
  const seconds = (ended - world.startedAt()) / 1000;
  return { objects, seconds, cpu: { ours, mysql: mysql - before } };
}

async function emptied(world: World): Promise<void> {
  await world.bundle.reconciler.stop();
  await world.clearTables();
}

/**
 * Asked before the rows come; the answer waits until the table has this many. They are counted only when as many were
 * inserted: counting reads every row, and took an eighth of the server from what was measured.
 */
export async function comingRows(world: World, rows: number): Promise<(what: string) => Promise<number>> {
  const wanted = (await world.inserted()) + rows - (await world.count());
  const there = async (): Promise<boolean> => (await world.inserted()) >= wanted && (await world.count()) === rows;
  return (what) => until(there, LIMIT_MS + rows * LIMIT_PER_OBJECT_MS, what, STORED_POLL_MS);
}

/** A line of the table: the medians, and the spread of the rate. */
export function tellCopies(report: BenchReport, phase: string, copies: readonly Copy[]): void {
  const rates = copies.map(perSecond);
  const per1000 = (pick: (copy: Copy) => number): number =>
    rounded(median(copies.map((copy) => (pick(copy) / copy.objects) * 1000)));
  report.row({
    phase,
    'objects/s': rounded(median(rates), 0),
    spread: spread(rates, 0),
    seconds: rounded(median(copies.map(({ seconds }) => seconds))),
    ...(copies.every(({ cpu }) => Number.isNaN(cpu.ours)) ? {} : { 'our CPU s/1000': per1000(({ cpu }) => cpu.ours) }),
    'MySQL CPU s/1000': per1000(mysqlCpu),
  });
}
