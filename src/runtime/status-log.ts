// Status as a write-ahead log: what is about to be done is written into the status before it is done, so that whoever
// comes after a crash can finish it. For controllers that decide by their own status.
//
// Two things would break that. A write over a state that was not read would lose somebody's entry, so every write demands
// the resourceVersion it was computed from. And a reconcile that runs before the watch has brought the last write would
// decide by an old entry, so the last write of each object is remembered until the watch has caught up.
import type { KubernetesObject } from '../api/object.ts';
import type { JsonValue } from '../base/json.ts';
import type { KubeClient, ObjectRef } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';

export interface StatusLogOptions {
  readonly client: Pick<KubeClient, 'update'>;
  readonly fieldManager: string;
  /** Own writes that are remembered; 10,000 unless given. What is forgotten costs a conflict, never a lost entry. */
  readonly limit?: number;
}

const LIMIT = 10_000;

export class StatusLog {
  readonly #options: StatusLogOptions;
  /** By uid: a new object of the same name must not inherit the status of the old one. */
  readonly #written = new Map<string, KubernetesObject>();

  constructor(options: StatusLogOptions) {
    this.#options = options;
  }

  /** The newer of what the cache has and what this process wrote last. Decide by this, not by the cache. */
  latest(cached: KubernetesObject): KubernetesObject {
    const { uid } = cached.metadata;
    const written = this.#written.get(uid);
    if (written === undefined) return cached;
    if (versionOf(cached) < versionOf(written)) return written;
    this.#written.delete(uid);
    return cached;
  }

  /**
   * Writes the status, if the object is still as it was read. Throws KubeError with reason Conflict if it is not: read
   * and decide again. Only after it returned may the step be done that the status announces.
   */
  async write(ref: ObjectRef, read: KubernetesObject, status: JsonValue): Promise<KubernetesObject> {
    const { client, fieldManager, limit = LIMIT } = this.#options;
    const { uid } = read.metadata;
    const sent = client.update(ref, { ...read, status }, { subresource: 'status', fieldManager });
    const written = await sent.catch((error: unknown) => {
      // Somebody wrote since, or etcd was restored and the last write is no more: the cache knows, this does not.
      if (isKubeError(error, 'Conflict')) this.forget(uid);
      throw error;
    });
    this.#written.delete(uid);
    this.#written.set(uid, written);
    const [oldest] = this.#written.keys();
    if (oldest !== undefined && this.#written.size > limit) this.forget(oldest);
    return written;
  }

  /** The object is gone. */
  forget(uid: string): void {
    this.#written.delete(uid);
  }
}

function versionOf({ metadata }: KubernetesObject): bigint {
  return BigInt(metadata.resourceVersion);
}
