// One pass over one Ingester resource: read, plan, remember, act.
import type { Permitted } from '../api/ingester/permitted.ts';
import type { IngesterSpec } from '../api/ingester/spec.ts';
import type { IngesterStatus } from '../api/ingester/status.ts';
import { INGESTER_GROUP, INGESTER_PLURAL, INGESTER_VERSION } from '../api/ingester.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { Clock } from '../base/clock.ts';
import { isJsonObject, type JsonObject, valueAt } from '../base/json.ts';
import type { LifecycleMetrics } from '../base/metrics-lifecycle.ts';
import { sameJson } from '../base/same-json.ts';
import type { KubeClient, ObjectRef, Resource } from '../kube/client.ts';
import type { EventRecorder } from '../runtime/event-recorder.ts';
import { done, type ReconcileContext, type ReconcileResult } from '../runtime/reconcile.ts';
import { applyWorld } from './apply.ts';
import { type Canary, isCanary } from './canary.ts';
import { appliedHash } from './children/components.ts';
import { podHash } from './children/jobs.ts';
import type { Parent } from './children/names.ts';
import type { MigratedMemory } from './migrated-memory.ts';
import { type Observation, observe } from './observe.ts';
import { forbiddenIn, permittedStatus, readPermitted } from './permitted.ts';
import { type Plan, type PlanInput, plan } from './plan.ts';
import { readingLabels, readingOf } from './reading.ts';
import { problemsOf } from './validate.ts';
import { getOrNone, takenNames } from './wanted.ts';

export const ingesters: Resource = { group: INGESTER_GROUP, version: INGESTER_VERSION, plural: INGESTER_PLURAL };
const FIELD_MANAGER = 'ingester-lifecycle';

export interface LifecycleOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly metrics: Pick<LifecycleMetrics, 'forResource'>;
  readonly memory: Pick<MigratedMemory, 'recall' | 'remember'>;
  readonly canary: Pick<Canary, 'seen' | 'gone'>;
  /** The repository of the image that this program runs from; undefined where nobody knows. */
  readonly repository: () => Promise<string | undefined>;
}

interface Passing {
  readonly ref: ObjectRef;
  readonly signal: AbortSignal;
  readonly metrics: ReturnType<LifecycleMetrics['forResource']>;
}

export class LifecycleReconciler {
  readonly #options: LifecycleOptions;

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  async reconcile(key: string, { signal }: Pick<ReconcileContext, 'signal'>): Promise<ReconcileResult> {
    const [namespace = '', name = ''] = key.split('/');
    const ref: ObjectRef = { resource: ingesters, namespace, name };
    const object = await getOrNone(this.#options.client, ref);
    const metrics = this.#options.metrics.forResource(key, readingLabels);
    // What it owned is collected after it.
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) {
      metrics.gone();
      this.#options.canary.gone(key);
      return done;
    }
    if (await this.#isCanary(key, ref, object)) return done;
    return this.#pass({ namespace, name, uid: object.metadata.uid }, object, { ref, signal, metrics });
  }

  async #pass(parent: Parent, object: KubernetesObject, { ref, signal, metrics }: Passing): Promise<ReconcileResult> {
    const { client, clock, events, repository } = this.#options;
    const now = clock.now();
    const permitted = await readPermitted(client, parent.namespace, await repository());
    const seen = await observe(client, parent, now, signal);
    const remembered = statusOf(object).target === undefined ? await this.#options.memory.recall(parent) : undefined;
    const input = planInput(object, parent, { facts: seen.facts, now, remembered, permitted });
    const { made, taken } = await this.#plan(input, parent, seen);
    await this.#options.memory.remember(parent, made.status.migratedVersion);
    const written = await this.#remember(ref, object, made.status);
    metrics.read(readingOf(made.status));
    for (const event of made.events) {
      events.record(object, { type: event.type, reason: event.reason, action: 'Lifecycle', note: event.note });
    }
    if (made.world === undefined) return { kind: 'requeue-after', delayMs: made.requeueMs };
    const retention = made.world.spec.lifecycle?.jobRetention ?? 'RetainOnFailure';
    await applyWorld({ client, parent, world: made.world, seen, taken, retention });
    await this.#clearAnnotations(ref, object, made.world.removeAnnotations);
    return { kind: 'requeue-after', delayMs: written ? 100 : made.requeueMs };
  }

  /** What is wanted says which names are asked for; what is found there is told before anything is done. */
  async #plan(
    input: PlanInput,
    parent: Parent,
    seen: Observation,
  ): Promise<{ readonly made: Plan; readonly taken: readonly string[] }> {
    const made = plan(input);
    const { world } = made;
    const taken = world === undefined ? [] : await takenNames(this.#options.client, { parent, world, seen });
    return taken.length === 0 ? { made, taken } : { made: plan({ ...input, taken }), taken };
  }

  /** Nothing is made of one. */
  async #isCanary(key: string, ref: ObjectRef, object: KubernetesObject): Promise<boolean> {
    const { canary } = this.#options;
    if (!isCanary(object)) {
      canary.gone(key);
      return false;
    }
    canary.seen(key, object);
    await this.#remember(ref, object, canaryStatus(object));
    return true;
  }

  /** True where something was written. A status that somebody wrote in between is a conflict, and the pass is made anew. */
  async #remember(ref: ObjectRef, object: KubernetesObject, status: IngesterStatus): Promise<boolean> {
    const next = JSON.parse(JSON.stringify(status)) as JsonObject;
    if (sameJson(object['status'], next)) return false;
    await this.#options.client.update(
      ref,
      { ...object, status: next },
      { subresource: 'status', fieldManager: FIELD_MANAGER },
    );
    return true;
  }

  /** Only now that the decision is on record. */
  async #clearAnnotations(ref: ObjectRef, object: KubernetesObject, names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    const present = names.filter((name) => object.metadata.annotations?.[name] !== undefined);
    const patch = present.flatMap((name) => {
      const path = `/metadata/annotations/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      return [
        { op: 'test' as const, path, value: object.metadata.annotations?.[name] ?? '' },
        { op: 'remove' as const, path },
      ];
    });
    await this.#options.client.patch(ref, patch, { fieldManager: FIELD_MANAGER });
  }
}

export function planInput(
  object: KubernetesObject,
  parent: Parent,
  { permitted, ...seen }: Pick<PlanInput, 'facts' | 'now' | 'remembered'> & { readonly permitted: Permitted },
): PlanInput {
  const spec = object['spec'];
  const asked = isJsonObject(spec) ? (spec as unknown as IngesterSpec) : undefined;
  const problems =
    asked === undefined ? ['spec: missing'] : [...problemsOf(parent.name, asked), ...forbiddenIn(asked, permitted)];
  return {
    ...seen,
    uid: parent.uid,
    generation: object.metadata.generation ?? 0,
    annotations: object.metadata.annotations ?? {},
    spec: problems.length > 0 ? undefined : asked,
    problems,
    suspended: valueAt(spec, ['suspend']) === true,
    status: permittedStatus(statusOf(object), permitted),
    rendered: {
      component: (name, of) => appliedHash(parent, of, name),
      pod: (job) => podHash(parent, job),
    },
  };
}

export function statusOf(object: KubernetesObject): IngesterStatus {
  return isJsonObject(object['status']) ? object['status'] : {};
}

function canaryStatus({ metadata }: KubernetesObject): IngesterStatus {
  return { observedGeneration: metadata.generation ?? 0, phase: 'Running', ready: '0/0' };
}
