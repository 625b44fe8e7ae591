import { hostname } from 'node:os';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { redact } from '../base/redact.ts';
import type { KubeClient } from '../kube/client.ts';
import { statusRef } from '../sync/control-state.ts';
import { HISTORY_KEY, type IngesterStatus, STATUS_KEY } from '../sync/status.ts';
import type { KindLoop } from './kind-loop.ts';
import type { StorageHistory } from './storage-history.ts';
import type { StorageMonitor } from './storage-monitor.ts';
import type { SyncParts } from './sync-parts.ts';

export interface StatusWriterOptions {
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly namespace: string;
  readonly loops: readonly KindLoop[];
  readonly monitor: StorageMonitor;
  readonly sync: SyncParts;
  readonly history: Pick<StorageHistory, 'status'>;
  readonly onTroubles: (count: number) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PERIOD_MS = 10_000;
/** A ConfigMap holds a mebibyte; the oldest troubles are the ones to look at. */
const LISTED = 200;
const MESSAGE_LENGTH = 500;

/** Keeps the status ConfigMap up to date while this process is the one that works. */
export async function runStatusWriter(options: StatusWriterOptions, signal: AbortSignal): Promise<void> {
  const { client, namespace, clock, logger, sync, onTroubles } = options;
  let complained = false;
  while (!signal.aborted) {
    onTroubles(sync.troubles.count);
    try {
      const data = { [STATUS_KEY]: JSON.stringify(statusOf(options)), ...historyData(options) };
      await client.mergePatch(statusRef(namespace), { data });
      complained = false;
    } catch (error) {
      logger[complained ? 'debug' : 'warn']({ err: error }, 'The status ConfigMap could not be written');
      complained = true;
    }
    await sleep(clock, PERIOD_MS, signal);
  }
}

function historyData({ history: { status } }: StatusWriterOptions): Readonly<Record<string, string>> {
  return status === undefined ? {} : { [HISTORY_KEY]: JSON.stringify(status) };
}

function statusOf({ loops, monitor, sync, clock }: StatusWriterOptions): IngesterStatus {
  const { problem, problemSince } = monitor;
  const listed = sync.troubles.list().slice(0, LISTED);
  return {
    at: clock.now().toISOString(),
    instance: hostname(),
    storage: {
      ...(problem === undefined ? {} : { problem: clean(problem) }),
      ...(problemSince === undefined ? {} : { since: problemSince.toISOString() }),
    },
    kinds: loops.map(({ kind, informer, controller, wentBack }) => {
      const restore = wentBack();
      const counts = { objects: informer.store.size, failing: controller.failing };
      return { kind: kind.kind, ...counts, ...(restore === undefined ? {} : { wentBack: restore }) };
    }),
    troubles: {
      count: sync.troubles.count,
      listed: listed.map((trouble) => ({ ...trouble, message: clean(trouble.message) })),
    },
    spooled: sync.spooled().waiting,
    spoolAside: sync.spooled().aside,
  };
}

function clean(message: string): string {
  return redact(message).slice(0, MESSAGE_LENGTH);
}
