// The real parts of an end-to-end bench, and what can be asked of them: who has what, and what it cost.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { type Bundle, type BundleOptions, startBundle } from '../../hack/local/bundle.ts';
import { probe, type RoleOptions } from '../../hack/local/role-process.ts';
import type { KindDefinition } from '../../src/api/kind.ts';
import { GROUP, VERSION } from '../../src/api/names.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { CodedError } from '../../src/base/errors.ts';
import { defaultKinds } from '../../src/kinds/kinds.ts';
import type { KubeClient, ObjectRef, Resource } from '../../src/kube/client.ts';
import { isKubeError } from '../../src/kube/errors.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport, type Transport } from '../../src/kube/http/transport.ts';
import { namespaces } from '../../src/kube/resources.ts';
import { kindNamed } from '../support/objects.ts';
import { buildShipped, type ShippedProgram } from './shipped.ts';
import { benchObject } from './storage-objects.ts';

export const kind: KindDefinition = kindNamed('PipelineRun');
export const resource: Resource = { group: GROUP, version: VERSION, plural: kind.plural };
const tables = [kind.table, `${kind.table}_labels`, `${kind.table}_annotations`];
const NAMESPACES = 20;
const CALLERS = 16;
const ATTEMPTS = 30;
const RETRY_MS = 1000;
/** At the end of a list, where its metadata is. */
const END_BYTES = 4096;
const CLOCK_TICKS_PER_SECOND = 100;
const never = new AbortController().signal;

export interface CpuSeconds {
  readonly ours: number;
  readonly mysql: number;
}

export class World {
  readonly bundle: Bundle;
  readonly client: KubeClient;
  readonly #transport: PooledTransport;
  readonly program: ShippedProgram;
  /** One connection that is kept: to connect anew for each look would take from the processors that are measured. */
  readonly #database: Pool;

  private constructor(bundle: Bundle, program: ShippedProgram) {
    this.bundle = bundle;
    this.program = program;
    this.#database = connectTo(bundle);
    const { kubeconfig } = bundle.controlPlane;
    this.#transport = new PooledTransport({ kubeconfig, context: '', clock: systemClock });
    this.client = new HttpKubeClient(this.#transport);
  }

  /**
   * The reconciler is the built program with its shipped settings and is not started. Objects are created with the
   * finalizer, without the webhook. `readyPath` is what its start waits for.
   */
  static async start(
    configuration: Readonly<Record<string, object>> = {},
    readyPath: RoleOptions['readyPath'] = '/readyz',
    servers: Pick<BundleOptions, 'featureGates'> = {},
  ): Promise<World> {
    const program = await buildShipped('reconciler');
    const { main, env } = program;
    const reconcilerProgram = { main, env, readyPath };
    const options = { ...servers, startReconciler: false, shippedSettings: true, configuration, reconcilerProgram };
    const world = new World(await startBundle(options), program);
    await world.bundle.kubectl('delete', 'mutatingwebhookconfigurations,validatingwebhookconfigurations', '--all');
    for (let index = 0; index < NAMESPACES; index += 1) {
      const metadata = { name: `project-${index}` };
      await world.client.create(namespaces, '', { apiVersion: 'v1', kind: 'Namespace', metadata });
    }
    return world;
  }

  async stop(): Promise<void> {
    await this.client.close();
    await this.#database.end();
    await this.bundle.stop();
    this.program.remove();
  }

  /** Objects that were created and are there. */
  created = 0;

  /** Creates the objects, of about that many bytes before the change, and answers what the API server made of them. */
  async create(
    uids: readonly string[],
    change: (object: KubernetesObject) => object = (object) => object,
    bytes = 2000,
  ): Promise<readonly KubernetesObject[]> {
    const created = await parallel(uids, (uid) => {
      const { metadata, ...rest } = benchObject(uid, 1, bytes);
      const { name, namespace, labels = {}, annotations = {}, finalizers = [] } = metadata;
      const manifest = { ...rest, metadata: { name, namespace, labels, annotations, finalizers } };
      return this.#createSurely(change(manifest as unknown as KubernetesObject), { resource, namespace, name });
    });
    this.created += created.length;
    return created;
  }

  /** An etcd that is busy with gigabytes lets single writes time out, which may have been done all the same. */
  async #createSurely(manifest: object, ref: ObjectRef, attempts = ATTEMPTS): Promise<KubernetesObject> {
    try {
      return await this.client.create(ref.resource, ref.namespace, manifest);
    } catch (error) {
      if (attempts < ATTEMPTS && isKubeError(error, 'Conflict')) return this.client.get(ref);
      if (attempts === 1 || !isKubeError(error, 'Unavailable')) throw error;
      await delay(RETRY_MS);
      return this.#createSurely(manifest, ref, attempts - 1);
    }
  }

  /** Every object of the kind. */
  async objects(): Promise<readonly KubernetesObject[]> {
    const items: KubernetesObject[] = [];
    let continueToken: string | undefined;
    do {
      const from = continueToken === undefined ? {} : { continueToken };
      const page = await this.client.list(resource, { limit: 1000, metadataOnly: true, ...from }, never);
      items.push(...page.items.map((item) => item.parse()));
      ({ continueToken } = page);
    } while (continueToken !== undefined);
    return items;
  }

  /** See bareListSeconds. */
  bareListSeconds(pageObjects: number): Promise<number> {
    return bareListSeconds(this.#transport, pageObjects);
  }

  /** Calls for single objects of the kind that the API server has answered. */
  async objectReads(): Promise<number> {
    const text = await buffer(await this.#transport.send({ method: 'GET', path: '/metrics' }));
    const lines = text.toString().split('\n');
    const reads = lines.filter(
      (line) =>
        line.startsWith('apiserver_request_total{') &&
        line.includes(`resource="${kind.plural}"`) &&
        line.includes('verb="GET"'),
    );
    return reads.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  /** Rows as objects; runs as administrator. */
  async query(sql: string): Promise<readonly Record<string, unknown>[]> {
    const [rows] = await this.#database.query<RowDataPacket[]>(sql);
    return rows;
  }

  async count(condition = '1 = 1'): Promise<number> {
    const [row] = await this.query(`SELECT COUNT(*) AS n FROM \`${kind.table}\` WHERE ${condition}`);
    return Number(row?.['n']);
  }

  /** Rows inserted since the server started, be they committed or not. Unlike a count, it reads none of them. */
  async inserted(): Promise<number> {
    const [row] = await this.query(
      `SELECT COUNT_INSERT AS n FROM performance_schema.table_io_waits_summary_by_table
       WHERE OBJECT_SCHEMA = DATABASE() AND OBJECT_NAME = '${kind.table}'`,
    );
    return Number(row?.['n']);
  }

  /** resourceVersion of each row that is not deleted, by uid. */
  async rows(): Promise<ReadonlyMap<string, string>> {
    const rows = await this.query(
      `SELECT uid, CAST(res_version AS CHAR) AS v FROM \`${kind.table}\` WHERE row_state < 2`,
    );
    return new Map(rows.map((row) => [String(row['uid']), String(row['v'])]));
  }

  /** Rows of objects, labels and annotations written since the server started. */
  async rowWrites(): Promise<number> {
    const tables = defaultKinds.flatMap(({ table }) => [table, `${table}_labels`, `${table}_annotations`]);
    const list = tables.map((table) => `'${table}'`).join(', ');
    const [row] = await this.query(
      `SELECT SUM(COUNT_WRITE) AS writes FROM performance_schema.table_io_waits_summary_by_table
       WHERE OBJECT_SCHEMA = DATABASE() AND OBJECT_NAME IN (${list})`,
    );
    const writes = Number(row?.['writes']);
    // Every object was inserted: a server that counts nothing would make any restart look perfect.
    if (!(writes > 0)) throw new CodedError('BENCH_FAILED', 'MySQL counts no writes of rows');
    return writes;
  }

  /** Of the files of the tables of the kind. */
  async diskBytes(): Promise<number> {
    const names = tables.map((table) => `CONCAT(DATABASE(), '/${table}')`).join(', ');
    const [row] = await this.query(
      `SELECT SUM(FILE_SIZE) AS bytes FROM information_schema.INNODB_TABLESPACES WHERE NAME IN (${names})`,
    );
    return Number(row?.['bytes']);
  }

  async clearTables(): Promise<void> {
    for (const table of tables) {
      await this.query(`TRUNCATE TABLE \`${table}\``);
    }
  }

  /** Sum of a metric of the reconciler over the series that match. */
  async metric(name: string, labels = ''): Promise<number> {
    const { body } = await probe(this.bundle.reconcilerHealthPort, '/metrics');
    const lines = body.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(labels));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  /** Observations of a histogram of the reconciler up to each bound, over all series. */
  async buckets(name: string): Promise<ReadonlyMap<number, number>> {
    const { body } = await probe(this.bundle.reconcilerHealthPort, '/metrics');
    const counts = new Map<number, number>();
    for (const line of body.split('\n').filter((one) => one.startsWith(`${name}_bucket{`))) {
      const bound = Number((/le="([^"]+)"/.exec(line)?.[1] ?? '').replace('+Inf', 'Infinity'));
      counts.set(bound, (counts.get(bound) ?? 0) + Number(line.split(' ').at(-1)));
    }
    return counts;
  }

  cpu(): CpuSeconds {
    const { server, reconciler } = this.bundle;
    const { directory } = server;
    const mysqlPid =
      directory === undefined ? undefined : Number(readFileSync(join(directory, 'server.pid'), 'utf8').trim());
    return { ours: cpuSeconds(reconciler.pid), mysql: cpuSeconds(mysqlPid) };
  }

  /** Most memory the reconciler ever had resident, in MiB. */
  peakMib(): number {
    return memoryMib(this.bundle.reconciler.pid, 'VmHWM');
  }

  /** Kinds that the reconciler has compared with MySQL since it last started. */
  comparedKinds(): number {
    const log = readFileSync(this.bundle.reconciler.logFile, 'utf8').split('"Reconciler started"').at(-1) ?? '';
    return log.split('"Compared with MySQL"').length - 1;
  }

  /** When the reconciler last said that it started, in milliseconds since 1970. */
  startedAt(): number {
    return this.#saidAt('"Reconciler started"');
  }

  /** When it had compared the last kind. */
  comparedAt(): number {
    return this.#saidAt('"Compared with MySQL"');
  }

  #saidAt(message: string): number {
    const lines = readFileSync(this.bundle.reconciler.logFile, 'utf8').split('\n');
    const line = lines.findLast((text) => text.includes(message)) ?? '{}';
    return Date.parse((JSON.parse(line) as { time: string }).time);
  }
}

/** Seconds that the API server takes for a list of the kind in pages, of which nothing but the bytes are received. */
export async function bareListSeconds(transport: Transport, pageObjects: number): Promise<number> {
  const started = performance.now();
  let token: string | undefined = '';
  while (token !== undefined) {
    const query = { limit: String(pageObjects), ...(token === '' ? {} : { continue: token }) };
    const path = `/apis/${GROUP}/${VERSION}/${kind.plural}`;
    const body: Buffer = await buffer(await transport.send({ method: 'GET', path, query }));
    token = /"continue":"([^"]+)"/.exec(body.subarray(-END_BYTES).toString())?.[1];
  }
  return (performance.now() - started) / 1000;
}

function connectTo({ server, database }: Bundle): Pool {
  return createPool({
    host: server.host,
    port: server.port,
    user: server.rootUser,
    password: server.rootPassword,
    database: database.name,
    connectionLimit: 1,
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    charset: 'utf8mb4_bin',
  });
}

/** Resident memory of a process, in MiB: now, or the most it ever had. */
export function memoryMib(pid: number | undefined, what: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid ?? 0}/status`, 'utf8');
  return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
}

/** User and system time of a process and its threads. After the name in parentheses they are fields 12 and 13. */
export function cpuSeconds(pid: number | undefined): number {
  if (pid === undefined) return Number.NaN;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
}

/** The results in the order of the items. */
export async function parallel<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  callers: number = CALLERS,
): Promise<readonly R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of entries) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: callers }, lane));
  return results;
}

export function uids(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}
