// One pass over one Ingester resource: read, plan, remember, act.
import type { IngesterSpec } from '../api/ingester/spec.ts';
import type { IngesterStatus } from '../api/ingester/status.ts';
import { INGESTER_PLURAL } from '../api/ingester.ts';
import { GROUP, VERSION } from '../api/names.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { Clock } from '../base/clock.ts';
import { isJsonObject, type JsonObject, valueAt } from '../base/json.ts';
import type { LifecycleMetrics } from '../base/metrics-lifecycle.ts';
import { sameJson } from '../base/same-json.ts';
import type { KubeClient, ObjectRef, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import type { EventRecorder } from '../runtime/event-recorder.ts';
import { done, type ReconcileContext, type ReconcileResult } from '../runtime/reconcile.ts';
import { applyWorld } from './apply.ts';
import { type Canary, isCanary } from './canary.ts';
import { appliedHash } from './children/components.ts';
import { podHash } from './children/jobs.ts';
import type { Parent } from './children/names.ts';
import type { MigratedMemory } from './migrated-memory.ts';
import { observe } from './observe.ts';
import { type PlanInput, plan } from './plan.ts';
import { readingLabels, readingOf } from './reading.ts';
import { problemsOf } from './validate.ts';

export const ingesters: Resource = { group: GROUP, version: VERSION, plural: INGESTER_PLURAL };
const FIELD_MANAGER = 'ingester-lifecycle';

export interface LifecycleOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly metrics: Pick<LifecycleMetrics, 'forResource'>;
  readonly memory: Pick<MigratedMemory, 'recall' | 'remember'>;
  readonly canary: Pick<Canary, 'seen' | 'gone'>;
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
    const { client, clock, events } = this.#options;
    const now = clock.now();
    const seen = await observe(client, parent, now, signal);
    const remembered = statusOf(object).target === undefined ? await this.#options.memory.recall(parent) : undefined;
    const made = plan(planInput(object, parent, { facts: seen.facts, now, remembered }));
    await this.#options.memory.remember(parent, made.status.migratedVersion);
    const written = await this.#remember(ref, object, made.status);
    metrics.read(readingOf(made.status));
    for (const event of made.events) {
      events.record(object, { type: event.type, reason: event.reason, action: 'Lifecycle', note: event.note });
    }
    if (made.world === undefined) return { kind: 'requeue-after', delayMs: made.requeueMs };
    const retention = made.world.spec.lifecycle?.jobRetention ?? 'RetainOnFailure';
    const taken = await applyWorld({ client, parent, world: made.world, seen, retention });
    if (taken.length > 0)
      events.record(object, {
        type: 'Warning',
        reason: 'NameTaken',
        action: 'Lifecycle',
        note: `not ours, left alone: ${taken.join(', ')}`,
      });
    await this.#clearAnnotations(ref, object, made.world.removeAnnotations);
    return { kind: 'requeue-after', delayMs: written ? 100 : made.requeueMs };
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
  seen: Pick<PlanInput, 'facts' | 'now' | 'remembered'>,
): PlanInput {
  const spec = object['spec'];
  const asked = isJsonObject(spec) ? (spec as unknown as IngesterSpec) : undefined;
  const problems = asked === undefined ? ['spec: missing'] : problemsOf(parent.name, asked);
  return {
    ...seen,
    uid: parent.uid,
    generation: object.metadata.generation ?? 0,
    annotations: object.metadata.annotations ?? {},
    spec: problems.length > 0 ? undefined : asked,
    problems,
    suspended: valueAt(spec, ['suspend']) === true,
    status: statusOf(object),
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

async function getOrNone(client: KubeClient, ref: ObjectRef): Promise<KubernetesObject | undefined> {
  try {
    return await client.get(ref);
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return undefined;
    throw error;
  }
}
