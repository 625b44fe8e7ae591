// One reconcile of one Ingester resource: observe, plan, write the status, apply.
import { lastingProblems } from '../../api/ingester/lasting-fields.ts';
import type { Permitted } from '../../api/ingester/permitted.ts';
import { eventReasons } from '../../api/ingester/reasons.ts';
import { INGESTER_GROUP, INGESTER_PLURAL, INGESTER_VERSION, type IngesterSpec } from '../../api/ingester/spec.ts';
import { type IngesterStatus, stepNames, topPhases } from '../../api/ingester/status.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { Clock } from '../../base/clock.ts';
import { isJsonObject, type JsonObject, sameJson, valueAt } from '../../base/json.ts';
import type { KubeClient, ObjectRef, Resource } from '../../kube/client.ts';
import { ifFound } from '../../kube/found.ts';
import type { LifecycleMetrics, LifecycleReading } from '../../metrics/lifecycle.ts';
import type { EventRecorder } from '../../runtime/event-recorder.ts';
import { done, type ReconcileContext, type ReconcileResult } from '../../runtime/reconcile.ts';
import { appliedHash } from '../children/components.ts';
import { podHash } from '../children/jobs.ts';
import type { Parent } from '../children/names.ts';
import type { PlanEvent } from '../plan/observed.ts';
import { type Plan, type PlanInput, plan } from '../plan/plan.ts';
import { problemsOf } from '../plan/validate.ts';
import { applyDesiredState } from './apply.ts';
import { type Canary, isCanary } from './canary.ts';
import { takenNames } from './desired-children.ts';
import { endedBetween } from './ended.ts';
import type { MigrationRecord } from './migration-record.ts';
import { withObjects } from './objects.ts';
import { type Observation, observe } from './observe.ts';
import { forbiddenIn, permittedStatus, readPermitted } from './permitted.ts';
import { scaleToZero } from './scale-to-zero.ts';
import { FailingReads } from './unread.ts';

export const ingesters: Resource = { group: INGESTER_GROUP, version: INGESTER_VERSION, plural: INGESTER_PLURAL };
const FIELD_MANAGER = 'ingester-lifecycle';

export interface LifecycleOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly metrics: Pick<LifecycleMetrics, 'forResource' | 'ended'>;
  readonly record: Pick<MigrationRecord, 'migratedVersion' | 'writeVersion'>;
  readonly canary: Pick<Canary, 'seen' | 'gone'>;
  /** The repository of the image that this program runs from; undefined where that is not known. */
  readonly repository: () => Promise<string | undefined>;
}

interface ReconcileScope {
  readonly ref: ObjectRef;
  readonly signal: AbortSignal;
  readonly metrics: ReturnType<LifecycleMetrics['forResource']>;
}

interface Reading {
  readonly permitted: Permitted;
  readonly observation: Observation;
  readonly recordedVersion: string | undefined;
}

export class LifecycleReconciler {
  readonly #options: LifecycleOptions;
  readonly #failing: FailingReads;

  constructor(options: LifecycleOptions) {
    this.#options = options;
    this.#failing = new FailingReads(options.clock);
  }

  async reconcile(key: string, { signal }: Pick<ReconcileContext, 'signal'>): Promise<ReconcileResult> {
    const [namespace = '', name = ''] = key.split('/');
    const ref: ObjectRef = { resource: ingesters, namespace, name };
    const object = await ifFound(this.#options.client.get(ref));
    const metrics = this.#options.metrics.forResource(key, readingLabels);
    // Garbage collection deletes what it owned.
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) {
      metrics.gone();
      this.#options.canary.gone(key);
      this.#failing.over(key);
      return done;
    }
    if (await this.#isCanary(key, ref, object)) return done;
    return this.#reconcileObject({ namespace, name, uid: object.metadata.uid }, object, { ref, signal, metrics });
  }

  async #reconcileObject(
    parent: Parent,
    object: KubernetesObject,
    { ref, signal, metrics }: ReconcileScope,
  ): Promise<ReconcileResult> {
    const { client, clock } = this.#options;
    const now = clock.now();
    const { observation, ...read } = await this.#read(parent, object, { ref, now, signal });
    const input = planInput(object, parent, { ...read, observed: observation.state, now });
    const { made, taken } = await this.#plan(input, parent, observation);
    await this.#options.record.writeVersion(parent, made.status.migratedVersion);
    const written = await this.#writeStatus(ref, object, withObjects(made.status, parent, observation));
    for (const ended of endedBetween(input.status.lifecycle, made.status.lifecycle, now)) {
      this.#options.metrics.ended(ended);
    }
    metrics.read(readingOf(made.status));
    for (const event of made.events) {
      this.#tell(object, event);
    }
    if (made.desired === undefined) {
      if (input.scaledToZero === true) await scaleToZero(client, parent, observation);
      return { kind: 'requeue-after', delayMs: made.requeueMs };
    }
    const retention = made.desired.spec.lifecycle?.jobRetention ?? 'RetainOnFailure';
    const putBack = await applyDesiredState({ client, parent, desired: made.desired, observation, taken, retention });
    if (putBack.length > 0) {
      const note = `changed by another client and put back: ${putBack.join('; ')}`;
      this.#tell(object, { reason: 'ChildPutBack', note });
    }
    await this.#clearAnnotations(ref, object, made.desired.removeAnnotations);
    return { kind: 'requeue-after', delayMs: written ? 100 : made.requeueMs };
  }

  /** All that is decided by. Where a read fails nothing is concluded; where reads go on failing the status says so. */
  async #read(
    parent: Parent,
    object: KubernetesObject,
    { ref, now, signal }: Pick<ReconcileScope, 'ref' | 'signal'> & { readonly now: Date },
  ): Promise<Reading> {
    const { client, record, repository } = this.#options;
    const key = `${parent.namespace}/${parent.name}`;
    try {
      const permitted = await readPermitted(client, parent.namespace, await repository());
      const observation = await observe(client, parent, now, signal);
      const isNew = statusOf(object).target === undefined;
      const recordedVersion = isNew ? await record.migratedVersion(parent) : undefined;
      this.#failing.over(key);
      return { permitted, observation, recordedVersion };
    } catch (error) {
      // It was broken off, and may lead no more.
      const unread = signal.aborted ? undefined : this.#failing.failed(key, object, statusOf(object), error);
      // The failure that is reported is the first one: this write may fail for the same reason.
      if (unread !== undefined) await this.#writeStatus(ref, object, unread).catch(() => false);
      throw error;
    }
  }

  #tell(object: KubernetesObject, { reason, note }: PlanEvent): void {
    this.#options.events.record(object, { type: eventReasons[reason].type, reason, action: 'Lifecycle', note });
  }

  /** The desired state says which names to look up; names that are taken are reported before anything is changed. */
  async #plan(
    input: PlanInput,
    parent: Parent,
    observation: Observation,
  ): Promise<{ readonly made: Plan; readonly taken: readonly string[] }> {
    const made = plan(input);
    const { desired } = made;
    const taken = desired === undefined ? [] : await takenNames(this.#options.client, { parent, desired, observation });
    return taken.length === 0 ? { made, taken } : { made: plan({ ...input, taken }), taken };
  }

  /** No object is created for a canary. */
  async #isCanary(key: string, ref: ObjectRef, object: KubernetesObject): Promise<boolean> {
    const { canary } = this.#options;
    if (!isCanary(object)) {
      canary.gone(key);
      return false;
    }
    canary.seen(key, object);
    await this.#writeStatus(ref, object, canaryStatus(object));
    return true;
  }

  /** True where something was written. A status that another client wrote in between is a conflict; the reconcile is retried. */
  async #writeStatus(ref: ObjectRef, object: KubernetesObject, status: IngesterStatus): Promise<boolean> {
    const next = JSON.parse(JSON.stringify(status)) as JsonObject;
    if (sameJson(object['status'], next)) return false;
    await this.#options.client.update(
      ref,
      { ...object, status: next },
      { subresource: 'status', fieldManager: FIELD_MANAGER },
    );
    return true;
  }

  /** Called after the decision was written to the status. */
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
  { permitted, ...rest }: Pick<PlanInput, 'observed' | 'now' | 'recordedVersion'> & { readonly permitted: Permitted },
): PlanInput {
  const spec = object['spec'];
  const asked = isJsonObject(spec) ? (spec as unknown as IngesterSpec) : undefined;
  const suspended = valueAt(spec, ['suspend']) === true;
  const status = permittedStatus(statusOf(object), permitted);
  const problems = asked === undefined ? ['spec: missing'] : problemsIn(parent, asked, { status, permitted });
  return {
    ...rest,
    uid: parent.uid,
    generation: object.metadata.generation ?? 0,
    annotations: object.metadata.annotations ?? {},
    spec: problems.length > 0 ? undefined : asked,
    problems,
    suspended,
    scaledToZero: suspended && valueAt(spec, ['suspendMode']) === 'ScaleToZero',
    status,
    rendered: {
      component: (name, of) => appliedHash(parent, of, name),
      pod: (job) => podHash(parent, job),
    },
  };
}

/** All that keeps this specification from becoming the target, each with its path. */
export function problemsIn(
  { name }: Pick<Parent, 'name'>,
  asked: IngesterSpec,
  { status, permitted }: { readonly status: IngesterStatus; readonly permitted: Permitted },
): readonly string[] {
  const lasting = lastingProblems(status.stable?.spec, asked);
  return [...problemsOf(name, asked), ...lasting, ...forbiddenIn(asked, permitted)];
}

export function statusOf(object: KubernetesObject): IngesterStatus {
  return isJsonObject(object['status']) ? object['status'] : {};
}

function canaryStatus({ metadata }: KubernetesObject): IngesterStatus {
  return { observedGeneration: metadata.generation ?? 0, phase: 'Running', ready: '0/0' };
}

export const readingLabels: { readonly phases: readonly string[]; readonly tasks: readonly string[] } = {
  phases: topPhases,
  tasks: stepNames,
};

/** What the metrics report of an Ingester resource. */
export function readingOf({ phase = 'Initializing', lifecycle, conditions = [] }: IngesterStatus): LifecycleReading {
  const available = conditions.find(({ type }) => type === 'Available');
  const unavailableSince = available?.status === 'False' ? new Date(available.lastTransitionTime) : undefined;
  const startedAt = dateOf(lifecycle?.attempt?.startedAt);
  const snapshotAt = dateOf(lifecycle?.snapshotAt);
  const snapshotMissedSince = dateOf(lifecycle?.snapshotSchedule?.missedSince);
  const attempts = Object.fromEntries(stepNames.map((name) => [name, lifecycle?.steps[name]?.attempts ?? 0]));
  return { phase, attempts, startedAt, unavailableSince, snapshotAt, snapshotMissedSince };
}

function dateOf(time: string | undefined): Date | undefined {
  return time === undefined ? undefined : new Date(time);
}
