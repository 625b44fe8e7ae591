import { setImmediate as nextTurn } from 'node:timers/promises';
import { identityOf, type KubernetesObject, objectKey } from '../api/object.ts';
import type { HandlerRegistration, Informs, ResourceHandler } from './handler.ts';
import { Reflector, type ReflectorOptions, type ReflectorSink } from './reflector.ts';
import { isNewer } from './resource-version.ts';
import type { ObjectStore } from './store.ts';

export interface InformerOptions<Store extends ObjectStore> extends Omit<ReflectorOptions, 'sink'> {
  readonly store: Store;
  /** Runs once per object before it is stored; must give the same result when run on its own result. */
  readonly transform?: (object: KubernetesObject) => KubernetesObject;
}

/** Objects whose end is remembered, so that a belated event does not bring them back. */
const MAX_DEPARTED = 1000;
/** Longest stretch of telling handlers before others get a turn. */
const SLICE_MS = 10;

interface Registered {
  readonly handler: ResourceHandler;
  /** Keys of objects that were there before the handler and that it has not been told of yet. */
  readonly untold: Set<string>;
  synced: boolean;
  removed: boolean;
}

/**
 * Keeps a local copy of one resource and tells its handlers what changed. Each handler sees the whole initial list
 * first, then every change in order; handlers among each other have no order.
 */
export class Informer<Store extends ObjectStore> implements Informs {
  readonly store: Store;
  readonly #options: InformerOptions<Store>;
  readonly #reflector: Reflector;
  #registered: readonly Registered[] = [];
  #unseen = new Set<string>();
  /** Versions at which objects ended, by uid. */
  readonly #departed = new Map<string, string>();
  #synced = false;
  #installed = true;

  constructor(options: InformerOptions<Store>) {
    this.#options = options;
    this.store = options.store;
    this.#reflector = new Reflector({ ...options, sink: this.#sink() });
  }

  /** True once the first list was complete. */
  get synced(): boolean {
    return this.#synced;
  }

  /** False while the API server does not know the resource. */
  get installed(): boolean {
    return this.#installed;
  }

  /** Version up to which every handler has been told everything. */
  get resourceVersion(): string {
    return this.#reflector.resourceVersion;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  /**
   * A handler that comes late, be it in the middle of the first list, is told of what is there as its initial list: at
   * once, unless that is much. Changes of what it knows it is told of meanwhile.
   */
  addHandler(handler: ResourceHandler): HandlerRegistration {
    const registered: Registered = { handler, untold: new Set(this.store.keys()), synced: false, removed: false };
    this.#registered = [...this.#registered, registered];
    void this.#tellWhatIsThere(registered);
    return {
      get synced() {
        return registered.synced;
      },
      remove: () => {
        registered.removed = true;
        registered.untold.clear();
        this.#registered = this.#registered.filter((other) => other !== registered);
      },
    };
  }

  async #tellWhatIsThere(registered: Registered): Promise<void> {
    const { handler, untold } = registered;
    let sliceStart = performance.now();
    for (const key of untold) {
      untold.delete(key);
      const object = this.store.latest(key);
      if (object !== undefined) this.#tell(() => handler.add(object, true));
      if (performance.now() - sliceStart < SLICE_MS) continue;
      await nextTurn();
      sliceStart = performance.now();
    }
    registered.synced = this.#synced;
  }

  #sink(): ReflectorSink {
    return {
      listStarts: () => {
        this.#unseen = new Set(this.store.keys());
      },
      listed: (object) => this.#set(object),
      listEnds: (resourceVersion) => this.#listEnds(resourceVersion),
      changed: (object) => {
        if (!this.#isBelated(object)) this.#set(object);
      },
      removed: (object) => this.#remove(object),
      notInstalled: () => this.#noteMissing(),
    };
  }

  /**
   * Whether something newer is known of the very object, so that this state must not be told any more. Streams keep the
   * order; but whoever answers after a break may not be as far as who answered before. A list is believed in any case:
   * a cluster may have been put back to an earlier state.
   */
  #isBelated(object: KubernetesObject): boolean {
    const { uid, resourceVersion } = identityOf(object);
    if (isNewer(resourceVersion, this.#reflector.resourceVersion)) return false;
    const known = this.store.identity(objectKey(object));
    if (known?.uid === uid && isNewer(known.resourceVersion, resourceVersion)) return true;
    const end = this.#departed.get(uid);
    return end !== undefined && !isNewer(resourceVersion, end);
  }

  #noteDeparted(uid: string, resourceVersion: string): void {
    this.#departed.delete(uid);
    this.#departed.set(uid, resourceVersion);
    if (this.#departed.size <= MAX_DEPARTED) return;
    const [oldest] = this.#departed.keys();
    if (oldest !== undefined) this.#departed.delete(oldest);
  }

  #set(received: KubernetesObject): void {
    if (this.#unseen.size > 0) this.#unseen.delete(objectKey(received));
    const object = this.#options.transform?.(received) ?? received;
    const before = this.store.set(object);
    for (const { handler, removed, untold } of this.#registered) {
      if (removed) continue;
      if (untold.size > 0 && untold.delete(objectKey(object))) this.#tell(() => handler.add(object, true));
      else if (before === undefined) this.#tell(() => handler.add(object, !this.#synced));
      else if (identityOf(before).uid === identityOf(object).uid) this.#tell(() => handler.update(before, object));
      else this.#tellReplaced(handler, before, object);
    }
  }

  /** Another object under the same name: its predecessor was removed unseen. */
  #tellReplaced(handler: ResourceHandler, before: KubernetesObject, object: KubernetesObject): void {
    this.#tell(() => handler.delete(before, true));
    this.#tell(() => handler.add(object, !this.#synced));
  }

  #remove(object: KubernetesObject): void {
    const key = objectKey(object);
    const { uid, resourceVersion } = object.metadata;
    this.#noteDeparted(uid, resourceVersion);
    const known = this.store.identity(key);
    // Another object may have the name by now.
    if (known?.uid !== uid || isNewer(known.resourceVersion, resourceVersion)) return;
    this.#unseen.delete(key);
    this.store.delete(key);
    this.#tellRemoved(key, object, false);
  }

  #tellRemoved(key: string, object: KubernetesObject, finalStateUnknown: boolean): void {
    for (const { handler, untold } of this.#registered) {
      if (!untold.delete(key)) this.#tell(() => handler.delete(object, finalStateUnknown));
    }
  }

  /** Thousands of objects may have vanished; others get a turn in between. */
  async #listEnds(resourceVersion: string): Promise<void> {
    let sliceStart = performance.now();
    for (const key of this.#unseen) {
      const last = this.store.delete(key);
      if (last === undefined) continue;
      this.#noteDeparted(last.metadata.uid, resourceVersion);
      this.#tellRemoved(key, last, true);
      if (performance.now() - sliceStart < SLICE_MS) continue;
      await nextTurn();
      sliceStart = performance.now();
    }
    this.#unseen.clear();
    this.#noteListed();
  }

  #noteListed(): void {
    const { logger, resource } = this.#options;
    if (!this.#synced || !this.#installed) {
      logger.info({ resource: resource.plural, count: this.store.size }, 'Listed and watching');
    }
    this.#synced = true;
    this.#installed = true;
    for (const registered of this.#registered) registered.synced = registered.untold.size === 0;
  }

  #noteMissing(): void {
    const { logger, resource } = this.#options;
    if (!this.#installed) return;
    const crd = `${resource.plural}.${resource.group}`;
    logger.warn({ crd }, `CRD ${crd} is not installed; waiting for it. Apply the crds/ folder of the bundle.`);
    this.#installed = false;
  }

  /** A handler that throws is told of the next change all the same; the other handlers never notice. */
  #tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.logger.error({ resource: this.#options.resource.plural, err: error }, 'An event handler failed');
    }
  }
}
