// One measured client in a process of its own. Arguments: what to measure, kubeconfig, number of events or objects.
// Prints one JSON object of figures.
//
//   ours       watch → informer → queue → controller → no-op reconcile
//   reading    the same with a reconcile that reads the whole object
//   library    the informer of @kubernetes/client-node, counting events
//   sync       list of many objects in pages → queue → no-op reconcile, and the memory they cost when idle
//   calls      a thousand calls and the connections they opened
import { KubeConfig, makeInformer } from '@kubernetes/client-node';
import { systemClock } from '../../src/base/clock.ts';
import { CodedError } from '../../src/base/errors.ts';
import { createLogger } from '../../src/base/logger.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { Informer } from '../../src/kube/informer.ts';
import { IdentityStore } from '../../src/kube/store.ts';
import { createMetrics } from '../../src/metrics/metrics.ts';
import { Controller } from '../../src/runtime/controller.ts';
import { enqueueForObject } from '../../src/runtime/handler.ts';
import { resourceVersionChanged } from '../../src/runtime/predicate.ts';
import { done } from '../../src/runtime/reconcile.ts';
import { kindSource } from '../../src/runtime/source.ts';

const [what = '', kubeconfig = '', countText = '0'] = process.argv.slice(2);
const count = Number(countText);
const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
const path = '/apis/michelangelo.api/v2/models';
const logger = createLogger('error', 'bench');
/** Events before the measurement: a controller runs for weeks, and its code is compiled in the first seconds. */
const WARM_UP = 50_000;

function newClient(): HttpKubeClient {
  return new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
}

interface Pipeline {
  /** Resolves when so many events have been handed to the controller. */
  readonly seen: Promise<void>;
  /** Resolves when, after that, no object waits for its reconcile any more. */
  readonly settled: Promise<void>;
  readonly store: IdentityStore;
  /** Resolves after the events that come before the measurement. */
  readonly warm: Promise<void>;
  readonly longestBlockMs: () => number;
}

/**
 * The parts of the reconciler role as it puts them together, metrics included, with a reconcile that does nothing: it
 * releases the object, and reads it first where it is asked to.
 */
function startPipeline(client: HttpKubeClient, events: number, reads: boolean): Pipeline {
  const store = new IdentityStore();
  const informer = new Informer({ client, resource, store, clock: systemClock, logger });
  const warm = Promise.withResolvers<undefined>();
  const seen = Promise.withResolvers<undefined>();
  const settled = Promise.withResolvers<undefined>();
  let received = 0;
  let reconciled = 0;
  const noteEvent = (): void => {
    received += 1;
    if (received === WARM_UP) warm.resolve(undefined);
    if (received === events) seen.resolve(undefined);
  };
  const controller = new Controller({
    name: 'bench',
    clock: systemClock,
    logger,
    // A list waits until what it brought is worked on.
    worksWhileSyncing: true,
    cacheSyncTimeoutMs: Number.POSITIVE_INFINITY,
    metrics: createMetrics().controllers.forController('bench'),
    sources: [
      kindSource({
        name: 'models',
        informer: () => informer,
        handler: enqueueForObject(),
        predicates: [resourceVersionChanged],
      }),
    ],
    reconcile: (key) => {
      const object = store.get(key);
      if (reads && object?.parse()['spec'] === undefined) settled.reject(new CodedError('BENCH_FAILED', 'no spec'));
      if (object !== undefined) store.release(key, object.identity.resourceVersion);
      reconciled += 1;
      // Objects for which the store had no room were never held; of a list each is reconciled once.
      if (received >= events && store.heldCount === 0 && reconciled >= store.size) settled.resolve(undefined);
      return Promise.resolve(done);
    },
  });
  const { signal } = new AbortController();
  void controller.run(signal);
  informer.addHandler({ add: noteEvent, update: noteEvent, delete: noteEvent });
  void informer.run(signal);
  return {
    seen: seen.promise,
    settled: settled.promise,
    store,
    warm: warm.promise,
    longestBlockMs: watchBlocking(),
  };
}

/** Longest time a timer of one millisecond was late. */
function watchBlocking(): () => number {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 1);
    last = now;
  }, 1);
  timer.unref();
  return () => longest;
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function measureEvents(warm: Promise<void>, seen: Promise<void>): Promise<object> {
  await warm;
  const [cpu, started] = [cpuMicros(), performance.now()];
  await seen;
  const seconds = (performance.now() - started) / 1000;
  const measured = count - WARM_UP;
  return { eventsPerSecond: measured / seconds, cpuMicrosPerEvent: (cpuMicros() - cpu) / measured };
}

/** Until the last reconcile has ended. */
async function measureOurs(reads: boolean): Promise<object> {
  const { warm, seen, settled } = startPipeline(newClient(), count, reads);
  return measureEvents(
    warm,
    seen.then(() => settled),
  );
}

async function measureLibrary(): Promise<object> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const empty = { apiVersion: 'michelangelo.api/v2', kind: 'ModelList', metadata: { resourceVersion: '1' }, items: [] };
  const informer = makeInformer(config, path, () => Promise.resolve(empty));
  const warm = Promise.withResolvers<undefined>();
  const seen = Promise.withResolvers<undefined>();
  let received = 0;
  const onEvent = (): void => {
    received += 1;
    if (received === WARM_UP) warm.resolve(undefined);
    if (received === count) seen.resolve(undefined);
  };
  informer.on('add', onEvent);
  informer.on('update', onEvent);
  await informer.start();
  return measureEvents(warm.promise, seen.promise);
}

function heapBytes(): number {
  if (global.gc === undefined) return Number.NaN;
  global.gc();
  global.gc();
  return process.memoryUsage().heapUsed;
}

async function measureSync(): Promise<object> {
  const before = heapBytes();
  const started = performance.now();
  const cpu = cpuMicros();
  const pipeline = startPipeline(newClient(), count, false);
  await pipeline.settled;
  // What settled it may have been the end of a block, which shows when a timer is next on time.
  const lastBlock = new Promise((resolve) => setTimeout(resolve, 2));
  const seconds = (performance.now() - started) / 1000;
  const cpuSeconds = (cpuMicros() - cpu) / 1e6;
  await lastBlock;
  const longestBlockMs = pipeline.longestBlockMs();
  const mbPer10k = ((heapBytes() - before) / 1e6 / pipeline.store.size) * 10_000;
  return { seconds, cpuSeconds, mbPer10k, longestBlockMs, held: pipeline.store.heldCount };
}

async function measureCalls(): Promise<object> {
  const client = newClient();
  const { signal } = new AbortController();
  for (let call = 0; call < count; call += 10) {
    await Promise.all(Array.from({ length: 10 }, () => client.list(resource, { limit: 1 }, signal)));
  }
  return {};
}

const measures: Readonly<Record<string, () => Promise<object>>> = {
  ours: () => measureOurs(false),
  reading: () => measureOurs(true),
  library: measureLibrary,
  sync: measureSync,
  calls: measureCalls,
};
process.stdout.write(`${JSON.stringify(await measures[what]?.())}\n`, () => process.exit(0));
