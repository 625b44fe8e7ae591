// What operators decide while the program runs, and what it must not forget when it starts again: open breakers,
// permission to go on, and whether eviction is paused. It is in a ConfigMap, so that kubectl can read it and change it.
import type { KubernetesObject } from '../../api/object.ts';
import { type Clock, repeat } from '../../base/clock.ts';
import { Complaint } from '../../base/complaint.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient, ObjectRef } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { configMapRef, dataOf } from '../../kube/resources.ts';
import type { BreakerScope, BreakerState } from './deletion-breaker.ts';

const EVICTION = 'eviction';
const PAUSED = 'paused';

const BREAKER = 'breaker';
/** A kind has no dot, and neither has a namespace. */
const breakerKey = ({ kind, namespace }: BreakerScope): string =>
  [BREAKER, kind, ...(namespace === undefined ? [] : [namespace])].join('.');
const resumedKey = (kind: string): string => `resumed.${kind}`;

export function controlRef(namespace: string): ObjectRef {
  return configMapRef(namespace, 'ingester-control');
}

export function statusRef(namespace: string): ObjectRef {
  return configMapRef(namespace, 'ingester-status');
}

type Data = Readonly<Record<string, string>>;
/** null removes the key. */
type Change = Readonly<Record<string, string | null>>;

export interface OpenBreaker extends BreakerScope {
  readonly because: string;
  /** RFC 3339. */
  readonly since: string;
}

/** Breakers that hold deletions, as the ConfigMap has them. */
export function openBreakers(data: Data): readonly OpenBreaker[] {
  return Object.entries(data).flatMap(([key, value]) => {
    const [what, kind, namespace] = key.split('.');
    if (what !== BREAKER || kind === undefined) return [];
    const entry = parsed(value);
    const scope = namespace === undefined ? { kind } : { kind, namespace };
    return [{ ...scope, because: entry['because'] ?? value, since: entry['since'] ?? '' }];
  });
}

export function isEvictionPaused(data: Data): boolean {
  return data[EVICTION] === PAUSED;
}

/** Lets deletions of the kinds go on, and keeps their breakers from opening again until then. */
export function resumption(open: readonly BreakerScope[], kinds: readonly string[], until: Date): Change {
  return Object.fromEntries([
    ...open.filter(({ kind }) => kinds.includes(kind)).map((scope) => [breakerKey(scope), null]),
    ...kinds.map((kind) => [resumedKey(kind), until.toISOString()]),
  ]) as Change;
}

function overriddenIn(data: Data, kind: string, now: Date): boolean {
  return Date.parse(data[resumedKey(kind)] ?? '') > now.getTime();
}

export function evictionPause(paused: boolean): Change {
  return { [EVICTION]: paused ? PAUSED : null };
}

const DATABASE = 'database';

/** Since when the cluster has had the database that its objects are stored in; undefined where it remembers none. */
export function rememberedDatabase(data: Data): string | undefined {
  return data[DATABASE];
}

export function databaseMemory(since: string | undefined): Change {
  return { [DATABASE]: since ?? null };
}

export interface ControlStateOptions {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly ref: ObjectRef;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onBreaker?: (kind: string, open: boolean) => void;
}

const PERIOD_MS = 5000;
/** A ConfigMap holds a mebibyte. With more namespaces of a kind than this, the whole kind is held. */
const MOST_NAMESPACES = 100;

export class ControlState implements BreakerState {
  readonly #options: ControlStateOptions;
  #data: Data = {};
  #open: readonly OpenBreaker[] = [];
  /** Opened here and not written yet, by key. */
  readonly #unwritten = new Map<string, BreakerScope & { readonly because: string }>();
  /** One at a time: an answer that was on its way while a breaker was written must not close it. */
  #refreshing: Promise<void> = Promise.resolve();
  readonly #complaint: Complaint;
  readonly #loaded = Promise.withResolvers<undefined>();

  constructor(options: ControlStateOptions) {
    this.#options = options;
    this.#complaint = new Complaint(options.logger, 'The control ConfigMap cannot be used; going on without it');
  }

  /** Resolves when what was decided before is known, or cannot be known. */
  get loaded(): Promise<unknown> {
    return this.#loaded.promise;
  }

  async run(signal: AbortSignal): Promise<void> {
    await repeat({ clock: this.#options.clock, periodMs: PERIOD_MS, signal }, () => this.refresh());
    this.#loaded.resolve(undefined);
  }

  /** Writes what is not written and reads what is there, after those that were asked for before. Never throws. */
  refresh(): Promise<void> {
    this.#refreshing = this.#refreshing.then(() => this.#refresh());
    return this.#refreshing;
  }

  async #refresh(): Promise<void> {
    const { client, ref } = this.#options;
    try {
      this.#take(await this.#writeOpened(await client.get(ref)));
      this.#complaint.over();
      this.#loaded.resolve(undefined);
    } catch (error) {
      this.#complaint.say(error, { configMap: ref.name });
      if (isKubeError(error, 'NotFound') || isKubeError(error, 'Forbidden')) this.#loaded.resolve(undefined);
    }
  }

  openBecause(kind: string, namespace: string): string | undefined {
    const scopes = [{ kind }, { kind, namespace }];
    const unwritten = scopes.map((scope) => this.#unwritten.get(breakerKey(scope))).find((each) => each !== undefined);
    return unwritten?.because ?? this.#open.find((each) => each.kind === kind && includes(each, namespace))?.because;
  }

  open(wanted: BreakerScope, because: string): void {
    const { logger, onBreaker } = this.#options;
    const { kind } = wanted;
    const scope = this.#namespacesOf(kind) < MOST_NAMESPACES ? wanted : { kind };
    logger.error({ ...scope, because }, 'Deletions are held; they go on after: ingester resume');
    this.#unwritten.set(breakerKey(scope), { ...scope, because });
    onBreaker?.(kind, true);
    void this.refresh();
  }

  #namespacesOf(kind: string): number {
    return [...this.#open, ...this.#unwritten.values()].filter((each) => each.kind === kind).length;
  }

  overridden(kind: string): boolean {
    return overriddenIn(this.#data, kind, this.#options.clock.now());
  }

  get evictionPaused(): boolean {
    return isEvictionPaused(this.#data);
  }

  /** Gives the data as they are then. A breaker that an operator has overridden meanwhile is not opened after all. */
  async #writeOpened(read: KubernetesObject): Promise<Data> {
    const { client, ref, clock } = this.#options;
    const opened = [...this.#unwritten];
    const meant = opened.filter(([, { kind }]) => !overriddenIn(dataOf(read), kind, clock.now()));
    let data = dataOf(read);
    if (meant.length > 0) {
      const since = clock.now().toISOString();
      const changes = meant.flatMap(([key, { kind, because }]) => [
        [key, JSON.stringify({ because, since })],
        [resumedKey(kind), null],
      ]);
      const { resourceVersion } = read.metadata;
      const patch = { metadata: { resourceVersion }, data: Object.fromEntries(changes) as Change };
      data = dataOf(await client.mergePatch(ref, patch));
    }
    for (const [key, entry] of opened) if (this.#unwritten.get(key) === entry) this.#unwritten.delete(key);
    for (const [, { kind }] of opened)
      this.#options.onBreaker?.(
        kind,
        openBreakers(data).some((each) => each.kind === kind),
      );
    return data;
  }

  #take(data: Data): void {
    const { logger, onBreaker } = this.#options;
    const before = new Set(this.#open.map(({ kind }) => kind));
    this.#data = data;
    this.#open = openBreakers(data);
    const after = new Set([...this.#open, ...this.#unwritten.values()].map(({ kind }) => kind));
    for (const kind of [...before].filter((each) => !after.has(each))) {
      logger.info({ kind }, 'Deletions go on');
      onBreaker?.(kind, false);
    }
    for (const kind of after) onBreaker?.(kind, true);
  }
}

function includes(scope: BreakerScope, namespace: string): boolean {
  return scope.namespace === undefined || scope.namespace === namespace;
}

function parsed(value: string): Readonly<Record<string, string>> {
  try {
    const entry: unknown = JSON.parse(value);
    return isJsonObject(entry) ? (entry as Readonly<Record<string, string>>) : {};
  } catch {
    return {};
  }
}
