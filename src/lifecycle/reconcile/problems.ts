// Why a pod does not start, or how it ended: from its status, and where that says nothing from the newest warning about it.
// A volume that cannot be mounted and a pod that a quota refuses are in no status.
import type { KubernetesObject } from '../../api/object.ts';
import { redact } from '../../base/redact.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { events } from '../../kube/resources.ts';
import { cannotStartGraceMs } from '../plan/settings.ts';
import { hasEnded, listAt, numberAt, textAt } from './reading.ts';

const LONGEST = 256;
/** Events about one object are few: repeats are counted in them. */
const MOST_EVENTS = 100;

const STUCK: ReadonlySet<string> = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'InvalidImageName',
  'ErrImagePull',
  'ImagePullBackOff',
  'CrashLoopBackOff',
]);

export function waitingProblem(pod: KubernetesObject): string | undefined {
  for (const state of containersOf(pod)) {
    const reason = textAt(state, 'state', 'waiting', 'reason');
    if (reason === undefined || !STUCK.has(reason)) continue;
    const message = endText(state, 'lastState') ?? textAt(state, 'state', 'waiting', 'message') ?? '';
    return named(pod, `${reason} ${message}`);
  }
  const scheduled = listAt(pod, 'status', 'conditions').find((each) => textAt(each, 'type') === 'PodScheduled');
  if (textAt(scheduled, 'reason') !== 'Unschedulable') return undefined;
  return named(pod, `Unschedulable ${textAt(scheduled, 'message') ?? ''}`);
}

/** Of a Deployment, where its pods say nothing: none can be created, or they are not ready in time. */
export function deploymentProblem(deployment: KubernetesObject): string | undefined {
  const conditions = listAt(deployment, 'status', 'conditions');
  const refused = conditions.find(
    (each) => textAt(each, 'type') === 'ReplicaFailure' && textAt(each, 'status') === 'True',
  );
  if (refused !== undefined)
    return clip(`${textAt(refused, 'reason') ?? 'ReplicaFailure'} ${textAt(refused, 'message') ?? ''}`);
  const exceeded = conditions.some((each) => textAt(each, 'reason') === 'ProgressDeadlineExceeded');
  return exceeded ? 'its pods did not become ready in time' : undefined;
}

export interface PodEnd {
  readonly exitCode: number | undefined;
  readonly message: string;
}

/** How the first container of it ended that did, or why the node ended the pod before that. */
export function endOf(pod: KubernetesObject): PodEnd | undefined {
  for (const state of listAt(pod, 'status', 'containerStatuses')) {
    const text = endText(state, 'state');
    if (text !== undefined) return { exitCode: numberAt(state, 'state', 'terminated', 'exitCode'), message: text };
  }
  const reason = hasEnded(pod) ? textAt(pod, 'status', 'reason') : undefined;
  if (reason === undefined) return undefined;
  return { exitCode: undefined, message: `${reason}: ${textAt(pod, 'status', 'message') ?? ''}` };
}

/** Reasons that say no more than the exit code does. */
const PLAIN: ReadonlySet<string> = new Set(['Completed', 'Error']);

function endText(container: unknown, at: 'state' | 'lastState'): string | undefined {
  const reason = textAt(container, at, 'terminated', 'reason');
  if (reason === undefined) return undefined;
  const message = (textAt(container, at, 'terminated', 'message') ?? '').trim();
  if (PLAIN.has(reason)) return message === '' ? reason : message;
  return message === '' ? reason : `${reason}: ${message}`;
}

/** Pods that have been waiting for their volumes, or for a sandbox, for longer than that takes. */
export function isSilent(pod: KubernetesObject, now: Date): boolean {
  if (hasEnded(pod) || !isOlderThanGrace(pod, now) || waitingProblem(pod) !== undefined) return false;
  const states = containersOf(pod);
  return (
    states.length === 0 || states.some((state) => textAt(state, 'state', 'waiting', 'reason') === 'ContainerCreating')
  );
}

export function isOlderThanGrace({ metadata }: KubernetesObject, now: Date): boolean {
  const { creationTimestamp } = metadata;
  return creationTimestamp !== undefined && now.getTime() - Date.parse(creationTimestamp) >= cannotStartGraceMs;
}

/** The newest warning about each of these objects, by uid. */
export async function warningsAbout(
  client: Pick<KubeClient, 'list'>,
  objects: readonly KubernetesObject[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const found = await Promise.all(
    objects.map(async (object) => [object.metadata.uid, await newestWarning(client, object, signal)] as const),
  );
  return new Map(found.flatMap(([uid, text]) => (text === undefined ? [] : [[uid, text]])));
}

async function newestWarning(
  client: Pick<KubeClient, 'list'>,
  object: KubernetesObject,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { namespace, uid } = object.metadata;
  const selection = { namespace, fieldSelector: `regarding.uid=${uid},type=Warning` };
  try {
    const { items } = await client.list(events, { ...selection, limit: MOST_EVENTS }, signal);
    const newest = items.map((item) => item.parse()).sort((left, right) => lastOf(right) - lastOf(left))[0];
    return newest && named(object, `${textAt(newest, 'reason') ?? ''} ${textAt(newest, 'note') ?? ''}`);
  } catch (error) {
    // Without the right to read them the work goes on; only the reason is missing.
    if (isKubeError(error, 'Forbidden')) return undefined;
    throw error;
  }
}

function lastOf(event: KubernetesObject): number {
  const times = [
    textAt(event, 'series', 'lastObservedTime'),
    textAt(event, 'deprecatedLastTimestamp'),
    textAt(event, 'eventTime'),
  ];
  return Date.parse(times.find((time) => time !== undefined) ?? event.metadata.creationTimestamp ?? '') || 0;
}

function containersOf(pod: KubernetesObject): readonly unknown[] {
  return [...listAt(pod, 'status', 'initContainerStatuses'), ...listAt(pod, 'status', 'containerStatuses')];
}

function named({ metadata }: KubernetesObject, problem: string): string {
  return clip(`${metadata.name}: ${problem}`);
}

function clip(text: string): string {
  return redact(text.trim()).slice(0, LONGEST);
}
