// What bounds the memory of the reconciler (ADR 20): how many bytes of the cluster are in it at once, whatever its objects
// weigh, and how V8 collects it.
import { Session } from 'node:inspector/promises';
import { setFlagsFromString } from 'node:v8';
import { ByteBudget } from '../../base/byte-budget.ts';
import { type Clock, repeat } from '../../base/clock.ts';
import { HELD_BYTES } from '../../kube/store.ts';

/** Bytes of the objects, as received, that all kinds use at once. Many small objects fit, or a few of the largest. */
export interface ByteBudgets {
  /** Of objects that wait to be reconciled. Those beyond are read from the API server when it is their turn. */
  readonly held: ByteBudget;
  /** Of objects being reconciled: each takes about eight times its size while its row is made and sent. */
  readonly worked: ByteBudget;
}

const WORKED_BYTES = 16 * 1024 * 1024;

export function createByteBudgets(): ByteBudgets {
  return { held: new ByteBudget(HELD_BYTES), worked: new ByteBudget(WORKED_BYTES) };
}

/**
 * Lets the heap double before all of it is collected again. For one as small as the manifests allow V8 would do so after
 * every 30 percent, and what is under way while many objects are written outlives the young generation. V8 reads the
 * flag after each collection, so it can be set while the program runs; NODE_OPTIONS does not take it.
 */
export function letHeapGrow(): void {
  setFlagsFromString('--heap-growing-percent=100');
}

/** Until aborted. */
export async function keepMemoryLow(clock: Clock, signal: AbortSignal): Promise<void> {
  await Promise.all([boundHeapGrowth(clock, signal), collectAtRest(clock, signal)]);
}

const GROWTH_PERIOD_MS = 500;
const GROWTH_BYTES = 48 * 1024 * 1024;
const LEAST_GROWTH = 20;

/** A heap that holds the identities of many objects may not double: it grows by so many bytes until it is collected. */
export async function boundHeapGrowth(clock: Clock, signal: AbortSignal): Promise<void> {
  let last = 100;
  await repeat({ clock, periodMs: GROWTH_PERIOD_MS, signal }, () => {
    const percent = growthPercent(process.memoryUsage().heapUsed);
    if (percent !== last) setFlagsFromString(`--heap-growing-percent=${percent}`);
    last = percent;
    return Promise.resolve();
  });
}

export function growthPercent(heapBytes: number): number {
  return Math.max(LEAST_GROWTH, Math.min(100, Math.round((100 * GROWTH_BYTES) / heapBytes)));
}

const LOOK_MS = 10_000;
/** Of one processor: more than leases, positions and watches take. */
const AT_REST = 0.1;
const WORTH_BYTES = 32 * 1024 * 1024;

/**
 * Has V8 collect everything once the process rests after work. By itself it does so when memory is asked for, and a process
 * that has copied a cluster asks for hardly any: it would keep what that left behind for hours.
 */
export async function collectAtRest(clock: Clock, signal: AbortSignal, periodMs: number = LOOK_MS): Promise<void> {
  let used = process.cpuUsage();
  let kept = process.memoryUsage.rss();
  await repeat({ clock, periodMs, signal }, async () => {
    const since = process.cpuUsage(used);
    used = process.cpuUsage();
    const isAtRest = since.user + since.system < periodMs * 1000 * AT_REST;
    if (!isAtRest || process.memoryUsage.rss() < kept + WORTH_BYTES) return;
    await collect();
    kept = process.memoryUsage.rss();
  });
}

/** Needs no flag, unlike `gc()`: flags make the compiled code on disk worthless. Takes a millisecond a MiB of what is kept. */
async function collect(): Promise<void> {
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}
