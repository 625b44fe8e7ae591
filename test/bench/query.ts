// How long reads take through HTTP in a table of a million objects, for one client and for sixteen, what it costs in
// memory to write a long list, and what others get while one user attacks.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createBundleDatabase } from '../../hack/local/bundle-database.ts';
import { createAuthority } from '../../hack/local/certificates.ts';
import { startDatabase } from '../../hack/local/mysql.ts';
import { CodedError } from '../../src/base/errors.ts';
import { GROUP_PATH } from '../../src/query/names.ts';
import type { MysqlOptions } from '../../src/storage/mysql/pool.ts';
import { migrateAll } from '../support/migrations.ts';
import { kindNamed } from '../support/objects.ts';
import { readWhileAttacked } from './query-attacked.ts';
import { watched } from './query-watched.ts';
import { type Bench, type BenchReport, median, quantile, rounded } from './report.ts';
import { memorySettings } from './shipped.ts';
import { bulkLabels, bulkLoad } from './storage-bulk-load.ts';

const ROWS = 1_000_000;
const STREAMED = 100_000;
const REPEATS = 40;
const CLIENTS = 16;
const kind = kindNamed('PipelineRun');

export const queryBench: Bench = { name: 'query', run: runQueryBench };

async function runQueryBench(report: BenchReport): Promise<void> {
  const server = await startDatabase({ flavour: 'mysql' });
  const database = await createBundleDatabase(server);
  try {
    const { host, port } = server;
    const pool = { maxOpenConns: 25, maxIdleConns: 25, connMaxLifetimeMs: 0 };
    const options: MysqlOptions = { host, port, database: database.name, ...database.writer, ...pool };
    await migrateAll({ ...options, ...database.migrator });
    const started = performance.now();
    await database.query('SET GLOBAL innodb_buffer_pool_size = 2147483648');
    await bulkLoad(database, kind, ROWS);
    report.note(`${ROWS} objects loaded in ${Math.round((performance.now() - started) / 1000)} s`);
    const [row] = await database.query(
      `SELECT uid FROM \`${kind.table}\` WHERE namespace = 'project-5' AND name = 'object-5'`,
    );
    await measure(report, options, String(row?.['uid']));
    await watching(report, options);
  } finally {
    await server.dispose();
  }
  await readWhileAttacked(report);
}

interface Served {
  readonly child: ChildProcess;
  readonly agent: Agent;
}

async function startServer(mysql: MysqlOptions, maxSockets: number): Promise<Served> {
  const authority = await createAuthority('bench-ca');
  const { certificatePem: cert, keyPem: key } = await authority.issue({ commonName: 'query', hosts: ['127.0.0.1'] });
  const child = spawn(process.execPath, [join(import.meta.dirname, 'query-server.ts')], {
    env: { ...process.env, ...memorySettings('query'), QUERY_BENCH: JSON.stringify({ mysql, cert, key }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return { child, agent: new Agent({ ca: authority.caPem, keepAlive: true, maxSockets }) };
}

async function measure(report: BenchReport, mysql: MysqlOptions, uid: string): Promise<void> {
  const { child, agent } = await startServer(mysql, CLIENTS);
  try {
    const port = await portOf(child);
    const client = new Client(port, agent);
    await readCases(report, client, uid);
    await streaming(report, client, child);
  } finally {
    agent.destroy();
    child.kill();
  }
}

/** In a process of its own, whose memory nothing else has grown. */
async function watching(report: BenchReport, mysql: MysqlOptions): Promise<void> {
  const { child, agent } = await startServer(mysql, Number.POSITIVE_INFINITY);
  try {
    await watched(report, { port: await portOf(child), agent, mysql, server: child });
  } finally {
    agent.destroy();
    child.kill();
  }
}

async function portOf(child: ChildProcess): Promise<number> {
  for await (const line of createInterface({ input: child.stdout! })) return Number(line);
  throw new CodedError('BENCH', 'the server did not start');
}

async function readCases(report: BenchReport, client: Client, uid: string): Promise<void> {
  const runs = `/${kind.plural}`;
  const one = `/namespaces/project-5${runs}/object-5`;
  const inOne = '/namespaces/project-7/pipelineruns';
  const label = (index: 0 | 1, value: string): string =>
    `limit=100&labelSelector=${encodeURIComponent(`${bulkLabels[index].key}=${value}`)}`;
  const cases: Readonly<Record<string, string>> = {
    'first page': `${runs}?limit=100`,
    'first page of a namespace': `${inOne}?limit=100`,
    'deep page': `${runs}?limit=100&continue=${await deepToken(client)}`,
    'label 1/1000': `${runs}?${label(0, 'v123')}`,
    'label 1/20': `${runs}?${label(1, 'v13')}`,
    'label 1/1000 of a namespace': `${inOne}?${label(0, 'v123')}`,
    'label 1/20 of a namespace': `${inOne}?${label(1, 'v13')}`,
    'get by uid': `${one}?uid=${uid}`,
    'get by name': one,
  };
  const slowest = { one: 0, many: 0 };
  for (const [read, path] of Object.entries(cases)) {
    const alone = await client.timed(path, 1);
    const together = await client.timed(path, CLIENTS);
    slowest.one = Math.max(slowest.one, median(alone));
    slowest.many = Math.max(slowest.many, median(together));
    report.row({
      read,
      '1 client p50 ms': rounded(median(alone)),
      'p99 ms': rounded(quantile(alone, 0.99)),
      [`${CLIENTS} clients p50 ms`]: rounded(median(together)),
      'their p99 ms': rounded(quantile(together, 0.99)),
    });
  }
  await aggregateCases(report, client, `${runs}/-/aggregate?approximate=true`);
  report.figure('slowest_p50_ms', rounded(slowest.one));
  report.figure(`slowest_p50_ms_${CLIENTS}_clients`, rounded(slowest.many));
}

async function aggregateCases(report: BenchReport, client: Client, path: string): Promise<void> {
  const cases = {
    'count of all': '',
    'count by namespace': '&groupBy=metadata.namespace',
    'count by day': '&groupBy=created.day',
    'p50 by namespace': '&groupBy=metadata.namespace&p50=created',
  };
  let slowest = 0;
  for (const [read, parameters] of Object.entries(cases)) {
    const times = await client.timed(`${path}${parameters}`, 1);
    slowest = Math.max(slowest, median(times));
    report.row({ read, '1 client p50 ms': rounded(median(times)), 'p99 ms': rounded(quantile(times, 0.99)) });
  }
  report.figure('aggregate_p50_ms', rounded(slowest));
}

/** The token behind the deepest page that an offset may lead to. */
async function deepToken(client: Client): Promise<string> {
  const body = { pagination: { offset: 10_000, limit: 1 }, returnedFieldSkipList: ['spec', 'status'] };
  const { metadata } = JSON.parse((await client.post(`/${kind.plural}/-/search`, body)).text) as Listed;
  return metadata.continue ?? '';
}

async function streaming(report: BenchReport, client: Client, { pid = 0 }: ChildProcess): Promise<void> {
  const before = performance.now();
  const { bytes } = await client.get(`/${kind.plural}?limit=${STREAMED}`, 'count');
  const seconds = (performance.now() - before) / 1000;
  const mib = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
  report.note(`${STREAMED} objects, ${rounded(bytes / 2 ** 20, 0)} MiB, written in ${rounded(seconds, 1)} s`);
  report.figure('stream_100k_rss_mib', rounded(mib, 0));
  report.figure('stream_100k_s', rounded(seconds, 1));
}

interface Listed {
  readonly metadata: { readonly continue?: string };
}

class Client {
  readonly #port: number;
  readonly #agent: Agent;

  constructor(port: number, agent: Agent) {
    this.#port = port;
    this.#agent = agent;
  }

  get(path: string, keep: 'text' | 'count' = 'text'): Promise<{ readonly text: string; readonly bytes: number }> {
    return this.#send('GET', path, keep, undefined);
  }

  post(path: string, body: object): Promise<{ readonly text: string; readonly bytes: number }> {
    return this.#send('POST', path, 'text', body);
  }

  /** Milliseconds of each call; so many clients call one after the other, all at the same time. */
  async timed(path: string, clients: number): Promise<readonly number[]> {
    await this.get(path);
    const times: number[] = [];
    const one = async (): Promise<void> => {
      for (let index = 0; index < Math.ceil(REPEATS / Math.min(clients, 4)); index += 1) {
        const before = performance.now();
        await this.get(path, 'count');
        times.push(performance.now() - before);
      }
    };
    await Promise.all(Array.from({ length: clients }, one));
    return times;
  }

  #send(
    method: string,
    path: string,
    keep: 'text' | 'count',
    body: object | undefined,
  ): Promise<{ readonly text: string; readonly bytes: number }> {
    return new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: this.#port, path: `${GROUP_PATH}${path}`, method, agent: this.#agent };
      const sent = request(options, (response) => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        response.on('data', (piece: Buffer) => {
          bytes += piece.length;
          if (keep === 'text') pieces.push(piece);
        });
        response.once('error', reject);
        response.once('end', () => {
          const text = Buffer.concat(pieces).toString();
          if (response.statusCode === 200) resolve({ text, bytes });
          else reject(new CodedError('BENCH', `${method} ${path}: ${response.statusCode} ${text}`));
        });
      });
      sent.once('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}
