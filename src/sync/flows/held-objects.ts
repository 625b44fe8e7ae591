import type { Identity } from '../../api/object.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { ifFound } from '../../kube/found.ts';
import type { IdentityStore } from '../../kube/store.ts';
import { asWatched, type WatchedObject } from '../../kube/watched-object.ts';
import type { ReconcileResult } from '../../runtime/reconcile.ts';

/** An object that has to be read first counts as one of the largest that etcd takes. */
const UNREAD_BYTES = 1024 * 1024;

export interface HeldObjectsOptions {
  readonly client: Pick<KubeClient, 'get'>;
  readonly resource: Resource;
  readonly store: IdentityStore;
  /** Whether an object is this replica's: another one may have the name by now. */
  readonly keeps?: ((object: Identity) => boolean) | undefined;
  /** Whether the object waits, so that its key comes again. */
  readonly waits: (key: string) => boolean;
}

/** The objects of one kind as a reconcile finds them: objects that were dealt with are kept by identity only. */
export class HeldObjects {
  readonly #options: HeldObjectsOptions;

  constructor(options: HeldObjectsOptions) {
    this.#options = options;
  }

  /** The held object, else what the API server says; undefined where there is none. */
  async get(key: string): Promise<WatchedObject | undefined> {
    const { client, resource, store, keeps } = this.#options;
    const held = store.get(key);
    if (held !== undefined || !store.has(key)) return held;
    const [namespace = '', name = ''] = key.split('/');
    const found = await ifFound(client.get({ resource, namespace, name }));
    return found === undefined || keeps?.(found.metadata) === false ? undefined : asWatched(found);
  }

  /** What it takes to reconcile the object, in bytes as received. */
  bytes(key: string): number {
    const { store } = this.#options;
    return store.get(key)?.bytes ?? (store.has(key) ? UNREAD_BYTES : 0);
  }

  /** Runs the reconcile, then lets go of the object that was held before it, unless it is to be looked at again soon. */
  async letGoAfter(key: string, reconcile: () => Promise<ReconcileResult>): Promise<ReconcileResult> {
    const { store, waits } = this.#options;
    const held = store.get(key);
    const result = await reconcile();
    if (result.kind !== 'done' || held === undefined || (waits(key) && store.mayKeepWaiting)) return result;
    store.release(key, held.identity.resourceVersion);
    return result;
  }
}
