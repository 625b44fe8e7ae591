// Which objects the rules choose for eviction; pure. A rule looks at what is alive and unmarked; all its conditions must
// hold. What cannot be decided is not chosen.
import type { KindDefinition } from '../../api/kind.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { type CelCondition, CelError, parseCel } from '../../base/cel.ts';
import { isJsonObject, valueAt } from '../../base/json.ts';

export interface EvictionRuleOptions {
  readonly name: string;
  readonly kinds: readonly string[];
  readonly finishedFor?: number | undefined;
  readonly keepLast?: number | undefined;
  readonly when?: string | undefined;
}

/** Enough about one object to rank it among those of its owner. */
export interface Candidate {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Objects that are ranked together. */
  readonly owner: string;
  /** When it ended, or else was created; milliseconds. */
  readonly endedMs: number;
  /** Whether the rule's time is over. */
  readonly due: boolean;
}

export type Chosen = Pick<Candidate, 'namespace' | 'name' | 'uid' | 'resourceVersion'> & { readonly rule: string };

export class EvictionRule {
  readonly name: string;
  readonly kind: KindDefinition;
  readonly #options: EvictionRuleOptions;
  readonly #when: CelCondition | undefined;

  /** Throws CelError where the expression is wrong. */
  constructor(kind: KindDefinition, options: EvictionRuleOptions) {
    this.name = options.name;
    this.kind = kind;
    this.#options = options;
    this.#when = options.when === undefined ? undefined : parseCel(options.when);
  }

  /** Undefined where the rule is not about this object, or cannot tell. */
  candidate(object: KubernetesObject, now: Date): Candidate | undefined {
    const { metadata } = object;
    const { finishedFor, keepLast } = this.#options;
    const states = this.kind.versionFields.find(({ order }) => order === 'terminal');
    const wantsFinished = finishedFor !== undefined || (keepLast !== undefined && states !== undefined);
    if (wantsFinished && !isFinished(this.kind, object)) return undefined;
    if (!this.#holds(object, now)) return undefined;
    const endedMs = endOf(this.kind, object);
    if (finishedFor !== undefined && endedMs === undefined) return undefined;
    const rankedMs = endedMs ?? Date.parse(metadata.creationTimestamp ?? '');
    return {
      ...{ namespace: metadata.namespace, name: metadata.name, uid: metadata.uid },
      resourceVersion: metadata.resourceVersion,
      owner: ownerKey(this.kind, object),
      endedMs: rankedMs,
      due: finishedFor === undefined || now.getTime() - rankedMs >= finishedFor,
    };
  }

  /** Of all candidates of the kind, those that go. */
  choose(candidates: readonly Candidate[]): readonly Chosen[] {
    const { keepLast = 0 } = this.#options;
    const byOwner = Map.groupBy(candidates, ({ owner }) => owner);
    return [...byOwner.values()].flatMap((group) =>
      group
        .toSorted(newestFirst)
        .slice(keepLast)
        .filter(({ due }) => due)
        .map(({ namespace, name, uid, resourceVersion }) => ({
          ...{ namespace, name, uid, resourceVersion },
          rule: this.name,
        })),
    );
  }

  #holds(object: KubernetesObject, now: Date): boolean {
    try {
      return this.#when?.(object, now) ?? true;
    } catch (error) {
      if (error instanceof CelError) return false;
      throw error;
    }
  }
}

export function rulesFor(kind: KindDefinition, options: readonly EvictionRuleOptions[]): readonly EvictionRule[] {
  return options.filter(({ kinds }) => kinds.includes(kind.kind)).map((each) => new EvictionRule(kind, each));
}

function isFinished(kind: KindDefinition, object: KubernetesObject): boolean {
  return kind.versionFields.some(({ order, path, terminal = [] }) => {
    const value = valueAt(object, path);
    return order === 'terminal' && typeof value === 'string' && terminal.includes(value);
  });
}

function endOf(kind: KindDefinition, object: KubernetesObject): number | undefined {
  const value = kind.run?.endTime === undefined ? undefined : valueAt(object, kind.run.endTime);
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** The controller of the object, else what it is a run of, else its namespace. */
function ownerKey(kind: KindDefinition, object: KubernetesObject): string {
  const references: unknown = object.metadata['ownerReferences'];
  const owners = Array.isArray(references) ? (references as { controller?: unknown; uid?: unknown }[]) : [];
  const controller = owners.find((each) => each.controller === true);
  if (controller !== undefined) return `uid ${String(controller.uid)}`;
  const of = kind.run?.of === undefined ? undefined : valueAt(object, kind.run.of);
  const { namespace } = object.metadata;
  if (!isJsonObject(of)) return `namespace ${namespace}`;
  return JSON.stringify([of['namespace'] ?? namespace, of['name']]);
}

function newestFirst(left: Candidate, right: Candidate): number {
  return right.endedMs - left.endedMs || (left.uid < right.uid ? -1 : 1);
}
