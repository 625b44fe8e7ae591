import { systemClock } from '../base/clock.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { ingesters, statusOf } from '../lifecycle/reconciler.ts';
import {
  controlRef,
  dataOf,
  evictionPause,
  isEvictionPaused,
  type OpenBreaker,
  openBreakers,
  readData,
  resumption,
  statusRef,
} from '../sync/control-state.ts';
import { StatusMissingError } from '../sync/errors.ts';
import { HISTORY_KEY, type IngesterStatus, STATUS_KEY, type StorageHistoryStatus } from '../sync/status.ts';
import { commandClient } from './command-client.ts';

/** Lets held deletions go on; gives the breakers that were open. Kinds without an open breaker are let through too. */
export async function resumeDeletions(
  configuration: Configuration,
  request: { readonly kinds: readonly string[]; readonly forMs: number },
): Promise<readonly OpenBreaker[]> {
  const client = commandClient(configuration, systemClock);
  const ref = controlRef(configuration.control.namespace);
  try {
    const open = openBreakers(await readData(client, ref));
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
    await client.mergePatch(controlRef(configuration.control.namespace), { data: evictionPause(paused) });
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
  /** Where an Ingester resource is, it decides; without one the configuration file does. Undefined: not allowed to look. */
  readonly resources: readonly Deciding[] | undefined;
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
    return items.map((object) => {
      const { phase = 'not looked at yet', version = 'nothing' } = statusOf(object);
      return { name: object.metadata.name, phase, version };
    });
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return [];
    if (isKubeError(error, 'Forbidden')) return undefined;
    throw error;
  }
}

export async function readStatus(configuration: Configuration): Promise<FullStatus> {
  const client = commandClient(configuration, systemClock);
  const { namespace } = configuration.control;
  try {
    const control = await readData(client, controlRef(namespace));
    const data = await readData(client, statusRef(namespace));
    const text = data[STATUS_KEY];
    if (text === undefined) throw new StatusMissingError(namespace);
    const status = JSON.parse(text) as IngesterStatus;
    const ageMs = systemClock.now().getTime() - Date.parse(status.at);
    const evictionPaused = configuration.eviction.paused || isEvictionPaused(control);
    const resources = await decidingResources(client, namespace);
    return {
      ...status,
      storageHistory: historyIn(data),
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

/** What the reconciler that worked last has left. It may only patch its ConfigMap; a patch of nothing answers what is there. */
export async function rememberedHistory(
  client: Pick<KubeClient, 'mergePatch'>,
  namespace: string,
): Promise<StorageHistoryStatus | undefined> {
  return historyIn(dataOf(await client.mergePatch(statusRef(namespace), {})));
}

/** How long people are told of what was lost. */
const TOLD_MS = 7 * 86_400_000;

function historyIn({ [HISTORY_KEY]: text }: ReturnType<typeof dataOf>): StorageHistoryStatus | undefined {
  if (text === undefined) return undefined;
  const { wentBack, ...history } = JSON.parse(text) as StorageHistoryStatus;
  const isTold = wentBack !== undefined && systemClock.now().getTime() - Date.parse(wentBack.at) < TOLD_MS;
  return isTold ? { ...history, wentBack } : history;
}
