import { systemClock } from '../../base/clock.ts';
import type { Configuration } from '../../config/schema.ts';
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { dataOf } from '../../kube/resources.ts';
import { ingesters, statusOf } from '../../lifecycle/reconcile/reconciler.ts';
import { StatusMissingError } from '../../sync/errors.ts';
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
import { admissionState, confirmedAgeMs, type PartState, queryState, reconcilerState, storageState } from './parts.ts';

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

function statusIn({ [STATUS_KEY]: text }: ReturnType<typeof dataOf>, namespace: string): IngesterStatus {
  if (text === undefined) throw new StatusMissingError(namespace);
  return JSON.parse(text) as IngesterStatus;
}

export async function readStatus(configuration: Configuration): Promise<FullStatus> {
  const client = commandClient(configuration, systemClock);
  const { namespace } = configuration.kubernetes;
  try {
    const control = dataOf(await client.get(controlRef(namespace)));
    const data = dataOf(await client.get(statusRef(namespace)));
    const read = async (): Promise<IngesterStatus> =>
      statusIn(dataOf(await client.get(statusRef(namespace))), namespace);
    const [{ status, ageMs }, admission, query, resources] = await Promise.all([
      confirmedAgeMs(statusIn(data, namespace), read),
      admissionState(client, namespace),
      queryState(configuration),
      decidingResources(client, namespace),
    ]);
    const evictionPaused = isEvictionPaused(control);
    return {
      ...status,
      parts: [reconcilerState(status, ageMs), storageState(status, ageMs), admission, query],
      storageHistory: historyIn(data, systemClock.now()),
      breakers: openBreakers(control),
      evictionPaused,
      ageMs,
      resources,
    };
  } catch (error) {
    if (isKubeError(error, 'NotFound')) throw new StatusMissingError(namespace);
    throw error;
  } finally {
    await client.close();
  }
}
