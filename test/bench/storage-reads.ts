// How long reads take in a table of a million objects, a tenth of them deleted.
import type { BundleDatabase } from '../../hack/local/bundle-database.ts';
import type { KindDefinition } from '../../src/api/kind.ts';
import type { AggregateQuery } from '../../src/storage/aggregate.ts';
import type { ListQuery } from '../../src/storage/list-query.ts';
import type { MetadataStorage } from '../../src/storage/metadata-storage.ts';
import { type BenchReport, median, quantile, rounded } from './report.ts';
import { bulkLabels, bulkLoad } from './storage-bulk-load.ts';

const ROWS = 1_000_000;
const REPEATS = 40;
const EXACT_REPEATS = 3;
/** The walk to the deep page is done once, in large steps. */
const DEEP_OBJECTS = 100_000;

export async function reads(
  report: BenchReport,
  database: BundleDatabase,
  storage: MetadataStorage,
  kind: KindDefinition,
): Promise<void> {
  const started = performance.now();
  await database.query('SET GLOBAL innodb_buffer_pool_size = 2147483648');
  await bulkLoad(database, kind, ROWS);
  report.note(`${ROWS} objects loaded in ${Math.round((performance.now() - started) / 1000)} s`);
  const deep = await deepToken(storage, kind);
  const [some] = (await storage.list(kind, { limit: 1 })).items;
  const label = (index: 0 | 1, value: string): ListQuery => ({
    labels: [{ key: bulkLabels[index].key, operator: 'in', values: [value] }],
  });
  const list = (query: ListQuery) => (): Promise<unknown> => storage.list(kind, query);
  const cases: Readonly<Record<string, () => Promise<unknown>>> = {
    'first page': list({}),
    'first page of a namespace': list({ namespace: 'project-7' }),
    'deep page': list({ continue: deep }),
    'label 1/1000': list(label(0, 'v123')),
    'label 1/20': list(label(1, 'v13')),
    'label 1/1000 of a namespace': list({ namespace: 'project-7', ...label(0, 'v123') }),
    'label 1/20 of a namespace': list({ namespace: 'project-7', ...label(1, 'v13') }),
    'get by uid': () => storage.getById(kind, some?.uid ?? ''),
    'get by name': () => storage.getByName(kind, some?.namespace ?? '', some?.name ?? ''),
  };
  const medians: number[] = [];
  for (const [name, read] of Object.entries(cases)) {
    const times = await timed(read, REPEATS);
    medians.push(median(times));
    report.row({ read: name, 'median ms': rounded(median(times)), 'p99 ms': rounded(quantile(times, 0.99)) });
  }
  await aggregates(report, storage, kind);
  const counted = await timed(list({ limit: 1, count: 'yes' }), 3);
  report.row({ read: 'count', 'median ms': rounded(median(counted)) });
  report.figure('slowest_read_ms', rounded(Math.max(...medians)));
  report.figure('count_ms', rounded(median(counted)));
}

const CREATED = 'metadata.creationTimestamp';

/** Of a part of the objects, and exact ones, which have to look at each. */
async function aggregates(report: BenchReport, storage: MetadataStorage, kind: KindDefinition): Promise<void> {
  const cases: Readonly<Record<string, AggregateQuery>> = {
    'count of all': {},
    'by namespace': { groupBy: ['metadata.namespace'] },
    'by day': { groupBy: [`${CREATED}.day`] },
    'by day and namespace': { groupBy: [`${CREATED}.day`, 'metadata.namespace'] },
    'by a field': { groupBy: [kind.indexes.flat()[0]?.path.join('.') ?? ''] },
    'p50 by namespace': { groupBy: ['metadata.namespace'], figures: [{ figure: 'p50', field: CREATED }] },
    'by day, in a namespace': { namespace: 'project-7', groupBy: [`${CREATED}.day`] },
    'by day, of a label': {
      labels: [{ key: bulkLabels[1].key, operator: 'in', values: ['v13'] }],
      groupBy: [`${CREATED}.day`],
    },
  };
  const slowest = { part: 0, exact: 0 };
  for (const [name, query] of Object.entries(cases)) {
    const part = await timed(() => storage.aggregate(kind, { ...query, approximate: 'yes' }), REPEATS);
    slowest.part = Math.max(slowest.part, median(part));
    report.row({
      read: `${name}, approximate`,
      'median ms': rounded(median(part)),
      'p99 ms': rounded(quantile(part, 0.99)),
    });
    // A median of a million is refused.
    if (query.figures !== undefined) continue;
    const exact = await timed(() => storage.aggregate(kind, query), EXACT_REPEATS);
    slowest.exact = Math.max(slowest.exact, median(exact));
    report.row({ read: name, 'median ms': rounded(median(exact)) });
  }
  report.figure('aggregate_p50_ms', rounded(slowest.part));
  report.figure('aggregate_exact_p50_ms', rounded(slowest.exact));
}

async function deepToken(storage: MetadataStorage, kind: KindDefinition): Promise<string> {
  let token = '';
  for (let seen = 0; seen < DEEP_OBJECTS; seen += 1000) {
    const page = await storage.list(kind, { limit: 1000, ...(token === '' ? {} : { continue: token }) });
    token = page.continue ?? token;
  }
  return token;
}

async function timed(read: () => Promise<unknown>, repeats: number): Promise<readonly number[]> {
  await read();
  const times: number[] = [];
  for (let index = 0; index < repeats; index += 1) {
    const before = performance.now();
    await read();
    times.push(performance.now() - before);
  }
  return times;
}
