// Keeps a local copy of every object of one resource and says which keys changed. Level-triggered: handlers get keys,
// never events, and read the latest object when they run.
//
//   list (paged) ──▶ replace the copy ──▶ watch ──┬─ clean end, 429, broken stream: watch again from the last version
//        ▲                                        └─ version too old, or anything unknown: list again
//        └──────────────── backoff ◀──────────────────────┘
//
// The version advances only after the copy took the event, so a crash of the stream never skips one.
import { type KubernetesObject, objectKey } from '../api/object.ts';
import { backoffMs } from '../base/backoff.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, Resource, WatchEvent } from './client.ts';
import { isKubeError, KubeError } from './errors.ts';

export interface InformerOptions {
  readonly client: KubeClient;
  readonly resource: Resource;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called synchronously after the copy changed; must only enqueue. */
  readonly onChange: (key: string) => void;
  readonly random?: () => number;
}

const PAGE_SIZE = 500;
const MIN_WATCH_SECONDS = 300;
const SHORT_WATCH_MS = 1000;
const backoff = { baseMs: 500, capMs: 15_000, jitter: 1 };
const NOT_INSTALLED_WAIT_MS = 2000;

type WatchEnd = 'watch-again' | 'list-again';

export class Informer {
  readonly #options: InformerOptions;
  readonly #objects = new Map<string, KubernetesObject>();
  #resourceVersion = '';
  #failures = 0;
  #synced = false;
  #installed = true;

  constructor(options: InformerOptions) {
    this.#options = options;
  }

  /** True once the initial list was handed to `onChange`. */
  get synced(): boolean {
    return this.#synced;
  }

  /** False while the API server does not know the resource. */
  get installed(): boolean {
    return this.#installed;
  }

  /** The latest known state. Shared: never change it. */
  get(key: string): KubernetesObject | undefined {
    return this.#objects.get(key);
  }

  /** Lists and watches until aborted. Never rejects for a failure of the API server. */
  async run(signal: AbortSignal): Promise<void> {
    while (goesOn(signal)) {
      try {
        await this.#list(signal);
        while (goesOn(signal) && (await this.#watchOnce(signal)) === 'watch-again');
      } catch (error) {
        if (goesOn(signal)) await this.#recover(error, signal);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource } = this.#options;
    const seen = new Map<string, KubernetesObject>();
    let continueToken: string | undefined;
    let resourceVersion: string;
    do {
      const options = { limit: PAGE_SIZE, ...(continueToken === undefined ? {} : { continueToken }) };
      const page = await client.list(resource, options, signal);
      for (const item of page.items) seen.set(objectKey(item), item);
      ({ continueToken, resourceVersion } = page);
    } while (continueToken !== undefined);
    this.#replace(seen);
    this.#resourceVersion = resourceVersion;
    this.#noteInstalled(seen.size);
  }

  #replace(seen: ReadonlyMap<string, KubernetesObject>): void {
    const gone = [...this.#objects.keys()].filter((key) => !seen.has(key));
    const changed = [...seen].filter(([key, object]) => !sameVersion(this.#objects.get(key), object));
    this.#objects.clear();
    for (const [key, object] of seen) this.#objects.set(key, object);
    for (const key of gone) this.#options.onChange(key);
    for (const [key] of changed) this.#options.onChange(key);
  }

  #noteInstalled(count: number): void {
    const { logger, resource } = this.#options;
    if (!this.#synced || !this.#installed) logger.info({ resource: resource.plural, count }, 'Listed and watching');
    this.#synced = true;
    this.#installed = true;
    this.#failures = 0;
  }

  async #watchOnce(signal: AbortSignal): Promise<WatchEnd> {
    const { client, resource, clock, random = Math.random } = this.#options;
    const started = clock.monotonicMs();
    const timeoutSeconds = Math.round(MIN_WATCH_SECONDS * (1 + random()));
    let events = 0;
    try {
      const stream = client.watch(resource, { resourceVersion: this.#resourceVersion, timeoutSeconds }, signal);
      for await (const event of stream) {
        events += 1;
        this.#failures = 0;
        this.#take(event);
      }
    } catch (error) {
      return await this.#afterBrokenWatch(error, signal);
    }
    // A server that closes at once, again and again, must not be asked in a tight loop.
    if (events === 0 && clock.monotonicMs() - started < SHORT_WATCH_MS) await this.#wait(signal, undefined);
    return 'watch-again';
  }

  async #afterBrokenWatch(error: unknown, signal: AbortSignal): Promise<WatchEnd> {
    if (signal.aborted) return 'watch-again';
    const { logger, resource } = this.#options;
    if (isKubeError(error, 'Expired')) {
      logger.info({ resource: resource.plural }, 'The watch expired; listing again');
      return 'list-again';
    }
    const resumable = isKubeError(error, 'Unavailable') || isKubeError(error, 'TooManyRequests');
    if (!resumable) throw error;
    if (this.#failures === 0) logger.info({ resource: resource.plural, err: error }, 'The watch broke; resuming it');
    await this.#wait(signal, error);
    return 'watch-again';
  }

  #take(event: WatchEvent): void {
    if (event.type === 'BOOKMARK') {
      this.#resourceVersion = event.resourceVersion;
      return;
    }
    const key = objectKey(event.object);
    if (event.type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, event.object);
    this.#options.onChange(key);
    this.#resourceVersion = event.object.metadata.resourceVersion;
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    const { logger, resource, clock } = this.#options;
    if (isKubeError(error, 'NotFound')) {
      if (this.#installed) {
        const crd = `${resource.plural}.${resource.group}`;
        logger.warn({ crd }, `CRD ${crd} is not installed; waiting for it. Apply the crds/ folder of the bundle.`);
      }
      this.#installed = false;
      await sleep(clock, NOT_INSTALLED_WAIT_MS, signal);
      return;
    }
    if (this.#failures === 0) logger.warn({ resource: resource.plural, err: error }, 'List failed; trying again');
    await this.#wait(signal, error);
  }

  async #wait(signal: AbortSignal, error: unknown): Promise<void> {
    const { clock, random = Math.random } = this.#options;
    const asked = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    const delay = Math.max(asked, backoffMs(backoff, this.#failures, random));
    this.#failures += 1;
    await sleep(clock, delay, signal);
  }
}

/** A function, because a signal changes between two reads, which the compiler does not believe of a property. */
function goesOn(signal: AbortSignal): boolean {
  return !signal.aborted;
}

function sameVersion(left: KubernetesObject | undefined, right: KubernetesObject): boolean {
  return left?.metadata.uid === right.metadata.uid && left.metadata.resourceVersion === right.metadata.resourceVersion;
}
