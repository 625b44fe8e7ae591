// Which parts of the installation do their work now: each is asked, with the rights of the user who runs the command.
import { sleep, systemClock, within } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError, isNamespaceGone, KubeError } from '../../kube/errors.ts';
import { pods } from '../../kube/resources.ts';
import { waitingProblem } from '../../lifecycle/reconcile/problems.ts';
import { whyUnguarded } from '../../sync/probe.ts';
import { type IngesterStatus, OLD_MS } from '../../sync/status/status.ts';
import { StoredObjects } from './stored-objects.ts';

export interface PartState {
  readonly part: 'reconciler' | 'MySQL' | 'admission' | 'query API';
  /** `absent` is no failure: the part is not installed. */
  readonly state: 'works' | 'fails' | 'unknown' | 'absent';
  readonly reason: string;
}

/** A part that is there answers the API server within this; the whole answer comes within 15 seconds. */
const ANSWER_MS = 10_000;
/** A read of one object is a matter of milliseconds, and what the command says of the others is as old as this wait. */
const READ_MS = 3000;
/** A reconciler that works has written again within this. */
const WRITTEN_MS = 7000;
const BETWEEN_LOOKS_MS = 500;
const MOST_PODS = 100;
const ONLY_IT_KNOWS = 'only a reconciler that runs knows';
/** Which every cluster has. */
const ANOTHER_NAMESPACE = 'default';
const never = new AbortController().signal;

export function reconcilerState({ instance, kinds }: IngesterStatus, ageMs: number): PartState {
  const part = 'reconciler';
  const age = Math.max(0, Math.round(ageMs / 1000));
  if (ageMs > OLD_MS) {
    const reason = `does not run, or cannot reach the API server: nothing was written for ${age} s`;
    return { part, state: 'fails', reason };
  }
  const blind = kinds.filter(({ interrupted }) => interrupted !== undefined).map(({ kind }) => kind);
  if (blind.length > 0) return { part, state: 'fails', reason: `cannot watch ${blind.join(', ')}` };
  return { part, state: 'works', reason: `${instance} wrote the status ${age} s ago` };
}

export function storageState({ storage }: IngesterStatus, ageMs: number): PartState {
  if (ageMs > OLD_MS) {
    return { part: 'MySQL', state: 'unknown', reason: ONLY_IT_KNOWS };
  }
  if (storage.problem === undefined) return { part: 'MySQL', state: 'works', reason: 'answers the reconciler' };
  return { part: 'MySQL', state: 'fails', reason: `${storage.problem} (since ${storage.since ?? 'the start'})` };
}

/** Where it has written nothing, or nothing is left of it. */
export function silentReconciler(namespace: string): readonly PartState[] {
  const reason =
    `has written no status to the ConfigMap ${namespace}/ingester-status, so nothing is known of it: it does not run, ` +
    'kubernetes.namespace is another one, or the ConfigMap was deleted (apply the manifests of the bundle again)';
  return [
    { part: 'reconciler', state: 'fails', reason },
    { part: 'MySQL', state: 'unknown', reason: ONLY_IT_KNOWS },
  ];
}

/** By the dry run of a create, so that it is the same for the webhook and for the policies instead of it. */
export async function admissionState(client: KubeClient, namespace: string): Promise<PartState> {
  const part = 'admission';
  try {
    const limit = { clock: systemClock, timeoutMs: ANSWER_MS };
    const silent = (): string => `the API server gave no answer within ${ANSWER_MS / 1000} s`;
    const reason = await within(limit, () => whyUnguardedIn(client, namespace), silent);
    if (reason !== undefined) return { part, state: 'fails', reason };
    return { part, state: 'works', reason: 'new objects get the finalizer' };
  } catch (error) {
    const reason = messageOf(error);
    const refused = ['Forbidden', 'NotFound', 'Invalid', 'Refused', 'Unauthorized', 'Conflict'] as const;
    if (!refused.some((each) => isKubeError(error, each))) return { part, state: 'fails', reason };
    return { part, state: 'unknown', reason: `it takes the right to create projects in ${namespace}: ${reason}` };
  }
}

/** Where the namespace of the bundle was deleted, admission may be left, and refuses in all the others. */
async function whyUnguardedIn(client: KubeClient, namespace: string): Promise<string | undefined> {
  try {
    return await whyUnguarded(client, namespace);
  } catch (error) {
    if (!isNamespaceGone(error)) throw error;
    return await whyUnguarded(client, ANOTHER_NAMESPACE);
  }
}

/** By its discovery, which is answered to every user, and without MySQL; then by what it reads there. */
export async function queryState(configuration: Configuration): Promise<PartState> {
  const part = 'query API';
  const objects = new StoredObjects(configuration);
  try {
    const [plural] = await objects.discovery(AbortSignal.timeout(ANSWER_MS));
    if (plural === undefined) return { part, state: 'works', reason: 'answers' };
    return { part, ...(await readingState(objects, plural)) };
  } catch (error) {
    const reason = messageOf(error);
    if (isKubeError(error, 'NotFound')) return { part, state: 'absent', reason: 'is not installed' };
    return { part, state: isKubeError(error, 'Forbidden') ? 'unknown' : 'fails', reason };
  } finally {
    await objects.close();
  }
}

async function readingState(objects: StoredObjects, plural: string): Promise<Omit<PartState, 'part'>> {
  const signal = AbortSignal.timeout(READ_MS);
  try {
    await objects.call({ path: `/${plural}`, query: { limit: '1' }, signal });
    return { state: 'works', reason: 'answers, and reads MySQL' };
  } catch (error) {
    if (isKubeError(error, 'Forbidden')) {
      return { state: 'works', reason: `answers; whether it reads MySQL takes the right to list ${plural}` };
    }
    const why = signal.aborted ? `no answer within ${READ_MS / 1000} s` : messageOf(error);
    return {
      state: 'fails',
      reason: `answers, and cannot read MySQL: ${why}; kubectl waits and retries, see the runbook IngesterQueryWithoutStorage`,
    };
  }
}

/**
 * Each line names a pod of the bundle that does not start, and why: a rollout that hangs leaves the pods of before at work.
 * Undefined where the user may not list pods, or no answer comes: what works is said without it.
 */
export async function stuckPods(
  client: Pick<KubeClient, 'list'>,
  namespace: string,
): Promise<readonly string[] | undefined> {
  const signal = AbortSignal.timeout(READ_MS);
  const selection = { namespace, labelSelector: 'app.kubernetes.io/name=michelangelo-ingester', limit: MOST_PODS };
  try {
    const { items } = await client.list(pods, selection, signal);
    return items.flatMap((item) => waitingProblem(item.parse()) ?? []);
  } catch (error) {
    if (error instanceof KubeError || signal.aborted) return undefined;
    throw error;
  }
}

/** The age by the clock of this machine, which may be wrong: an old status counts as old once no newer one comes. */
export async function confirmedAgeMs(
  first: IngesterStatus,
  read: () => Promise<IngesterStatus>,
): Promise<{ readonly status: IngesterStatus; readonly ageMs: number }> {
  const ageOf = ({ at }: IngesterStatus): number => systemClock.now().getTime() - Date.parse(at);
  if (ageOf(first) <= OLD_MS && ageOf(first) >= 0) return { status: first, ageMs: ageOf(first) };
  const until = systemClock.monotonicMs() + WRITTEN_MS;
  while (systemClock.monotonicMs() < until) {
    await sleep(systemClock, BETWEEN_LOOKS_MS, never);
    const status = await read();
    if (status.at !== first.at) return { status, ageMs: 0 };
  }
  return { status: first, ageMs: Math.max(ageOf(first), OLD_MS + 1) };
}
