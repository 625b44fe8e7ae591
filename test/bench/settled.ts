import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ControlPlane } from '../../hack/local/control-plane.ts';
import { GROUP } from '../../src/api/names.ts';
import { until } from './until.ts';

const FOUND = new RegExp(`QuotaMonitor created object count evaluator.*${GROUP.replaceAll('.', '\\.')}`);
const LIMIT_MS = 120_000;
const SYNC_MS = 5000;

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
