// A user may read an object in MySQL exactly if they may read it in etcd: the API server is asked about the original
// resource, in the original group.

import type { KindDefinition } from '../api/kind.ts';
import { GROUP, VERSION } from '../api/names.ts';
import type { Clock } from '../base/clock.ts';
import { sha256Hex } from '../base/hash.ts';
import { type JsonObject, valueAt } from '../base/json.ts';
import { subjectAccessReviews } from '../kube/resources.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import { BoundedCache } from './bounded-cache.ts';
import type { User } from './context.ts';
import { QueryError } from './errors.ts';
import type { Questions } from './questions.ts';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'patch' | 'delete' | 'deletecollection';

export interface Access {
  readonly verb: Verb;
  readonly kind: KindDefinition;
  /** Undefined: every namespace. */
  readonly namespace: string | undefined;
  readonly name?: string;
}

/** Where each kind may be listed: `all`, or in some namespaces. Kinds that may be listed nowhere are left out. */
export interface Listable {
  readonly kinds: ReadonlyMap<KindDefinition, 'all' | readonly string[]>;
  /** Namespaces that were not asked about, because there are too many. */
  readonly leftOut: number;
}

export interface AuthorizerOptions {
  readonly questions: Pick<Questions, 'ask'>;
  /** Says in which namespaces anything is stored: only about those anything has to be asked. */
  readonly storage: Pick<MetadataStorage, 'until'>;
  readonly clock: Clock;
}

const KEEP_MS = 10_000;
const CAPACITY = 16_384;
/** Namespaces that are asked about one by one for a user who may not list all of them. */
const MOST_NAMESPACES = 1000;
/** Questions of one request for many kinds. */
const MOST_QUESTIONS = 1024;
/** Questions of one request at the same time. */
const AT_ONCE = 8;

/** To every authoriser `*` means all resources of the group. */
const ALL_KINDS = '*';

export class Authorizer {
  readonly #options: AuthorizerOptions;
  readonly #answers: BoundedCache<boolean>;
  readonly #namespaces: BoundedCache<readonly string[]>;
  readonly #identities = new WeakMap<User, string>();

  constructor(options: AuthorizerOptions) {
    const { clock } = options;
    this.#options = options;
    this.#answers = new BoundedCache({ clock, capacity: CAPACITY, keepMs: KEEP_MS });
    this.#namespaces = new BoundedCache({ clock, capacity: CAPACITY, keepMs: KEEP_MS });
  }

  /** Throws Forbidden, in the words of the API server. Asks no more once the signal is aborted. */
  async require(user: User, access: Access, signal: AbortSignal): Promise<void> {
    const { verb, kind, namespace, name } = access;
    if (!(await this.#isAllowed(user, { verb, resource: kind.plural, namespace, name }, signal))) {
      throw forbidden(user, access);
    }
  }

  /** Whether the user may list the events of a namespace; throws Forbidden, in the words of the API server. */
  async requireEvents(user: User, namespace: string, signal: AbortSignal): Promise<void> {
    const asked = { verb: 'list', group: '', resource: 'events', namespace, name: undefined } as const;
    if (await this.#isAllowed(user, asked, signal)) return;
    throw new QueryError(
      'Forbidden',
      `events is forbidden: User "${user.name}" cannot list resource "events" in API group "" in the namespace "${namespace}"`,
    );
  }

  /**
   * Undefined where the user may list every namespace, else those they may list of the namespaces that have objects of
   * the kind. Throws Forbidden where there is none: an empty list would say that nothing is stored.
   */
  async listableNamespaces(
    user: User,
    kind: KindDefinition,
    signal: AbortSignal,
  ): Promise<readonly string[] | undefined> {
    if (await this.#mayList(user, kind.plural, undefined, signal)) return undefined;
    const candidates = await this.#namespacesOf(kind, signal);
    const allowed = new Set<string>();
    await eachOf(candidates, signal, async (namespace) => {
      if (await this.#mayList(user, kind.plural, namespace, signal)) allowed.add(namespace);
    });
    if (allowed.size === 0) throw forbidden(user, { verb: 'list', kind, namespace: undefined });
    return candidates.filter((namespace) => allowed.has(namespace));
  }

  /** The same for many kinds, with one question for all of them where one is enough. */
  async listable(user: User, kinds: readonly KindDefinition[], signal: AbortSignal): Promise<Listable> {
    if (await this.#mayList(user, ALL_KINDS, undefined, signal)) return { kinds: everywhere(kinds), leftOut: 0 };
    const all: KindDefinition[] = [];
    await eachOf(kinds, signal, async (kind) => {
      if (await this.#mayList(user, kind.plural, undefined, signal)) all.push(kind);
    });
    const rest = kinds.filter((kind) => !all.includes(kind));
    const { allowed, leftOut } = await this.#byNamespace(user, rest, signal);
    return { kinds: new Map<KindDefinition, 'all' | readonly string[]>([...everywhere(all), ...allowed]), leftOut };
  }

  /** Those of the items that the user may list, in their order. An item without a namespace is of every namespace. */
  async listableAmong<T extends Pick<Access, 'kind' | 'namespace'>>(
    user: User,
    items: readonly T[],
    signal: AbortSignal,
  ): Promise<readonly T[]> {
    if (items.length === 0 || (await this.#mayList(user, ALL_KINDS, undefined, signal))) return items;
    const allowed = new Set<T>();
    await eachOf(items, signal, async (item) => {
      const { kind, namespace } = item;
      const everywhere = await this.#mayList(user, kind.plural, undefined, signal);
      const there = namespace !== undefined && !everywhere;
      if (everywhere || (there && (await this.#mayList(user, kind.plural, namespace, signal)))) allowed.add(item);
    });
    return items.filter((item) => allowed.has(item));
  }

  async #byNamespace(
    user: User,
    kinds: readonly KindDefinition[],
    signal: AbortSignal,
  ): Promise<{ readonly allowed: ReadonlyMap<KindDefinition, readonly string[]>; readonly leftOut: number }> {
    const stored = await this.#storedKinds(kinds, signal);
    const allowed = new Map<KindDefinition, string[]>();
    let questions = MOST_QUESTIONS;
    let leftOut = 0;
    await eachOf([...stored.keys()], signal, async (namespace) => {
      const there = stored.get(namespace) ?? [];
      // Counted before they are asked.
      if (questions < there.length + 1) {
        leftOut += 1;
        return;
      }
      questions -= there.length + 1;
      for (const kind of await this.#listableIn(user, namespace, there, signal)) {
        allowed.set(kind, [...(allowed.get(kind) ?? []), namespace].sort());
      }
    });
    return { allowed, leftOut };
  }

  async #listableIn(
    user: User,
    namespace: string,
    kinds: readonly KindDefinition[],
    signal: AbortSignal,
  ): Promise<readonly KindDefinition[]> {
    if (kinds.length > 1 && (await this.#mayList(user, ALL_KINDS, namespace, signal))) return kinds;
    const answers = await Promise.all(kinds.map((kind) => this.#mayList(user, kind.plural, namespace, signal)));
    return kinds.filter((_kind, index) => answers[index]);
  }

  /** Which kinds there are in each namespace. */
  async #storedKinds(
    kinds: readonly KindDefinition[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly KindDefinition[]>> {
    const found = new Map<string, KindDefinition[]>();
    for (const kind of kinds) {
      for (const namespace of await this.#namespacesOf(kind, signal)) {
        found.set(namespace, [...(found.get(namespace) ?? []), kind]);
      }
    }
    return found;
  }

  async #namespacesOf(kind: KindDefinition, signal: AbortSignal): Promise<readonly string[]> {
    const { storage } = this.#options;
    const found = await this.#namespaces.get(
      kind.kind,
      (waited) => storage.until(waited).namespaces(kind, MOST_NAMESPACES + 1),
      signal,
    );
    if (found.length <= MOST_NAMESPACES) return found;
    throw new QueryError(
      'Forbidden',
      `${kind.plural} are stored in more than ${MOST_NAMESPACES} namespaces; list one of them, or ask for the right to list all`,
      { plural: kind.plural },
    );
  }

  #mayList(user: User, resource: string, namespace: string | undefined, signal: AbortSignal): Promise<boolean> {
    return this.#isAllowed(user, { verb: 'list', resource, namespace, name: undefined }, signal);
  }

  #isAllowed(user: User, attributes: Attributes, signal: AbortSignal): Promise<boolean> {
    const key = JSON.stringify([this.#identityOf(user), attributes]);
    const load = async (waited: AbortSignal): Promise<boolean> => {
      const object = accessReview(user, { resourceAttributes: attributesOf(attributes) });
      const question = { asker: user.name, resource: subjectAccessReviews, object };
      return valueAt(await this.#options.questions.ask(question, waited), ['status', 'allowed']) === true;
    };
    return this.#answers.get(key, load, signal);
  }

  /** Everything that decides, in a few bytes: a user may be in hundreds of groups. */
  #identityOf(user: User): string {
    const known = this.#identities.get(user);
    if (known !== undefined) return known;
    const identity = sha256Hex(JSON.stringify(user));
    this.#identities.set(user, identity);
    return identity;
  }
}

interface Attributes {
  readonly verb: Verb;
  /** That of the kinds unless given. */
  readonly group?: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

function attributesOf({ verb, group = GROUP, resource, namespace, name }: Attributes): JsonObject {
  return {
    group,
    version: group === GROUP ? VERSION : 'v1',
    resource,
    verb,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
  };
}

/** A SubjectAccessReview: whether the user may do what the attributes say, of a resource or of another path. */
export function accessReview(
  { name, uid, groups, extra }: User,
  asked: { readonly resourceAttributes: JsonObject } | { readonly nonResourceAttributes: JsonObject },
): JsonObject {
  return {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: {
      user: name,
      uid,
      groups: [...groups],
      extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])),
      ...asked,
    },
  };
}

function everywhere(kinds: readonly KindDefinition[]): ReadonlyMap<KindDefinition, 'all'> {
  return new Map(kinds.map((kind) => [kind, 'all']));
}

/** Runs the work for each, a few at a time, until all are done, one fails or the signal is aborted. */
async function eachOf<T>(items: readonly T[], signal: AbortSignal, work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items].reverse();
  const worker = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) {
      signal.throwIfAborted();
      await work(item);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  } finally {
    // After a failure nothing more is begun.
    left.length = 0;
  }
}

function forbidden(user: User, { verb, kind, namespace, name }: Access): QueryError {
  const scope = namespace === undefined ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const object = name === undefined ? '' : ` "${name}"`;
  return new QueryError(
    'Forbidden',
    `${kind.plural}.${GROUP}${object} is forbidden: User "${user.name}" cannot ${verb} resource "${kind.plural}" in API group "${GROUP}" ${scope}`,
    { plural: kind.plural, ...(name === undefined ? {} : { name }) },
  );
}
