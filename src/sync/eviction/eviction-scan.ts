// Looks at all objects of a kind and asks the rules. Objects are looked at page by page; only their ranks are kept.
import { isMarkedDeleting, isMarkedImmutable, type KubernetesObject, objectKey } from '../../api/object.ts';
import type { Clock } from '../../base/clock.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { pagesOf } from '../../kube/pages.ts';
import type { StoredIdentity } from '../../storage/metadata-storage.ts';
import type { Identified } from '../flows/flow.ts';
import { retention } from '../flows/retention.ts';
import type { Candidate, Chosen, EvictionRule } from './eviction-rules.ts';

export interface ScanOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly resource: Resource;
  readonly rules: readonly EvictionRule[];
  readonly clock: Clock;
  /** Undefined: all. */
  readonly namespace?: string;
}

/** What the rules choose now, each object once, by the first rule that chooses it. */
export async function scan(options: ScanOptions, signal: AbortSignal): Promise<readonly Chosen[]> {
  const { client, resource, rules, clock, namespace } = options;
  const candidates = new Map<EvictionRule, Candidate[]>(rules.map((rule) => [rule, []]));
  const now = clock.now();
  const where = { consistency: 'each-page', ...(namespace === undefined ? {} : { namespace }) } as const;
  for await (const page of pagesOf(client, resource, where, signal)) {
    for (const object of page.items.map((item) => item.parse()).filter(isOpen)) {
      for (const [rule, found] of candidates) {
        const candidate = rule.candidate(object, now);
        if (candidate !== undefined) found.push(candidate);
      }
    }
  }
  const chosen = new Map<string, Chosen>();
  for (const [rule, found] of candidates) {
    for (const each of rule.choose(found)) if (!chosen.has(each.uid)) chosen.set(each.uid, each);
  }
  return [...chosen.values()];
}

/** Its eviction is not decided yet, and GitOps would not bring it back. */
function isOpen(object: KubernetesObject): boolean {
  if (object.metadata.deletionTimestamp !== undefined) return false;
  return !isMarkedDeleting(object) && !isMarkedImmutable(object) && retention(object) === undefined;
}

type Requested = Pick<StoredIdentity, 'uid' | 'namespace' | 'name' | 'resourceVersion'>;

/** Remembers what was chosen, and what was requested before and is chosen no more, until it has changed. */
export class ChosenObjects {
  #byUid = new Map<string, Chosen>();
  #withdrawn = new Map<string, Requested>();

  /** `requested`: the evictions under way, as they were before the rules were asked. */
  replace(chosen: readonly Chosen[], requested: readonly Requested[] = []): void {
    this.#byUid = new Map(chosen.map((each) => [each.uid, each]));
    this.#withdrawn = new Map(requested.filter(({ uid }) => !this.#byUid.has(uid)).map((each) => [each.uid, each]));
  }

  keys(): readonly string[] {
    return [...this.#byUid.values()].map((metadata) => objectKey({ metadata }));
  }

  withdrawnKeys(): readonly string[] {
    return [...this.#withdrawn.values()].map((metadata) => objectKey({ metadata }));
  }

  /** The rule that chose exactly this state; a state that came later is looked at again first. */
  ruleFor({ metadata }: KubernetesObject): string | undefined {
    const chosen = this.#byUid.get(metadata.uid);
    return chosen?.resourceVersion === metadata.resourceVersion ? chosen.rule : undefined;
  }

  /** Whether the eviction of exactly this state was requested and no rule asks for it any more. */
  isWithdrawn({ metadata }: Identified): boolean {
    return this.#withdrawn.get(metadata.uid)?.resourceVersion === metadata.resourceVersion;
  }
}
