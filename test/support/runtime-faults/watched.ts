// A controller on a real API server, watched: which version of each object it has reconciled last, and what it has open.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { it } from 'node:test';
import { objectKey } from '../../../src/api/object.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import type { Resource } from '../../../src/kube/client.ts';
import { HttpKubeClient } from '../../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../../src/kube/http/transport.ts';
import { Informer } from '../../../src/kube/informer.ts';
import { configMaps } from '../../../src/kube/resources.ts';
import { IdentityStore } from '../../../src/kube/store.ts';
import { Controller } from '../../../src/runtime/controller.ts';
import { type EventHandler, enqueueForObject } from '../../../src/runtime/handler.ts';
import { done, type Reconcile } from '../../../src/runtime/reconcile.ts';
import { kindSource } from '../../../src/runtime/source.ts';
import { eventually } from '../eventually.ts';
import { openHandles } from '../open-handles.ts';
import { RecordingLogger } from '../recording-logger.ts';
import { NS, type World } from './world.ts';

export interface WatchedOptions {
  readonly resource?: Resource;
  /** Through the proxy that refuses unless given. */
  readonly kubeconfig?: string;
  readonly clock?: Clock;
  readonly silenceMs?: number;
  readonly handler?: EventHandler;
  /** Run before the reconcile notes what it saw. */
  readonly work?: Reconcile;
  readonly reconcileTimeoutMs?: number;
}

const LIMIT_MS = 60_000;

export class Watched {
  readonly logger: RecordingLogger = new RecordingLogger();
  readonly store: IdentityStore = new IdentityStore();
  readonly informer: Informer;
  readonly resource: Resource;
  /** uid and resourceVersion of what the last reconcile of each key saw. */
  readonly #reconciled = new Map<string, string>();
  readonly #world: World;
  readonly #client: HttpKubeClient;
  readonly #stop = new AbortController();
  readonly #finished: Promise<unknown>;

  constructor(world: World, options: WatchedOptions) {
    const { resource = configMaps, kubeconfig = world.proxied, clock = systemClock, silenceMs } = options;
    const { handler = enqueueForObject(), work = () => Promise.resolve(done), reconcileTimeoutMs } = options;
    const { logger, store } = this;
    this.#world = world;
    this.resource = resource;
    this.#client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock }));
    const selection = { namespace: NS };
    const liveness = silenceMs === undefined ? {} : { silenceMs };
    // Waits without the part that is left to chance, which only costs the tests time.
    const common = { client: this.#client, resource, store, clock, logger, selection, random: () => 0 };
    const informer = new Informer({ ...common, ...liveness });
    this.informer = informer;
    const controller = new Controller({
      name: 'watched',
      clock,
      logger,
      sources: [kindSource({ name: resource.plural, informer: () => informer, handler })],
      retry: { baseMs: 50, capMs: 1000 },
      ...(reconcileTimeoutMs === undefined ? {} : { reconcileTimeoutMs }),
      reconcile: async (key, context) => {
        const result = await work(key, context);
        this.#note(key);
        return result;
      },
    });
    this.#finished = Promise.all([informer.run(this.#stop.signal), controller.run(this.#stop.signal)]);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Until every object of the server was reconciled in the state the server has, and nothing else. */
  settles(): Promise<void> {
    return eventually(async () => {
      const server = await this.#world.versions(this.resource);
      assert.equal(this.#reconciled.size, server.size);
      for (const [key, version] of server) assert.equal(this.#reconciled.get(key), version, key);
      assert.equal(this.store.heldCount, 0);
    }, LIMIT_MS);
  }

  logs(message: string): Promise<void> {
    return eventually(() => assert.ok(this.logger.messages().includes(message), message), LIMIT_MS);
  }

  /** On the one signal that lives as long as the controller. */
  listeners(): number {
    return getEventListeners(this.#stop.signal, 'abort').length;
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#finished;
    await this.#client.close();
    assert.equal(this.listeners(), 0);
  }

  #note(key: string): void {
    const identity = this.store.identity(key);
    if (identity === undefined) {
      this.#reconciled.delete(key);
      return;
    }
    this.#reconciled.set(key, `${identity.uid} ${identity.resourceVersion}`);
    this.store.release(key, identity.resourceVersion);
  }
}

/**
 * One fault, with a reflector of its own, because a backoff outlives the fault. Afterwards what was reconciled is what
 * the server has, the controller listens to nothing that it did not before, and once it is stopped nothing is left.
 */
export function scenario(
  name: string,
  world: () => World,
  options: WatchedOptions | (() => WatchedOptions | Promise<WatchedOptions>),
  fault: (watched: Watched, world: World) => Promise<void>,
): void {
  it(name, async () => {
    const chosen = typeof options === 'function' ? await options() : options;
    const watched = new Watched(world(), chosen);
    try {
      await eventually(() => assert.ok(watched.informer.synced), LIMIT_MS);
      await watched.settles();
      const listeners = watched.listeners();
      await fault(watched, world());
      await watched.settles();
      await eventually(() => assert.equal(watched.listeners(), listeners));
    } finally {
      world().proxy.refuse(undefined);
      await watched.end();
      await world().link.cut();
      await world().link.heal();
    }
    await eventually(() => assert.deepEqual(openHandles(), world().handles));
  });
}

export const keyOf = (name: string): string => objectKey({ metadata: { namespace: NS, name } });
