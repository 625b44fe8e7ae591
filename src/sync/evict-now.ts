import type { KindDefinition } from '../api/kind.ts';
import type { KubernetesObject } from '../api/object.ts';
import { objectKey } from '../api/object.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { CodedError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import type { SensitiveValues } from '../storage/sensitive.ts';
import { lenientEncoder } from './encode.ts';
import type { Chosen } from './eviction-rules.ts';
import { ObjectReconciler } from './reconciler.ts';

export interface EvictNowOptions {
  readonly kind: KindDefinition;
  readonly resource: Resource;
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly sensitive: SensitiveValues;
  readonly evictImmutableKinds: boolean;
  /** Evictions a second; 0 for no limit. */
  readonly perSecond: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface EvictedNow {
  readonly namespace: string;
  readonly name: string;
  readonly rule: string;
  readonly outcome: 'evicted' | 'retained' | 'changed' | 'failed';
  readonly reason?: string;
}

/** The orphan finalizer of Kubernetes takes its time; the reconciler sees to the rest. */
const ATTEMPTS = 50;
const PAUSE_MS = 200;

/** Evicts one chosen object with the reconciler's own flows, whether or not a reconciler runs. */
export async function evictNow(chosen: Chosen, options: EvictNowOptions, signal: AbortSignal): Promise<EvictedNow> {
  const { client, resource, kind, clock } = options;
  const { namespace, name, rule, uid } = chosen;
  const facts = { namespace, name, rule };
  const retained: string[] = [];
  const ref = { resource, namespace, name };
  const { perSecond: _, ...flow } = options;
  const reconciler = new ObjectReconciler({
    ...flow,
    encode: lenientEncoder(options.logger),
    getObject: () => readSame(client, ref, uid),
    chosenBy: (object) => (object.metadata.resourceVersion === chosen.resourceVersion ? rule : undefined),
    witness: (_object, reason, note) => {
      if (reason === 'Retained' || reason === 'RecreatedAfterEviction') retained.push(note);
    },
  });
  try {
    for (let attempt = 0; attempt < ATTEMPTS && !signal.aborted; attempt += 1) {
      await reconciler.reconcile(objectKey({ metadata: chosen }));
      const now = await readSame(client, ref, uid);
      if (retained[0] !== undefined) return { ...facts, outcome: 'retained', reason: retained[0] };
      const stored = await options.storage.getById(kind, uid);
      if (stored?.state === 'evicted') return { ...facts, outcome: 'evicted' };
      if (now === undefined) return { ...facts, outcome: 'changed', reason: `it was deleted meanwhile` };
      if (now.metadata.deletionTimestamp === undefined && now.metadata.resourceVersion !== chosen.resourceVersion)
        return { ...facts, outcome: 'changed', reason: 'it changed after it was chosen' };
      await sleep(clock, PAUSE_MS, signal);
    }
    return { ...facts, outcome: 'failed', reason: 'it takes long; the reconciler goes on with it' };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { ...facts, outcome: 'failed', reason: `${error.code}: ${messageOf(error)}` };
  }
}

/** Undefined where the object is gone, also when another one has its name. */
async function readSame(
  client: KubeClient,
  ref: Parameters<KubeClient['get']>[0],
  uid: string,
): Promise<KubernetesObject | undefined> {
  try {
    const found = await client.get(ref);
    return found.metadata.uid === uid ? found : undefined;
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return undefined;
    throw error;
  }
}
