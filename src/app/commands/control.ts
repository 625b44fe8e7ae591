import { systemClock } from '../../base/clock.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient, ObjectRef } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { ifFound } from '../../kube/found.ts';
import { dataOf } from '../../kube/resources.ts';
import { ingesters, statusOf } from '../../lifecycle/reconcile/reconciler.ts';
import {
  controlRef,
  evictionPause,
  isEvictionPaused,
  type OpenBreaker,
  openBreakers,
  resumption,
  statusRef,
} from '../../sync/flows/control-state.ts';
import { type IngesterStatus, STATUS_KEY, type StorageHistoryStatus } from '../../sync/status/status.ts';
import { historyIn } from '../../sync/status/storage-history.ts';
import { commandClient } from '../kube-client.ts';
import {
  admissionState,
  confirmedAgeMs,
  type PartState,
  queryState,
  reconcilerState,
  silentReconciler,
  storageState,
  stuckPods,
} from './parts.ts';

/** Lets held deletions go on; gives the breakers that were open. Kinds without an open breaker are let through too. */
export async function resumeDeletions(
  configuration: Configuration,
  request: { readonly kinds: readonly string[]; readonly forMs: number },
): Promise<readonly OpenBreaker[]> {
  const client = commandClient(configuration, systemClock);
  const ref = controlRef(configuration.kubernetes.namespace);
  try {
    const open = openBreakers(dataOf(await client.get(ref)));
    const kinds = request.kinds.length > 0 ? request.kinds : open.map(({ kind }) => kind);
    const until = new Date(systemClock.now().getTime() + request.forMs);
    await client.mergePatch(ref, { data: resumption(open, kinds, until) });
    return open.filter(({ kind }) => kinds.includes(kind));
  } finally {
    await client.close();
  }
}

export async function pauseEviction(configuration: Configuration, paused: boolean): Promise<void> {
  const client = commandClient(configuration, systemClock);
  try {
    await client.mergePatch(controlRef(configuration.kubernetes.namespace), { data: evictionPause(paused) });
  } finally {
    await client.close();
  }
}

export interface FullStatus extends IngesterStatus {
  readonly storageHistory: StorageHistoryStatus | undefined;
  readonly breakers: readonly OpenBreaker[];
  readonly evictionPaused: boolean;
  /** Milliseconds since the reconciler wrote it. */
  readonly ageMs: number;
  /** An Ingester resource decides where there is one, else the configuration file. Undefined: no right to list them. */
  readonly resources: readonly Deciding[] | undefined;
  readonly parts: readonly PartState[];
  readonly stuckPods: PartsStatus['stuckPods'];
}

/** What can be said where no reconciler has written its status. */
export interface PartsStatus {
  readonly parts: readonly PartState[];
  /** Pods of the bundle that do not start, with the reason. Undefined: no right to list them, or no answer. */
  readonly stuckPods: readonly string[] | undefined;
}

export interface Deciding {
  readonly name: string;
  readonly phase: string;
  readonly version: string;
}

/** None where the definition is not installed. */
async function decidingResources(client: KubeClient, namespace: string): Promise<readonly Deciding[] | undefined> {
  try {
    const { items } = await client.list(ingesters, { namespace, limit: 100 }, AbortSignal.timeout(30_000));
    return items.map((listed) => {
      const object = listed.parse();
      const { phase = 'not looked at yet', version = 'nothing' } = statusOf(object);
      return { name: object.metadata.name, phase, version };
    });
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return [];
    if (isKubeError(error, 'Forbidden')) return undefined;
    throw error;
  }
}

function statusIn({ [STATUS_KEY]: text }: ReturnType<typeof dataOf>): IngesterStatus | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as IngesterStatus);
}

export async function readStatus(configuration: Configuration): Promise<FullStatus | PartsStatus> {
  const client = commandClient(configuration, systemClock);
  const { namespace } = configuration.kubernetes;
  const read = async (ref: ObjectRef): Promise<ReturnType<typeof dataOf>> => dataOf(await ifFound(client.get(ref)));
  try {
    const control = await read(controlRef(namespace));
    const data = await read(statusRef(namespace));
    const first = statusIn(data);
    const others = [admissionState(client, namespace), queryState(configuration)];
    const looking = stuckPods(client, namespace);
    if (first === undefined) {
      const [stuck, ...parts] = await Promise.all([looking, ...others]);
      return { parts: [...silentReconciler(namespace), ...parts], stuckPods: stuck };
    }
    const again = async (): Promise<IngesterStatus> => statusIn(await read(statusRef(namespace))) ?? first;
    const [{ status, ageMs }, resources, stuck, ...parts] = await Promise.all([
      confirmedAgeMs(first, again),
      decidingResources(client, namespace),
      looking,
      ...others,
    ]);
    return {
      ...status,
      parts: [reconcilerState(status, ageMs), storageState(status, ageMs), ...parts],
      storageHistory: historyIn(data, systemClock.now()),
      stuckPods: stuck,
      breakers: openBreakers(control),
      evictionPaused: isEvictionPaused(control),
      ageMs,
      resources,
    };
  } finally {
    await client.close();
  }
}
