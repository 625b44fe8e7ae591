// What people decide while the program runs, and what it must not forget when it starts again: open breakers, permission
// to go on, and whether eviction is paused. It is in a ConfigMap, so that kubectl can read it and change it.
import { type Clock, sleep } from '../base/clock.ts';
import { isJsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, ObjectRef, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import type { BreakerState } from './deletion-breaker.ts';

const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps' };
const EVICTION = 'eviction';
const PAUSED = 'paused';

const breakerKey = (kind: string): string => `breaker.${kind}`;
const resumedKey = (kind: string): string => `resumed.${kind}`;

export function controlRef(namespace: string): ObjectRef {
  return { resource: CONFIG_MAPS, namespace, name: 'ingester-control' };
}

export function statusRef(namespace: string): ObjectRef {
  return { resource: CONFIG_MAPS, namespace, name: 'ingester-status' };
}

type Data = Readonly<Record<string, string>>;
/** null removes the key. */
type Change = Readonly<Record<string, string | null>>;

export interface OpenBreaker {
  readonly kind: string;
  readonly because: string;
  /** RFC 3339. */
  readonly since: string;
}

/** Breakers that hold deletions, as the ConfigMap has them. */
export function openBreakers(data: Data): readonly OpenBreaker[] {
  return Object.entries(data).flatMap(([key, value]) => {
    const [what, kind] = key.split('.');
    if (what !== 'breaker' || kind === undefined) return [];
    const entry = parsed(value);
    return [{ kind, because: entry['because'] ?? value, since: entry['since'] ?? '' }];
  });
}

export function isEvictionPaused(data: Data): boolean {
  return data[EVICTION] === PAUSED;
}

/** Lets deletions of the kinds go on, and keeps their breakers from opening again until then. */
export function resumption(kinds: readonly string[], until: Date): Change {
  return Object.fromEntries(
    kinds.flatMap((kind) => [
      [breakerKey(kind), null],
      [resumedKey(kind), until.toISOString()],
    ]),
  );
}

export function evictionPause(paused: boolean): Change {
  return { [EVICTION]: paused ? PAUSED : null };
}

/** The data of the ConfigMap; empty where there is none. */
export async function readData(client: Pick<KubeClient, 'get'>, ref: ObjectRef): Promise<Data> {
  const found = await client.get(ref);
  const data: unknown = found['data'];
  return isJsonObject(data) ? (data as Data) : {};
}

export interface ControlStateOptions {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly ref: ObjectRef;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onBreaker?: (kind: string, open: boolean) => void;
}

const PERIOD_MS = 5000;

export class ControlState implements BreakerState {
  readonly #options: ControlStateOptions;
  #data: Data = {};
  /** Opened here and not written yet. */
  readonly #unwritten = new Map<string, string>();
  #complained = false;
  readonly #loaded = Promise.withResolvers<undefined>();

  constructor(options: ControlStateOptions) {
    this.#options = options;
  }

  /** Resolves when what was decided before is known, or cannot be known. */
  get loaded(): Promise<unknown> {
    return this.#loaded.promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.refresh();
      await sleep(this.#options.clock, PERIOD_MS, signal);
    }
    this.#loaded.resolve(undefined);
  }

  /** Writes what is not written and reads what is there. Never throws. */
  async refresh(): Promise<void> {
    const { client, ref, logger } = this.#options;
    try {
      await this.#writeOpened();
      this.#take(await readData(client, ref));
      this.#complained = false;
      this.#loaded.resolve(undefined);
    } catch (error) {
      const level = this.#complained ? 'debug' : 'warn';
      this.#complained = true;
      logger[level]({ err: error, configMap: ref.name }, 'The control ConfigMap cannot be used; going on without it');
      if (isKubeError(error, 'NotFound') || isKubeError(error, 'Forbidden')) this.#loaded.resolve(undefined);
    }
  }

  openBecause(kind: string): string | undefined {
    return this.#unwritten.get(kind) ?? openBreakers(this.#data).find((each) => each.kind === kind)?.because;
  }

  open(kind: string, because: string): void {
    const { logger, onBreaker } = this.#options;
    logger.error({ kind, because }, 'Deletions are held; they go on after: ingester resume');
    this.#unwritten.set(kind, because);
    onBreaker?.(kind, true);
    void this.refresh();
  }

  overridden(kind: string): boolean {
    const until = Date.parse(this.#data[resumedKey(kind)] ?? '');
    return until > this.#options.clock.now().getTime();
  }

  get evictionPaused(): boolean {
    return isEvictionPaused(this.#data);
  }

  async #writeOpened(): Promise<void> {
    const { client, ref, clock } = this.#options;
    for (const [kind, because] of [...this.#unwritten]) {
      const value = JSON.stringify({ because, since: clock.now().toISOString() });
      await client.mergePatch(ref, { data: { [breakerKey(kind)]: value, [resumedKey(kind)]: null } });
      this.#data = { ...this.#data, [breakerKey(kind)]: value };
      this.#unwritten.delete(kind);
    }
  }

  #take(data: Data): void {
    const { logger, onBreaker } = this.#options;
    const before = openBreakers(this.#data).map(({ kind }) => kind);
    const after = new Set(openBreakers(data).map(({ kind }) => kind));
    this.#data = data;
    for (const kind of before.filter((each) => !after.has(each))) {
      logger.info({ kind }, 'Deletions go on');
      onBreaker?.(kind, false);
    }
    for (const kind of after) onBreaker?.(kind, true);
  }
}

function parsed(value: string): Readonly<Record<string, string>> {
  try {
    const entry: unknown = JSON.parse(value);
    return isJsonObject(entry) ? (entry as Readonly<Record<string, string>>) : {};
  } catch {
    return {};
  }
}
