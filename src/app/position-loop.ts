import { isAborted } from '../base/abort.ts';
import { sleep } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Runnable } from '../runtime/runnable.ts';
import type { KindLoop, Parts } from './kind-loop.ts';

/** How old the position is that readers of MySQL are told, at least. */
const PERIOD_MS = 1000;

/** Notes in MySQL up to which resourceVersion each kind is stored. */
export function createPositionLoop(loops: readonly KindLoop[], parts: Parts): Runnable {
  const { clock } = parts;
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!isAborted(signal)) {
      for (const loop of loops) await recordPosition(loop, parts);
      await sleep(clock, PERIOD_MS, signal);
    }
  };
  return { name: 'positions', run };
}

async function recordPosition({ kind, informer, controller, positions }: KindLoop, parts: Parts): Promise<void> {
  const { storage, clock, logger } = parts;
  // In this order: what is delivered after the version was read may be unfinished too, which only makes it later.
  const { resourceVersion } = informer;
  const unfinished = controller.unfinished();
  if (resourceVersion === '' || unfinished === undefined) return;
  const reached = positions.sample({ resourceVersion, at: clock.now() }, unfinished);
  if (reached === undefined) return;
  try {
    await storage.recordPosition(kind, reached);
  } catch (error) {
    positions.repeat();
    logger.debug({ kind: kind.kind, problem: messageOf(error) }, 'The position could not be noted; trying again');
  }
}
