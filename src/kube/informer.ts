import { setImmediate as nextTurn } from 'node:timers/promises';
import { type KubernetesObject, objectKey } from '../api/object.ts';
import type { HandlerRegistration, Informs, ResourceHandler } from './handler.ts';
import { Reflector, type ReflectorOptions, type ReflectorSink } from './reflector.ts';
import type { ObjectStore } from './store.ts';

export interface InformerOptions<Store extends ObjectStore> extends Omit<ReflectorOptions, 'sink'> {
  readonly store: Store;
  /** Runs once per object before it is stored; must give the same result when run on its own result. */
  readonly transform?: (object: KubernetesObject) => KubernetesObject;
}

/** Longest stretch of telling handlers before others get a turn. */
const SLICE_MS = 10;

interface Registered {
  readonly handler: ResourceHandler;
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

  /** A handler that comes late is given what is there as its initial list, before this returns. */
  addHandler(handler: ResourceHandler): HandlerRegistration {
    const registered: Registered = { handler, synced: this.#synced, removed: false };
    if (this.#synced) for (const object of this.store.values()) handler.add(object, true);
    this.#registered = [...this.#registered, registered];
    return {
      get synced() {
        return registered.synced;
      },
      remove: () => {
        registered.removed = true;
        this.#registered = this.#registered.filter((other) => other !== registered);
      },
    };
  }

  #sink(): ReflectorSink {
    return {
      listStarts: () => {
        this.#unseen = new Set(this.store.keys());
      },
      listed: (object) => {
        this.#unseen.delete(objectKey(object));
        this.#set(object);
      },
      listEnds: () => this.#listEnds(),
      changed: (object) => {
        this.#unseen.delete(objectKey(object));
        this.#set(object);
      },
      removed: (object) => this.#remove(object),
      notInstalled: () => this.#noteMissing(),
    };
  }

  #set(received: KubernetesObject): void {
    const object = this.#options.transform?.(received) ?? received;
    const before = this.store.set(object);
    for (const { handler, removed } of this.#registered) {
      if (removed) continue;
      if (before === undefined) this.#tell(() => handler.add(object, !this.#synced));
      else if (before.metadata.uid === object.metadata.uid) this.#tell(() => handler.update(before, object));
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
    this.#unseen.delete(key);
    if (this.store.delete(key) === undefined) return;
    for (const { handler } of this.#registered) this.#tell(() => handler.delete(object, false));
  }

  /** Thousands of objects may have vanished; others get a turn in between. */
  async #listEnds(): Promise<void> {
    let sliceStart = performance.now();
    for (const key of this.#unseen) {
      const last = this.store.delete(key);
      if (last === undefined) continue;
      for (const { handler } of this.#registered) this.#tell(() => handler.delete(last, true));
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
    for (const registered of this.#registered) registered.synced = true;
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
