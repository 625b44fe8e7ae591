// The world of a cell on real parts: a namespace of a kube-apiserver with its garbage collector, and MySQL. What happened
// is seen by a watch. Cells differ by the name of their object, so many run at the same time.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { isAborted } from '../../../src/base/abort.ts';
import { CodedError } from '../../../src/base/errors.ts';
import type { KubeClient, ListPage, WatchEvent } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { ifFound } from '../../../src/kube/found.ts';
import type { MetadataStorage, StoredObject } from '../../../src/storage/metadata-storage.ts';
import { eventually } from '../eventually.ts';
import { kindNamed } from '../objects.ts';
import type { Evidence, FinalizerRemoval } from './history.ts';
import { livesOf, observed } from './model-stage.ts';
import type { Stage } from './run.ts';
import { SECRET, tracesOf } from './traces.ts';

interface Change {
  readonly type: Exclude<WatchEvent['type'], 'BOOKMARK'>;
  readonly object: KubernetesObject;
}

/** A server that ends, and what brings it back. */
export interface Outage {
  readonly kill: () => Promise<void>;
  readonly revive: () => Promise<void>;
}

export interface Servers {
  readonly client: KubeClient;
  /** Of the flows. */
  readonly storage: MetadataStorage;
  /** Of the one who looks, to whom nothing happens but that the server ends. */
  readonly evidence: Pick<MetadataStorage, 'getById'>;
  readonly namespace: string;
}

const kind = kindNamed('RayJob');
const resource = { group: 'michelangelo.api', version: 'v2', plural: kind.plural };
/** Kubernetes takes its own finalizers off within half a minute. */
const PATIENCE_MS = 90_000;
const POLL_MS = 250;

export class ServerStages {
  readonly #servers: Servers;
  readonly #changes = new Map<string, Change[]>();
  readonly #stop = new AbortController();
  #count = 0;
  #watching: Promise<void> = Promise.resolve();
  /** False from a break of the watch until everything was looked at again. */
  #seesAll = false;
  /** Settled while both servers are there. */
  #outage: Promise<void> = Promise.resolve();

  constructor(servers: Servers) {
    this.#servers = servers;
  }

  /** A new definition is not served at once. */
  async start(): Promise<void> {
    const { client, namespace } = this.#servers;
    await eventually(() => client.list(resource, { namespace, limit: 1 }, this.#stop.signal));
    this.#watching = this.#watch();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }

  /** Resolves when both servers are there. */
  whole(): Promise<void> {
    return this.#outage;
  }

  /**
   * Ends a server while no process is in the middle of a call. A process that waits before it tries again waits until
   * the server is back and what happened is known; calls that are made before fail.
   */
  async strike({ kill, revive }: Outage): Promise<void> {
    await eventually(() => this.#assertUpToDate(), PATIENCE_MS);
    await kill();
    this.#outage = (async () => {
      await revive();
      await eventually(() => assert.ok(this.#seesAll), PATIENCE_MS);
    })();
  }

  next(): Stage {
    const { client, storage, evidence, namespace } = this.#servers;
    this.#count += 1;
    const name = `cell-${this.#count}`;
    const ref = { resource, namespace, name };
    const versions = new Map<string, readonly string[]>();
    const stage: Stage = {
      kind,
      ref,
      client,
      storage: observed(storage, versions, evidence),
      wait: async (milliseconds, seen) => {
        await this.#outage;
        await (milliseconds > 5000 ? this.#untilNewer(name, seen) : delay(Math.min(milliseconds, POLL_MS)));
      },
      rest: async () => {
        await this.#outage;
        await this.#rest(stage);
      },
      evidence: async (removal) => {
        await this.#outage;
        return this.#evidence(stage, versions, removal);
      },
    };
    return stage;
  }

  async #watch(): Promise<void> {
    const { client, namespace } = this.#servers;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const resourceVersion = await this.#lookAtAll();
        this.#seesAll = true;
        const options = { namespace, resourceVersion, timeoutSeconds: 3000 };
        for await (const events of client.watch(resource, options, signal)) {
          for (const event of events) {
            if (event.type !== 'BOOKMARK') this.#note({ type: event.type, object: event.object.parse() });
          }
        }
      } catch (error) {
        if (!(error instanceof KubeError) && !isAborted(signal)) throw error;
      }
      this.#seesAll = false;
      if (!isAborted(signal)) await delay(POLL_MS);
    }
  }

  /** What a watch would have told, as far as it can still be known. */
  async #lookAtAll(): Promise<string> {
    const { items, resourceVersion } = await this.#list();
    const there = new Set(items.map(({ identity }) => identity.uid));
    for (const changes of this.#changes.values()) {
      const last = changes.at(-1);
      if (last !== undefined && last.type !== 'DELETED' && !there.has(last.object.metadata.uid))
        this.#note({ type: 'DELETED', object: last.object });
    }
    for (const item of items) {
      const { name, resourceVersion: version } = item.identity;
      if (this.#changes.get(name)?.at(-1)?.object.metadata.resourceVersion !== version)
        this.#note({ type: 'MODIFIED', object: item.parse() });
    }
    return resourceVersion;
  }

  #note(change: Change): void {
    const { name } = change.object.metadata;
    this.#changes.set(name, [...(this.#changes.get(name) ?? []), change]);
  }

  #list(): Promise<ListPage> {
    const { client, namespace } = this.#servers;
    return client.list(resource, { namespace, limit: 10_000 }, this.#stop.signal);
  }

  async #assertUpToDate(): Promise<void> {
    const { items } = await this.#list();
    const there = new Map(items.map(({ identity }) => [identity.name, identity.resourceVersion]));
    for (const [name, changes] of this.#changes) {
      const last = changes.at(-1);
      const seen = last?.type === 'DELETED' ? undefined : last?.object.metadata.resourceVersion;
      assert.equal(seen, there.get(name), 'the watch lags behind');
    }
    for (const name of there.keys()) assert.ok(this.#changes.has(name), 'the watch lags behind');
  }

  async #untilNewer(name: string, seen: string | undefined): Promise<void> {
    const last = (): string | undefined => this.#changes.get(name)?.at(-1)?.object.metadata.resourceVersion;
    const deadline = Date.now() + PATIENCE_MS;
    while (last() === seen && Date.now() < deadline) await delay(POLL_MS);
  }

  async #rest(stage: Stage): Promise<void> {
    await eventually(async () => {
      const now = await this.#current(stage);
      const last = this.#changes.get(stage.ref.name)?.at(-1);
      const seen = last?.type === 'DELETED' ? undefined : last?.object.metadata.resourceVersion;
      if (now?.metadata.resourceVersion !== seen) throw new CodedError('TEST_SERVERS', 'the watch lags behind');
      const foreign = (now?.metadata.finalizers ?? []).filter((each) => each === 'orphan');
      if (foreign.length > 0) throw new CodedError('TEST_SERVERS', 'the garbage collector has not been there yet');
    }, PATIENCE_MS);
  }

  #current(stage: Stage): Promise<KubernetesObject | undefined> {
    return ifFound(stage.client.get(stage.ref));
  }

  async #evidence(
    stage: Stage,
    versions: ReadonlyMap<string, readonly string[]>,
    removal: FinalizerRemoval,
  ): Promise<Evidence> {
    const lives = livesOf(this.#changes.get(stage.ref.name) ?? []);
    const rows = new Map<string, StoredObject>();
    for (const { uid } of lives) {
      const row = await this.#servers.evidence.getById(kind, uid);
      if (row !== undefined) rows.set(uid, row);
    }
    const { logger, events } = tracesOf(stage);
    const traces = JSON.stringify([[...rows.values()], logger.lines, events]);
    return { lives, rows, versions, traces, secrets: [SECRET], removal };
  }
}
