// How fast objects get into two shards of a Vitess, beside the MySQL behind it without a Vitess, and where the time goes. All
// of it shares the processors of one machine, so this says what the way costs, not what shards bring.
import { createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { SHARDED, startVitess, type VitessCluster } from '../../hack/local/vitess/cluster.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { migrateAll } from '../support/migrations.ts';
import { type Bench, type BenchReport, inTurns, median, ratios, rounded } from './report.ts';
import { type Cost, Meter } from './storage-meter.ts';
import { benchRow } from './storage-objects.ts';
import { cpuSeconds } from './sync-world.ts';

const ROUNDS = 5;
const OBJECTS = 4096;
const CALLERS = 256;
const BYTES = 2000;
const phases = ['insert', 'update'] as const;

export const vitessBench: Bench = { name: 'vitess', run: runVitessBench };

/** Of one phase; Vitess' own processes in microseconds an object. */
type Written = Cost & { readonly vtgateMicros: number; readonly tabletMicros: number };

async function runVitessBench(report: BenchReport): Promise<void> {
  const cluster = await startVitess();
  const opened: MysqlMetadataStorage[] = [];
  try {
    const { mysql } = cluster;
    const database = await createBundleDatabase(mysql);
    const meter = new Meter(mysql, database);
    const pool = { maxOpenConns: 10, maxIdleConns: 10, connMaxLifetimeMs: 0 };
    const direct = { host: mysql.host, port: mysql.port, database: database.name, ...pool };
    const sharded = {
      host: cluster.host,
      port: cluster.port,
      database: SHARDED,
      user: 'ingester',
      password: 'any',
      ...pool,
    };
    const open = async (writer: MysqlOptions, migrator: MysqlOptions): Promise<MysqlMetadataStorage> => {
      await migrateAll(migrator);
      const storage = new MysqlMetadataStorage(writer, systemClock);
      opened.push(storage);
      return storage;
    };
    const beside = await open({ ...direct, ...database.writer }, { ...direct, ...database.migrator });
    const vitess = await open(sharded, sharded);
    const costs = await inTurns(ROUNDS, {
      direct: (round) => insertThenUpdate(cluster, meter, beside, `direct-${round}`),
      vitess: (round) => insertThenUpdate(cluster, meter, vitess, `vitess-${round}`),
    });
    for (const phase of phases) {
      const [behind, without] = [costs.vitess, costs.direct].map((of) => of.map((cost) => cost[phase])) as [
        Written[],
        Written[],
      ];
      tell(report, `${phase}, two shards`, behind);
      tell(report, `${phase}, without a Vitess`, without);
      const rates = (of: readonly Written[]): readonly number[] => of.map(({ objectsPerSecond }) => objectsPerSecond);
      const key = phase === 'insert' ? 'vitess_vs_direct' : 'vitess_vs_direct_update';
      report.rounds(key, ratios(rates(behind), rates(without)));
    }
  } finally {
    for (const storage of opened) await storage.close();
    await cluster.dispose();
  }
}

async function insertThenUpdate(
  cluster: VitessCluster,
  meter: Meter,
  storage: MysqlMetadataStorage,
  prefix: string,
): Promise<Readonly<Record<(typeof phases)[number], Written>>> {
  const write = async (version: number): Promise<Written> => {
    const rows = Array.from({ length: OBJECTS }, (_, index) => benchRow(`${prefix}-${index}`, version, BYTES));
    const before = usedBy(cluster);
    const cost = await meter.measure(rows, CALLERS, (row) => storage.upsert(row));
    const after = usedBy(cluster);
    const micros = (part: 'vtgate' | 'tablets'): number => ((after[part] - before[part]) * 1e6) / OBJECTS;
    return { ...cost, vtgateMicros: micros('vtgate'), tabletMicros: micros('tablets') };
  };
  const insert = await write(1);
  return { insert, update: await write(2) };
}

/** Seconds of processor time. */
function usedBy({ vtgate, tablets }: VitessCluster): { readonly vtgate: number; readonly tablets: number } {
  const all = tablets.map(({ pid }) => cpuSeconds(pid));
  return { vtgate: cpuSeconds(vtgate.pid), tablets: all.reduce((sum, seconds) => sum + seconds, 0) };
}

function tell(report: BenchReport, write: string, costs: readonly Written[]): void {
  const figure = (field: keyof Written): number => median(costs.map((cost) => cost[field]));
  report.row({
    write,
    'objects/s': rounded(figure('objectsPerSecond'), 0),
    'p50 ms': rounded(figure('p50')),
    'p99 ms': rounded(figure('p99')),
    'client us': rounded(figure('clientMicros'), 0),
    'vtgate us': rounded(figure('vtgateMicros'), 0),
    'tablets us': rounded(figure('tabletMicros'), 0),
    'mysqld us': rounded(figure('serverMicros'), 0),
    statements: rounded(figure('statementsPerObject')),
  });
}
