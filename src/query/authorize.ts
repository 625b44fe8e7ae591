// Whoever may read an object in etcd may read it in MySQL, and nobody else: the API server is asked about the original
// resource, in the original group.

import type { KindDefinition } from '../api/kind.ts';
import { GROUP, VERSION } from '../api/names.ts';
import type { Clock } from '../base/clock.ts';
import { valueAt } from '../base/json.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { BoundedCache } from './bounded-cache.ts';
import { QueryError } from './errors.ts';
import type { User } from './user.ts';

const accessReviews: Resource = { group: 'authorization.k8s.io', version: 'v1', plural: 'subjectaccessreviews' };
const namespaces: Resource = { group: '', version: 'v1', plural: 'namespaces' };

export type Verb = 'get' | 'list' | 'create' | 'delete';

export interface Access {
  readonly verb: Verb;
  readonly kind: KindDefinition;
  /** Undefined: every namespace. */
  readonly namespace: string | undefined;
  readonly name?: string;
}

export interface AuthorizerOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
}

const KEEP_MS = 10_000;
const CAPACITY = 16_384;
const NAMESPACES_KEEP_MS = 30_000;
/** Namespaces that are asked about one by one for somebody who may not list all of them. */
const MAX_NAMESPACES = 1000;
const NAMESPACE_PAGE = 500;
const AT_ONCE = 16;

export class Authorizer {
  readonly #options: AuthorizerOptions;
  readonly #answers: BoundedCache<boolean>;
  readonly #namespaces: BoundedCache<readonly string[]>;

  constructor(options: AuthorizerOptions) {
    this.#options = options;
    this.#answers = new BoundedCache({ clock: options.clock, capacity: CAPACITY, keepMs: KEEP_MS });
    this.#namespaces = new BoundedCache({ clock: options.clock, capacity: 1, keepMs: NAMESPACES_KEEP_MS });
  }

  /** Throws Forbidden, in the words of the API server. */
  async require(user: User, access: Access): Promise<void> {
    if (!(await this.#isAllowed(user, access))) throw forbidden(user, access);
  }

  /**
   * Undefined where the user may list every namespace, else the namespaces they may list. Throws Forbidden where there
   * is none: an empty list would say that nothing is stored.
   */
  async listableNamespaces(user: User, kind: KindDefinition): Promise<readonly string[] | undefined> {
    const everywhere: Access = { verb: 'list', kind, namespace: undefined };
    if (await this.#isAllowed(user, everywhere)) return undefined;
    const candidates = await this.#namespaces.get('all', () => this.#listNamespaces());
    const allowed: string[] = [];
    for (let start = 0; start < candidates.length; start += AT_ONCE) {
      const chunk = candidates.slice(start, start + AT_ONCE);
      const answers = await Promise.all(
        chunk.map((namespace) => this.#isAllowed(user, { verb: 'list', kind, namespace })),
      );
      allowed.push(...chunk.filter((_namespace, index) => answers[index]));
    }
    if (allowed.length === 0) throw forbidden(user, everywhere);
    return allowed;
  }

  #isAllowed(user: User, { verb, kind, namespace, name }: Access): Promise<boolean> {
    const key = JSON.stringify([user, verb, kind.plural, namespace, name]);
    return this.#answers.get(key, async () => {
      const review = await this.#options.client.create(accessReviews, '', {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: user.name,
          uid: user.uid,
          groups: user.groups,
          extra: user.extra,
          resourceAttributes: {
            group: GROUP,
            version: VERSION,
            resource: kind.plural,
            verb,
            ...(namespace === undefined ? {} : { namespace }),
            ...(name === undefined ? {} : { name }),
          },
        },
      });
      return valueAt(review, ['status', 'allowed']) === true;
    });
  }

  async #listNamespaces(): Promise<readonly string[]> {
    const names: string[] = [];
    let continueToken: string | undefined;
    do {
      const page = await this.#options.client.list(
        namespaces,
        { limit: NAMESPACE_PAGE, metadataOnly: true, ...(continueToken === undefined ? {} : { continueToken }) },
        AbortSignal.timeout(KEEP_MS),
      );
      names.push(...page.items.map(({ metadata }) => metadata.name));
      continueToken = page.continueToken;
      if (names.length > MAX_NAMESPACES) {
        throw new QueryError(
          'Forbidden',
          `there are more than ${MAX_NAMESPACES} namespaces; list one of them, or ask for the right to list all`,
        );
      }
    } while (continueToken !== undefined);
    return names;
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
