import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { HandlerRegistration, Informs, ResourceHandler } from './handler.ts';
import type { Interruption } from './interruption.ts';
import { Reflector, type ReflectorOptions, type ReflectorSink } from './reflector.ts';
import { isNewer } from './resource-version.ts';
import type { IdentityStore } from './store.ts';
import type { KnownObject, WatchedObject } from './watched-object.ts';

export interface InformerOptions extends Omit<ReflectorOptions, 'sink'> {
  readonly store: IdentityStore;
}

/** Objects whose end is remembered, so that a belated event does not bring them back. */
const MAX_REMOVED = 1000;
/** Longest stretch of telling handlers before the informer yields to the event loop. */
const SLICE_MS = 10;

interface Registered {
  readonly handler: ResourceHandler;
  /** Keys of its initial list that were not delivered to it yet. */
  readonly untold: Set<string>;
  telling: boolean;
  synced: boolean;
  removed: boolean;
}

/**
 * Keeps a local copy of one resource and tells its handlers what changed. Each handler sees the whole initial list
 * first, then every change in order; handlers among each other have no order.
 */
export class Informer implements Informs {
  readonly store: IdentityStore;
  readonly #options: InformerOptions;
  readonly #reflector: Reflector;
  #registered: readonly Registered[] = [];
  #unseen = new Set<string>();
  /** Versions at which objects ended, by uid. */
  readonly #removed = new Map<string, string>();
  #synced = false;
  #installed = true;

  constructor(options: InformerOptions) {
    this.#options = options;
    this.store = options.store;
    const onWentBack = (from: string, to: string): void => {
      // What was seen of objects belongs to another history.
      this.store.releaseAll();
      options.onWentBack?.(from, to);
    };
    this.#reflector = new Reflector({ ...options, sink: this.#sink(), onWentBack });
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

  /** The newest version of an object that every handler has been told of; empty before there is one. */
  get changedVersion(): string {
    return this.#reflector.changedVersion;
  }

  /** While lists and watches fail. */
  get interruption(): Interruption | undefined {
    return this.#reflector.interruption;
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal);
  }

  /** Finds out how far the watch is where it brings only some objects, and nothing of the others. */
  lookAhead(signal: AbortSignal): Promise<void> {
    return this.#reflector.lookAhead(signal);
  }

  /**
   * A handler that is added late, even during the first list, gets the present objects as its initial list: at once,
   * unless they are many. Meanwhile it also gets changes of the objects that it has.
   */
  addHandler(handler: ResourceHandler): HandlerRegistration {
    const untold = new Set(this.store.keys());
    const registered: Registered = { handler, untold, telling: false, synced: false, removed: false };
    this.#registered = [...this.#registered, registered];
    void this.#tellInitial(registered);
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

  /** Tells the handler the objects of its initial list, in slices, each after it could prepare. */
  async #tellInitial(registered: Registered): Promise<void> {
    const { handler, untold } = registered;
    if (registered.telling) return;
    registered.telling = true;
    while (untold.size > 0) {
      if (handler.prepare !== undefined) await this.#prepared(handler);
      const sliceStart = performance.now();
      for (const key of untold) {
        if (performance.now() - sliceStart >= SLICE_MS) break;
        untold.delete(key);
        const object = this.store.known(key);
        if (object !== undefined) this.#tell(() => handler.add(object, true));
      }
      if (untold.size > 0) await yieldToEventLoop();
    }
    registered.telling = false;
    registered.synced = this.#synced;
  }

  async #prepared(handler: ResourceHandler): Promise<void> {
    try {
      await handler.prepare?.();
    } catch (error) {
      const { logger, resource } = this.#options;
      logger.error({ resource: resource.plural, err: error }, 'An event handler could not prepare');
    }
  }

  #sink(): ReflectorSink {
    return {
      listStarts: () => {
        this.#unseen = new Set(this.store.keys());
      },
      listed: (objects, signal) => this.#listed(objects, signal),
      listEnds: (resourceVersion) => this.#listEnds(resourceVersion),
      changed: (object) => {
        if (!this.#isBelated(object)) this.#set(object);
      },
      removed: (object) => this.#remove(object),
      notInstalled: () => this.#noteMissing(),
    };
  }

  /** The list waits while much of it is held and worked on, so that nothing of it has to be read again. */
  async #listed(objects: readonly WatchedObject[], signal: AbortSignal): Promise<void> {
    await this.store.untilRoom(this.#options.clock, signal);
    for (const object of objects) this.#set(object);
    for (const registered of this.#registered) void this.#tellInitial(registered);
  }

  /**
   * Whether a newer state of the same object is known, so that this one must not be delivered any more. A stream keeps
   * the order, but the API server that answers after a break may be behind the one before. A list is always believed: a
   * cluster may have been restored to an earlier state.
   */
  #isBelated({ key, identity: { uid, resourceVersion } }: WatchedObject): boolean {
    if (isNewer(resourceVersion, this.#reflector.resourceVersion)) return false;
    const known = this.store.identity(key);
    if (known?.uid === uid && isNewer(known.resourceVersion, resourceVersion)) return true;
    const end = this.#removed.get(uid);
    return end !== undefined && !isNewer(resourceVersion, end);
  }

  #noteRemoved(uid: string, resourceVersion: string): void {
    this.#removed.delete(uid);
    this.#removed.set(uid, resourceVersion);
    if (this.#removed.size <= MAX_REMOVED) return;
    const [oldest] = this.#removed.keys();
    if (oldest !== undefined) this.#removed.delete(oldest);
  }

  #set(object: WatchedObject): void {
    this.#unseen.delete(object.key);
    const before = this.store.set(object);
    for (const { handler, removed, untold } of this.#registered) {
      if (removed) continue;
      if (before === undefined && !this.#synced && handler.prepare !== undefined) untold.add(object.key);
      else if (untold.delete(object.key)) this.#tell(() => handler.add(object, true));
      else if (before === undefined) this.#tell(() => handler.add(object, !this.#synced));
      else if (before.identity.uid === object.identity.uid) this.#tell(() => handler.update(before, object));
      else this.#tellReplaced(handler, before, object);
    }
  }

  /** Another object under the same name: its predecessor was removed unseen. */
  #tellReplaced(handler: ResourceHandler, before: KnownObject, object: WatchedObject): void {
    this.#tell(() => handler.delete(before, true));
    this.#tell(() => handler.add(object, !this.#synced));
  }

  #remove(object: WatchedObject): void {
    const { key } = object;
    const { uid, resourceVersion } = object.identity;
    this.#noteRemoved(uid, resourceVersion);
    const known = this.store.identity(key);
    // Another object may have the name by now.
    if (known?.uid !== uid || isNewer(known.resourceVersion, resourceVersion)) return;
    this.#unseen.delete(key);
    this.store.delete(key);
    this.#tellRemoved(key, object, false);
  }

  #tellRemoved(key: string, object: KnownObject, finalStateUnknown: boolean): void {
    for (const { handler, untold } of this.#registered) {
      if (!untold.delete(key)) this.#tell(() => handler.delete(object, finalStateUnknown));
    }
  }

  /** Thousands of objects may be gone, so it yields to the event loop in between. */
  async #listEnds(resourceVersion: string): Promise<void> {
    let sliceStart = performance.now();
    for (const key of this.#unseen) {
      const last = this.store.delete(key);
      if (last === undefined) continue;
      this.#noteRemoved(last.identity.uid, resourceVersion);
      this.#tellRemoved(key, last, true);
      if (performance.now() - sliceStart < SLICE_MS) continue;
      await yieldToEventLoop();
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
    logger.warn(
      { crd },
      `CRD ${crd} is not installed; waiting for it. Michelangelo's API server installs it, or the component crds of the bundle.`,
    );
    this.#installed = false;
  }

  /** A handler that throws still gets the next change; the other handlers are not affected. */
  #tell(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.logger.error({ resource: this.#options.resource.plural, err: error }, 'An event handler failed');
    }
  }
}
