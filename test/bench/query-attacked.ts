// What honest users get of the query API while one user holds readers that take nothing, bodies that never end, and asks for
// selectors that no user writes: the built program with the limits that are shipped, before a real API server and MySQL.
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { type Bundle, startBundle } from '../../hack/local/bundle.ts';
import { systemClock } from '../../src/base/clock.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { ApiServer } from '../support/api-server.ts';
import { aModelRow } from '../support/objects.ts';
import { createModelReaders, createUser, type QueryUser } from '../support/query/attackers.ts';
import { startQueryServer } from '../support/query-server.ts';
import { type BenchReport, median, quantile, rounded } from './report.ts';
import { buildShipped } from './shipped.ts';

const HONEST = ['first', 'second', 'third', 'fourth'];
const NAMESPACE = 'read';
const LARGE = 'large';
/** More than the buffers between a server and a reader that takes nothing. */
const LARGE_OBJECTS = 256;
const OBJECT_BYTES = 64 * 1024;
/** Of the attacker, for each way of holding a place. */
const CONNECTIONS = 100;
/** What the attacker holds and the server has not ended is begun anew after this long. */
const HOLD_MS = 5000;
const SELECTORS = 4;
const CALM_MS = 5000;
const ATTACK_MS = 20_000;
/** Between two reads of one user: a human user, or a controller that looks again. */
const PAUSE_MS = 100;
/** A user whose read takes longer than this was not served. */
const PATIENCE_MS = 10_000;

export async function readWhileAttacked(report: BenchReport): Promise<void> {
  const shipped = await buildShipped('query');
  const bundle = await startBundle({ startReconciler: false, progress: () => undefined });
  const api = new ApiServer(bundle.controlPlane.kubeconfig);
  try {
    await storeModels(bundle);
    const server = await startQueryServer(bundle, { program: shipped });
    try {
      await createModelReaders(api);
      const users = { bundle, api, server };
      const honest = await Promise.all(HONEST.map((name) => createUser(users, name, [NAMESPACE])));
      await attacked(report, honest, await createUser(users, 'attacker', [NAMESPACE, LARGE]));
    } finally {
      await server.stop();
    }
  } finally {
    api.close();
    await bundle.stop();
    shipped.remove();
  }
}

async function storeModels({ server: { host, port }, database }: Bundle): Promise<void> {
  const pool = { maxOpenConns: 4, maxIdleConns: 4, connMaxLifetimeMs: 0 };
  const options = { host, port, database: database.name, ...database.writer, ...pool };
  const storage = new MysqlMetadataStorage(options, systemClock);
  const description = 'x'.repeat(OBJECT_BYTES);
  const large = Array.from({ length: LARGE_OBJECTS }, (_, index) => `large-${index}`);
  try {
    await Promise.all([
      storage.upsert(aModelRow({ uid: 'one', namespace: NAMESPACE, name: 'one' })),
      ...large.map((name) => storage.upsert(aModelRow({ uid: name, namespace: LARGE, name }, { description }))),
    ]);
  } finally {
    await storage.close();
  }
}

async function attacked(report: BenchReport, honest: readonly QueryUser[], attacker: QueryUser): Promise<void> {
  const calm = await readsOf(honest, CALM_MS);
  const end = new AbortController();
  const attack = Promise.all([
    hold(() => attacker.begin(`GET /namespaces/${LARGE}/models`), end.signal),
    hold(() => attacker.begin(endless, '{'), end.signal),
    ...Array.from({ length: SELECTORS }, () => askMuch(attacker, end.signal)),
  ]);
  await delay(1000);
  const reads = await readsOf(honest, ATTACK_MS);
  end.abort();
  await attack;
  for (const [read, { times, refused }] of Object.entries({ 'no user attacks': calm, 'one user attacks': reads })) {
    const served = { served: times.length, 'not served': refused };
    report.row({ read, ...served, 'p50 ms': rounded(median(times)), 'p99 ms': rounded(quantile(times, 0.99)) });
  }
  const all = reads.times.length + reads.refused;
  // Rounded down: only all of them are all.
  report.figure('attacked_reads_ok', Math.floor((reads.times.length / all) * 10_000) / 10_000);
  report.figure('attacked_reads_p99_ms', rounded(quantile(reads.times, 0.99)));
}

interface Reads {
  /** Milliseconds of those that were served. */
  readonly times: readonly number[];
  readonly refused: number;
}

/** Each user reads again and again for so long. */
async function readsOf(users: readonly QueryUser[], forMs: number): Promise<Reads> {
  const times: number[] = [];
  let refused = 0;
  const until = performance.now() + forMs;
  const paths = [`/namespaces/${NAMESPACE}/models?limit=100`, `/namespaces/${NAMESPACE}/models/one`];
  const readAll = async (user: QueryUser): Promise<void> => {
    for (let index = 0; performance.now() < until; index += 1) {
      const before = performance.now();
      const answer = user.get(paths[index % paths.length] ?? '').catch(() => undefined);
      const status = await Promise.race([answer.then((got) => got?.status), delay(PATIENCE_MS, undefined, unref)]);
      if (status === 200) times.push(performance.now() - before);
      else refused += 1;
      await delay(PAUSE_MS);
    }
  };
  await Promise.all(users.map(readAll));
  return { times, refused };
}

const unref = { ref: false };
const endless = `POST /namespaces/${NAMESPACE}/models/-/search\nContent-Type: application/json\nContent-Length: 1000`;

/** Keeps so many connections of one way open, whatever the server does to them. */
async function hold(begin: () => Promise<TLSSocket>, signal: AbortSignal): Promise<void> {
  const one = async (): Promise<void> => {
    while (!signal.aborted) {
      const socket = await begin().catch(() => undefined);
      const held = delay(socket === undefined ? PAUSE_MS : HOLD_MS, undefined, { signal }).catch(() => undefined);
      await Promise.race([held, ...(socket === undefined ? [] : [once(socket, 'close').catch(() => undefined)])]);
      socket?.destroy();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
}

async function askMuch(attacker: QueryUser, signal: AbortSignal): Promise<void> {
  const labelSelector = Array.from({ length: 30_000 }, () => 'a').join(',');
  while (!signal.aborted) {
    await attacker.post(`/namespaces/${NAMESPACE}/models/-/search`, { labelSelector }).catch(() => undefined);
  }
}
