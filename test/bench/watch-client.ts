// One measured client in a process of its own. Arguments: what to measure, kubeconfig, number of events or objects.
// Prints one JSON object of figures.
//
//   ours       watch → informer → queue → no-op reconcile
//   library    the informer of @kubernetes/client-node, counting events
//   sync       streaming list of many objects → queue → no-op reconcile, and the memory they cost when idle
//   calls      a thousand calls and the connections they opened
import { KubeConfig, makeInformer } from '@kubernetes/client-node';
import { objectKey } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/logger.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { Informer } from '../../src/kube/informer.ts';
import { IdentityStore } from '../../src/kube/store.ts';
import { WorkQueue } from '../../src/runtime/work-queue.ts';

const [what = '', kubeconfig = '', countText = '0'] = process.argv.slice(2);
const count = Number(countText);
const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
const path = '/apis/michelangelo.api/v2/models';
const logger = createLogger('error', 'bench');

function newClient(): HttpKubeClient {
  return new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
}

interface Pipeline {
  /** Resolves when so many events have been seen. */
  readonly seen: Promise<void>;
  /** Resolves when the queue has been worked off after that. */
  readonly settled: Promise<void>;
  readonly store: IdentityStore;
  readonly firstEvent: Promise<void>;
  readonly longestBlockMs: () => number;
}

/** Watch, informer, queue and twenty workers that release what they are given. */
function startPipeline(client: HttpKubeClient, events: number): Pipeline {
  const store = new IdentityStore();
  const queue = new WorkQueue(systemClock);
  const informer = new Informer({ client, resource, store, clock: systemClock, logger });
  const first = Promise.withResolvers<undefined>();
  const seen = Promise.withResolvers<undefined>();
  const settled = Promise.withResolvers<undefined>();
  let received = 0;
  const count = (key: string): void => {
    received += 1;
    if (received === 1) first.resolve(undefined);
    queue.add(key);
    if (received === events) seen.resolve(undefined);
  };
  informer.addHandler({
    add: (object) => count(objectKey(object)),
    update: (_before, after) => count(objectKey(after)),
    delete: (object) => count(objectKey(object)),
  });
  const work = async (): Promise<void> => {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      const object = store.get(key);
      if (object !== undefined) store.release(key, object.metadata.resourceVersion);
      queue.done(key);
      if (received >= events && queue.length === 0) settled.resolve(undefined);
    }
  };
  void informer.run(new AbortController().signal);
  for (let worker = 0; worker < 20; worker += 1) void work();
  return {
    seen: seen.promise,
    settled: settled.promise,
    store,
    firstEvent: first.promise,
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

async function measureEvents(firstEvent: Promise<void>, seen: Promise<void>): Promise<object> {
  await firstEvent;
  const [cpu, started] = [cpuMicros(), performance.now()];
  await seen;
  const seconds = (performance.now() - started) / 1000;
  return { eventsPerSecond: count / seconds, cpuMicrosPerEvent: (cpuMicros() - cpu) / count };
}

async function measureOurs(): Promise<object> {
  const pipeline = startPipeline(newClient(), count);
  return measureEvents(pipeline.firstEvent, pipeline.seen);
}

async function measureLibrary(): Promise<object> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const empty = { apiVersion: 'michelangelo.api/v2', kind: 'ModelList', metadata: { resourceVersion: '1' }, items: [] };
  const informer = makeInformer(config, path, () => Promise.resolve(empty));
  const first = Promise.withResolvers<undefined>();
  const seen = Promise.withResolvers<undefined>();
  let received = 0;
  const onEvent = (): void => {
    received += 1;
    if (received === 1) first.resolve(undefined);
    if (received === count) seen.resolve(undefined);
  };
  informer.on('add', onEvent);
  informer.on('update', onEvent);
  await informer.start();
  return measureEvents(first.promise, seen.promise);
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
  const pipeline = startPipeline(newClient(), count);
  await pipeline.settled;
  const seconds = (performance.now() - started) / 1000;
  const cpuSeconds = (cpuMicros() - cpu) / 1e6;
  const mbPer10k = ((heapBytes() - before) / 1e6 / pipeline.store.size) * 10_000;
  return { seconds, cpuSeconds, mbPer10k, longestBlockMs: pipeline.longestBlockMs(), held: pipeline.store.heldCount };
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
  ours: measureOurs,
  library: measureLibrary,
  sync: measureSync,
  calls: measureCalls,
};
process.stdout.write(`${JSON.stringify(await measures[what]?.())}\n`, () => process.exit(0));
