import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ControlPlane } from '../../hack/local/control-plane.ts';
import { GROUP } from '../../src/api/names.ts';
import { defaultKinds } from '../../src/kinds/kinds.ts';
import { memoryMib, type World } from './sync-world.ts';
import { until } from './until.ts';

const FOUND = new RegExp(`QuotaMonitor created object count evaluator.*${GROUP.replaceAll('.', '\\.')}`);
const LIMIT_MS = 120_000;
const SYNC_MS = 5000;
const IDLE_LIMIT_MS = 300_000;
/** Each look costs the reconciler a page of metrics. */
const IDLE_POLL_MS = 100;
const REST_MS = 30_000;
const REST_POLL_MS = 1000;

/**
 * Half a minute after a definition was installed, the controller manager finds it and lists all its objects, which keeps
 * the API server busy for a second. Resolves when that is over, so that it is not what is measured.
 */
export async function untilKindsAreFound({ controllerManager }: ControlPlane): Promise<void> {
  if (controllerManager === undefined) return;
  const found = (): Promise<boolean> => Promise.resolve(FOUND.test(readFileSync(controllerManager.logFile, 'utf8')));
  await until(found, LIMIT_MS, 'the controller manager has found the kinds');
  await delay(SYNC_MS);
}

/** Every list is complete, and no worker is busy or waits for work. Resolves with the time. */
export function untilIdle(world: World, limitMs: number = IDLE_LIMIT_MS): Promise<number> {
  const idle = async (): Promise<boolean> => {
    if (world.comparedKinds() < defaultKinds.length) return false;
    return (await world.metric('workqueue_depth')) + (await world.metric('controller_runtime_active_workers')) === 0;
  };
  return until(idle, limitMs, 'the reconciler has nothing to do', IDLE_POLL_MS);
}

export interface Restart {
  /** From the moment that the reconciler says that it works until it has compared every kind. */
  readonly seconds: number;
  /** 0 where nothing has changed. */
  readonly rowWrites: number;
}

/** Nothing changes while it is away. */
export async function measureRestart(world: World, limitMs: number = IDLE_LIMIT_MS): Promise<Restart> {
  await untilIdle(world, limitMs);
  await world.bundle.reconciler.stop();
  const before = await world.rowWrites();
  await world.bundle.reconciler.start();
  await untilIdle(world, limitMs);
  const rowWrites = (await world.rowWrites()) - before;
  return { seconds: (world.comparedAt() - world.startedAt()) / 1000, rowWrites };
}

/** The least of half a minute: what is kept, not what the collector has not looked at yet. */
export async function restingMib(world: World): Promise<number> {
  const samples: number[] = [];
  for (let waited = 0; waited < REST_MS; waited += REST_POLL_MS) {
    await delay(REST_POLL_MS);
    samples.push(memoryMib(world.bundle.reconciler.pid, 'VmRSS'));
  }
  return Math.min(...samples);
}
