// How fast objects get into MySQL, on one durable server and in one run: our way, the original's way, and the ceiling.
import { type Connection, createConnection } from 'mysql2/promise';
import { type BundleDatabase, createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { startDatabase } from '../../hack/local/mysql.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { tablesOf } from '../../src/storage/mysql/schema/tables.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { migrateAll } from '../support/migrations.ts';
import { kindNamed } from '../support/objects.ts';
import { prepareBatch, writePrepared } from './ceiling-writer.ts';
import { OriginalWriter, originalTables, type Preparing } from './original-writer.ts';
import { type Bench, type BenchReport, median, rounded } from './report.ts';
import { type Cost, Meter } from './storage-meter.ts';
import { benchRow } from './storage-objects.ts';
import { reads } from './storage-reads.ts';

const ROUNDS = 3;
const OUR_OBJECTS = 4096;
const ORIGINAL_OBJECTS = { one: 150, ten: 500 };
const OUR_CALLERS = 256;
const LANES = 3;
const CEILING_BATCH = 128;
const PREFIX = 'original_';
const sizes = [
  { name: '2 KB', bytes: 2000 },
  { name: '10 KB', bytes: 10_000 },
] as const;
const kind = kindNamed('PipelineRun');

export const storageBench: Bench = { name: 'storage', run: runStorageBench };

interface Context {
  readonly meter: Meter;
  readonly database: BundleDatabase;
  readonly storage: MysqlMetadataStorage;
  readonly connections: readonly Connection[];
  readonly report: BenchReport;
}

async function runStorageBench(report: BenchReport): Promise<void> {
  const server = await startDatabase({ flavour: 'mysql' });
  const database = await createBundleDatabase(server);
  try {
    const account = { host: server.host, port: server.port, database: database.name };
    const options: MysqlOptions = {
      ...account,
      ...database.writer,
      maxOpenConns: 10,
      maxIdleConns: 10,
      connMaxLifetimeMs: 0,
    };
    await migrateAll({ ...options, ...database.migrator });
    for (const statement of originalTables(kind, PREFIX)) await database.query(statement);
    const storage = new MysqlMetadataStorage(options, systemClock);
    const access = { ...account, ...database.writer, charset: 'utf8mb4_bin' };
    const connections = await Promise.all(Array.from({ length: 10 }, () => createConnection(access)));
    report.note(`MySQL ${server.version}, durable (flush at commit, synced binary log); medians of ${ROUNDS} rounds`);
    await writes({ meter: new Meter(server, database), database, storage, connections, report });
    for (const table of tablesOf(kind)) await database.query(`TRUNCATE TABLE \`${table}\``);
    await reads(report, database, storage, kind);
    await storage.close();
    for (const connection of connections) connection.destroy();
    if (server.external) await database.drop();
  } finally {
    await server.dispose();
  }
}

const variants = ['ours', 'original-1', 'original-10', 'original-10-kept', 'ceiling'] as const;
type Variant = (typeof variants)[number];
const phases = ['insert', 'update'] as const;
type Phase = (typeof phases)[number];

async function writes(context: Context): Promise<void> {
  const ratios = new Map<string, number[]>();
  for (const { name, bytes } of sizes) {
    const costs = new Map<string, Cost[]>();
    for (let round = 0; round < ROUNDS; round += 1) await oneRound(context, { bytes, round, costs });
    report(context.report, name, costs, ratios);
  }
  // Of the two sizes the worse one counts.
  const worst = (key: string, pick: (...values: number[]) => number): number =>
    rounded(pick(...(ratios.get(key) ?? [])));
  const higherIsBetter = [
    'insert_vs_original_10',
    'update_vs_original_10',
    'insert_vs_ceiling',
    'insert_vs_original_10_kept',
    'update_vs_ceiling',
    'update_ceiling_vs_original_10',
  ];
  for (const key of higherIsBetter) context.report.figure(key, worst(key, Math.min));
  context.report.figure('server_cpu_vs_original', worst('server_cpu_vs_original', Math.max));
}

interface Round {
  readonly bytes: number;
  readonly round: number;
  readonly costs: Map<string, Cost[]>;
}

async function oneRound(context: Context, { bytes, round, costs }: Round): Promise<void> {
  for (const variant of variants) {
    const prefix = variant.startsWith('original') ? PREFIX : '';
    for (const table of tablesOf(kind)) await context.database.query(`TRUNCATE TABLE \`${prefix}${table}\``);
    const uids = Array.from({ length: countOf(variant) }, (_, index) => `${variant}-${bytes}-${round}-${index}`);
    for (const phase of phases) {
      const rows = uids.map((uid) => benchRow(uid, phase === 'insert' ? 1 : 2, bytes));
      const cost = await writeRows(context, { variant, phase }, rows);
      const key = `${variant} ${phase}`;
      costs.set(key, [...(costs.get(key) ?? []), cost]);
    }
  }
}

function countOf(variant: Variant): number {
  if (variant === 'original-1') return ORIGINAL_OBJECTS.one;
  return variant.startsWith('original') ? ORIGINAL_OBJECTS.ten : OUR_OBJECTS;
}

interface Writing {
  readonly variant: Variant;
  readonly phase: Phase;
}

async function writeRows(context: Context, { variant, phase }: Writing, rows: readonly ObjectRow[]): Promise<Cost> {
  const { meter, storage, connections } = context;
  switch (variant) {
    case 'ours':
      return meter.measure(rows, OUR_CALLERS, (row) => storage.upsert(row));
    case 'original-1':
      return original(context, rows, 1, 'each-time');
    case 'original-10':
      return original(context, rows, 10, 'each-time');
    case 'original-10-kept':
      return original(context, rows, 10, 'kept');
    case 'ceiling': {
      const batches = Array.from({ length: rows.length / CEILING_BATCH }, (_, index) =>
        prepareBatch(rows.slice(index * CEILING_BATCH, (index + 1) * CEILING_BATCH), phase),
      );
      const cost = await meter.measure(batches, LANES, (batch, lane) => writePrepared(connections[lane]!, batch));
      return {
        ...cost,
        objectsPerSecond: cost.objectsPerSecond * CEILING_BATCH,
        serverMicros: cost.serverMicros / CEILING_BATCH,
        clientMicros: cost.clientMicros / CEILING_BATCH,
        statementsPerObject: cost.statementsPerObject / CEILING_BATCH,
      };
    }
  }
}

function original(
  { meter, connections }: Context,
  rows: readonly ObjectRow[],
  callers: number,
  preparing: Preparing,
): Promise<Cost> {
  const writers = connections.slice(0, callers).map((connection) => new OriginalWriter(connection, PREFIX, preparing));
  return meter.measure(rows, callers, (row, caller) => writers[caller]!.upsert(row));
}

function report(
  to: BenchReport,
  size: string,
  costs: ReadonlyMap<string, readonly Cost[]>,
  ratios: Map<string, number[]>,
): void {
  const figure = (key: string, field: keyof Cost): number => median((costs.get(key) ?? []).map((cost) => cost[field]));
  for (const key of costs.keys()) {
    to.row({
      write: `${size} ${key}`,
      'objects/s': rounded(figure(key, 'objectsPerSecond'), 0),
      'p50 ms': rounded(figure(key, 'p50')),
      'p99 ms': rounded(figure(key, 'p99')),
      'server us': rounded(figure(key, 'serverMicros'), 0),
      'client us': rounded(figure(key, 'clientMicros'), 0),
      statements: rounded(figure(key, 'statementsPerObject')),
    });
  }
  const ratio = (name: string, left: string, right: string, field: keyof Cost = 'objectsPerSecond'): void => {
    ratios.set(name, [...(ratios.get(name) ?? []), figure(left, field) / figure(right, field)]);
  };
  ratio('insert_vs_original_10', 'ours insert', 'original-10 insert');
  ratio('update_vs_original_10', 'ours update', 'original-10 update');
  ratio('insert_vs_original_10_kept', 'ours insert', 'original-10-kept insert');
  ratio('insert_vs_ceiling', 'ours insert', 'ceiling insert');
  ratio('update_vs_ceiling', 'ours update', 'ceiling update');
  ratio('update_ceiling_vs_original_10', 'ceiling update', 'original-10 update');
  ratio('server_cpu_vs_original', 'ours insert', 'original-10 insert', 'serverMicros');
}
