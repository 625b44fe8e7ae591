// Keeps the status ConfigMap up to date, for `ingester status` and for the process that works next.
import { hostname } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import { Complaint } from '../../base/complaint.ts';
import type { Logger } from '../../base/logger.ts';
import { redact } from '../../base/redact.ts';
import { repeat } from '../../base/repeat.ts';
import type { KubeClient } from '../../kube/client.ts';
import { statusRef } from '../flows/control-state.ts';
import type { FailingObjects } from '../flows/failing-objects.ts';
import type { SpoolCount } from '../flows/spool.ts';
import { HISTORY_KEY, type IngesterStatus, type KindStatus, STATUS_KEY } from './status.ts';
import type { StorageHistory } from './storage-history.ts';
import type { StorageMonitor } from './storage-monitor.ts';

export interface StatusWriterOptions {
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly namespace: string;
  readonly kinds: () => readonly KindStatus[];
  readonly monitor: Pick<StorageMonitor, 'problem' | 'problemSince'>;
  readonly failingObjects: Pick<FailingObjects, 'list' | 'count'>;
  readonly spooled: () => SpoolCount;
  readonly history: Pick<StorageHistory, 'status'>;
  readonly onFailingObjects: (count: number) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PERIOD_MS = 10_000;
/** A ConfigMap holds a mebibyte; the oldest failing objects are the ones to look at. */
const LISTED = 200;
const MESSAGE_LENGTH = 500;

/** Until the signal, while this process is the one that works. */
export async function runStatusWriter(options: StatusWriterOptions, signal: AbortSignal): Promise<void> {
  const { client, namespace, clock, logger, failingObjects, onFailingObjects } = options;
  const complaint = new Complaint(logger, 'The status ConfigMap could not be written');
  await repeat({ clock, periodMs: PERIOD_MS, signal }, async () => {
    onFailingObjects(failingObjects.count);
    try {
      const data = { [STATUS_KEY]: JSON.stringify(statusOf(options)), ...historyData(options) };
      await client.mergePatch(statusRef(namespace), { data });
      complaint.over();
    } catch (error) {
      complaint.say(error);
    }
  });
}

function historyData({ history: { status } }: StatusWriterOptions): Readonly<Record<string, string>> {
  return status === undefined ? {} : { [HISTORY_KEY]: JSON.stringify(status) };
}

function statusOf({ kinds, monitor, failingObjects, spooled, clock }: StatusWriterOptions): IngesterStatus {
  const { problem, problemSince } = monitor;
  const listed = failingObjects.list().slice(0, LISTED);
  const { waiting, aside } = spooled();
  return {
    at: clock.now().toISOString(),
    instance: hostname(),
    storage: {
      ...(problem === undefined ? {} : { problem: clean(problem) }),
      ...(problemSince === undefined ? {} : { since: problemSince.toISOString() }),
    },
    kinds: kinds(),
    failingObjects: {
      count: failingObjects.count,
      listed: listed.map((each) => ({ ...each, message: clean(each.message) })),
    },
    spooled: waiting,
    spoolAside: aside,
  };
}

function clean(message: string): string {
  return redact(message).slice(0, MESSAGE_LENGTH);
}
