// Keeps the status ConfigMap up to date, for `ingester status` and for the process that works next.
import { hostname } from 'node:os';
import { type Clock, repeat } from '../../base/clock.ts';
import { Complaint } from '../../base/complaint.ts';
import type { Logger } from '../../base/logger.ts';
import { redact } from '../../base/redact.ts';
import type { KubeClient } from '../../kube/client.ts';
import { dataOf } from '../../kube/resources.ts';
import { statusRef } from '../flows/control-state.ts';
import type { FailingObjects } from '../flows/failing-objects.ts';
import type { IncompleteProto, IncompleteProtos } from '../flows/incomplete-protos.ts';
import type { SpoolCount } from '../flows/spool.ts';
import { added, SharedStatus, shareKey } from './shared-status.ts';
import { HISTORY_KEY, type IngesterStatus, type KindStatus, STATUS_KEY } from './status.ts';
import type { StorageHistory } from './storage-history.ts';
import type { StorageMonitor } from './storage-monitor.ts';

export interface StatusWriterOptions {
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly namespace: string;
  readonly kinds: () => readonly KindStatus[];
  readonly monitor: Pick<StorageMonitor, 'problem' | 'problemSince'>;
  readonly failingObjects: Pick<FailingObjects, 'list' | 'count'>;
  readonly incompleteProtos: Pick<IncompleteProtos, 'list' | 'count'>;
  readonly spooled: () => SpoolCount;
  readonly history: Pick<StorageHistory, 'status'>;
  readonly onFailingObjects: (count: number) => void;
  /** Where all replicas work and each has a part of the whole; the leader adds them up. */
  readonly share?: StatusShare | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface StatusShare {
  /** Of this process. */
  readonly name: string;
  readonly leads: () => boolean;
  readonly replicas: () => number;
  /** Buckets of objects that no replica owns; undefined where each has an owner. */
  readonly unowned: () => { readonly buckets: number; readonly since: Date } | undefined;
}

const PERIOD_MS = 5000;
/** What MySQL does is told at once. */
const LOOK_MS = 1000;
/** What is shorter is a replica that came, went or died. */
const UNOWNED_MS = 60_000;
/** A ConfigMap holds a mebibyte; the oldest failing objects are the ones to look at. */
const LISTED = 200;
const MESSAGE_LENGTH = 500;

/** Until the signal, while this process is the one that works, or one of those that do. */
export async function runStatusWriter(options: StatusWriterOptions, signal: AbortSignal): Promise<void> {
  const { client, namespace, clock, logger, failingObjects, onFailingObjects } = options;
  const complaint = new Complaint(logger, 'The status ConfigMap could not be written');
  const shared = options.share === undefined ? undefined : new SharedStatus(clock, options.share.name);
  let written = { atMs: Number.NEGATIVE_INFINITY, problem: options.monitor.problem };
  await repeat({ clock, periodMs: LOOK_MS, signal }, async () => {
    onFailingObjects(failingObjects.count);
    const atMs = clock.monotonicMs();
    const { problem } = options.monitor;
    if (atMs - written.atMs < PERIOD_MS && problem === written.problem) return;
    written = { atMs, problem };
    try {
      const answer = await client.mergePatch(statusRef(namespace), { data: dataFor(options, shared) });
      shared?.note(dataOf(answer));
      complaint.over();
    } catch (error) {
      complaint.say(error);
    }
  });
}

function dataFor(
  options: StatusWriterOptions,
  shared: SharedStatus | undefined,
): Readonly<Record<string, string | null>> {
  const { share } = options;
  const own = statusOf(options);
  if (share === undefined || shared === undefined)
    return { [STATUS_KEY]: JSON.stringify(own), ...historyData(options) };
  if (!share.leads()) return { [shareKey(share.name)]: JSON.stringify(own) };
  const left = Object.fromEntries(shared.left.map((key) => [key, null]));
  const whole = { ...added(own, shared.others, LISTED), ...unownedOf(share, options.clock.now()) };
  return { ...left, [STATUS_KEY]: JSON.stringify(whole), ...historyData(options) };
}

function unownedOf({ unowned }: StatusShare, now: Date): Pick<IngesterStatus, 'unownedBuckets'> {
  const found = unowned();
  if (found === undefined || now.getTime() - found.since.getTime() < UNOWNED_MS) return {};
  return { unownedBuckets: { count: found.buckets, since: found.since.toISOString() } };
}

function historyData({ history: { status } }: StatusWriterOptions): Readonly<Record<string, string>> {
  return status === undefined ? {} : { [HISTORY_KEY]: JSON.stringify(status) };
}

function statusOf(options: StatusWriterOptions): IngesterStatus {
  const { kinds, monitor, failingObjects, incompleteProtos, spooled, clock } = options;
  const { problem, problemSince } = monitor;
  // All of them share the room of the ConfigMap.
  const most = Math.ceil(LISTED / Math.max(1, options.share?.replicas() ?? 1));
  const listed = failingObjects.list().slice(0, most);
  const { waiting, aside } = spooled();
  return {
    at: clock.now().toISOString(),
    instance: hostname(),
    storage: {
      ...(problem === undefined ? {} : { problem: clean(problem) }),
      ...(problemSince === undefined ? {} : { since: problemSince.toISOString() }),
    },
    kinds: kinds().map(cleanKind),
    failingObjects: {
      count: failingObjects.count,
      listed: listed.map((each) => ({ ...each, message: clean(each.message) })),
    },
    incompleteProtos: {
      count: incompleteProtos.count,
      listed: incompleteProtos.list().slice(0, most).map(shortened),
    },
    spooled: waiting,
    spoolAside: aside,
  };
}

function cleanKind({ interrupted, ...kind }: KindStatus): KindStatus {
  return interrupted === undefined
    ? kind
    : { ...kind, interrupted: { ...interrupted, reason: clean(interrupted.reason) } };
}

function shortened(incomplete: IncompleteProto): IncompleteProto {
  return { ...incomplete, lacks: incomplete.lacks.map(clean) };
}

function clean(message: string): string {
  return redact(message).slice(0, MESSAGE_LENGTH);
}
