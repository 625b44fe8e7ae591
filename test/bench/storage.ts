// How fast objects get into MySQL, on one durable server and in one run: our way and the ceiling, a bare loop of statements
// with the same bytes.
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
import { type Bench, type BenchReport, inTurns, median, ratios, rounded, spread } from './report.ts';
import { type Cost, Meter } from './storage-meter.ts';
import { benchRow } from './storage-objects.ts';
import { reads } from './storage-reads.ts';

const ROUNDS = 5;
const OBJECTS = 4096;
const CALLERS = 256;
const LANES = 3;
const CEILING_BATCH = 128;
const sizes = [
  { name: '2 KB', key: '2k', bytes: 2000 },
  { name: '10 KB', key: '10k', bytes: 10_000 },
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
    const storage = new MysqlMetadataStorage(options, systemClock);
    const access = { ...account, ...database.writer, charset: 'utf8mb4_bin' };
    const connections = await Promise.all(Array.from({ length: LANES }, () => createConnection(access)));
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

const variants = ['ours', 'ceiling'] as const;
type Variant = (typeof variants)[number];
const phases = ['insert', 'update'] as const;
type Phase = (typeof phases)[number];

async function writes(context: Context): Promise<void> {
  const { report } = context;
  const worst = new Map<string, number[]>();
  for (const { name, key, bytes } of sizes) {
    const costs = await inTurns(ROUNDS, {
      ours: (round) => insertThenUpdate(context, 'ours', `${key}-${round}`, bytes),
      ceiling: (round) => insertThenUpdate(context, 'ceiling', `${key}-${round}`, bytes),
    });
    for (const phase of phases) {
      const [ours, ceiling] = variants.map((variant) => costs[variant].map((cost) => cost[phase])) as [Cost[], Cost[]];
      tell(report, `${name} ${phase}, ours`, ours);
      tell(report, `${name} ${phase}, ceiling`, ceiling);
      const ratio = ratios(ours.map(rateOf), ceiling.map(rateOf));
      report.rounds(`${phase}_vs_ceiling_${key}`, ratio);
      worst.set(phase, [...(worst.get(phase) ?? []), median(ratio)]);
      const cpu = (of: readonly Cost[]): readonly number[] => of.map(({ serverMicros }) => serverMicros);
      report.rounds(`${phase}_server_cpu_vs_ceiling_${key}`, ratios(cpu(ours), cpu(ceiling)));
    }
  }
  for (const phase of phases) report.figure(`${phase}_vs_ceiling`, rounded(Math.min(...(worst.get(phase) ?? []))));
}

const rateOf = ({ objectsPerSecond }: Cost): number => objectsPerSecond;

type Costs = Readonly<Record<Phase, Cost>>;

async function insertThenUpdate(context: Context, variant: Variant, prefix: string, bytes: number): Promise<Costs> {
  for (const table of tablesOf(kind)) await context.database.query(`TRUNCATE TABLE \`${table}\``);
  const uids = Array.from({ length: OBJECTS }, (_, index) => `${variant}-${prefix}-${index}`);
  const inserted = uids.map((uid) => benchRow(uid, 1, bytes));
  const insert = await writeRows(context, { variant, phase: 'insert' }, inserted);
  const updated = uids.map((uid) => benchRow(uid, 2, bytes));
  return { insert, update: await writeRows(context, { variant, phase: 'update' }, updated) };
}

interface Writing {
  readonly variant: Variant;
  readonly phase: Phase;
}

async function writeRows(context: Context, { variant, phase }: Writing, rows: readonly ObjectRow[]): Promise<Cost> {
  const { meter, storage, connections } = context;
  if (variant === 'ours') return meter.measure(rows, CALLERS, (row) => storage.upsert(row));
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

function tell(to: BenchReport, write: string, costs: readonly Cost[]): void {
  const figure = (field: keyof Cost): number => median(costs.map((cost) => cost[field]));
  to.row({
    write,
    'objects/s': rounded(figure('objectsPerSecond'), 0),
    spread: spread(costs.map(rateOf), 0),
    'p50 ms': rounded(figure('p50')),
    'p99 ms': rounded(figure('p99')),
    'server us': rounded(figure('serverMicros'), 0),
    'client us': rounded(figure('clientMicros'), 0),
    statements: rounded(figure('statementsPerObject')),
  });
}
