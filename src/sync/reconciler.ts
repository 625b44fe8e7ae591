// One reconcile of one object: classify it, then run the flow of its state. Every flow can be run again from the start
// at any point; each step is either idempotent or guarded by a precondition.
import type { KindDefinition } from '../api/kind.ts';
import { hasFinalizer, type KubernetesObject } from '../api/object.ts';
import type { Clock } from '../base/clock.ts';
import { canonicalJson } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, ObjectRef, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { done, type ReconcileResult } from '../runtime/reconcile.ts';
import { RowMismatchError } from '../storage/errors.ts';
import type { MetadataStorage, WriteOutcome } from '../storage/metadata-storage.ts';
import type { ObjectRow } from '../storage/row.ts';
import { classify } from './classify.ts';
import { StaleStateError } from './errors.ts';
import { addFinalizerPatch, removeFinalizerPatch } from './finalizer.ts';
import { type ProtoEncoder, toRow } from './row.ts';

export interface ReconcilerOptions {
  readonly kind: KindDefinition;
  readonly resource: Resource;
  /** Latest known state of the object, undefined when it is gone. */
  readonly getObject: (key: string) => Promise<KubernetesObject | undefined>;
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly encode: ProtoEncoder;
  readonly evictImmutableKinds: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** After a lost race the watch brings the new state; this is only the safety net. */
const AFTER_CONFLICT_MS = 1000;

export class ObjectReconciler {
  readonly #options: ReconcilerOptions;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(key: string): Promise<ReconcileResult> {
    try {
      await this.#runFlow(key);
      return done;
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return done;
      if (isKubeError(error, 'Conflict')) return { kind: 'requeue-after', delayMs: AFTER_CONFLICT_MS };
      throw error;
    }
  }

  async #runFlow(key: string): Promise<void> {
    const classified = classify(await this.#options.getObject(key), this.#options);
    switch (classified.state) {
      case 'gone':
        return;
      case 'deleting':
        return this.#releaseDeleting(classified.object);
      case 'marked':
        return this.#deleteMarked(classified.object);
      case 'immutable':
        return this.#evictImmutable(classified.object);
      case 'live':
        return this.#syncLive(classified.object);
    }
  }

  async #syncLive(object: KubernetesObject): Promise<void> {
    const outcome = await this.#options.storage.upsert(this.#row(object));
    this.#log(object, 'debug', `Synced to MySQL: ${outcome}`);
  }

  /** Final state into MySQL first, then our finalizer off. Other finalizers may hold the object; that is not our business. */
  async #releaseDeleting(object: KubernetesObject): Promise<void> {
    const { storage, client, clock } = this.#options;
    this.#log(object, 'info', 'Object is being deleted');
    const at =
      object.metadata.deletionTimestamp === undefined ? clock.now() : new Date(object.metadata.deletionTimestamp);
    const outcome = await storage.finish(this.#row(object), at);
    if (!hasFinalizer(object)) return;
    refuseStale(outcome, object);
    await client.patch(this.#ref(object), removeFinalizerPatch(object));
    this.#log(object, 'info', 'Final state is in MySQL; finalizer removed');
  }

  /** The row is deleted first; the finalizer then still holds the object until its very last state is stored. */
  async #deleteMarked(object: KubernetesObject): Promise<void> {
    if (await this.#guarded(object)) return;
    const { storage, client, clock } = this.#options;
    this.#log(object, 'info', 'Object marked for deletion via annotation');
    const outcome = await storage.delete(this.#row(object), clock.now());
    refuseStale(outcome, object);
    await client.delete(this.#ref(object), this.#preconditions(object));
  }

  /**
   * Intent, proof, then DELETE: whatever happens after the intent is stored, the object's end counts as eviction.
   * Dependants are orphaned, because the object still exists, only elsewhere.
   */
  async #evictImmutable(object: KubernetesObject): Promise<void> {
    if (await this.#guarded(object)) return;
    const { storage, client, clock } = this.#options;
    this.#log(object, 'info', 'Object is immutable; evicting it from etcd');
    const row = this.#row(object);
    const outcome = await storage.requestEviction(row, clock.now());
    refuseStale(outcome, object);
    await this.#proveStored(row);
    await client.delete(this.#ref(object), { ...this.#preconditions(object), propagationPolicy: 'Orphan' });
  }

  /** An object that slipped past admission gets its finalizer before anything irreversible; the rest is done then. */
  async #guarded(object: KubernetesObject): Promise<boolean> {
    if (hasFinalizer(object)) return false;
    await this.#options.client.patch(this.#ref(object), addFinalizerPatch(object));
    this.#log(object, 'info', 'Finalizer added to an object that was created without it');
    return true;
  }

  async #proveStored(row: ObjectRow): Promise<void> {
    const stored = await this.#options.storage.getById(row.kind, row.uid);
    if (stored === undefined) throw new RowMismatchError('the row is missing');
    if (stored.state !== 'evicting') throw new RowMismatchError(`the row is ${stored.state}, not evicting`);
    if (stored.resourceVersion !== row.resourceVersion) throw new RowMismatchError('another resourceVersion is stored');
    if (canonicalJson(JSON.parse(stored.json)) !== canonicalJson(JSON.parse(row.json))) {
      throw new RowMismatchError('the content differs');
    }
  }

  #row(object: KubernetesObject): ObjectRow {
    return toRow(this.#options.kind, object, this.#options.encode);
  }

  #ref(object: KubernetesObject): ObjectRef {
    const { namespace, name } = object.metadata;
    return { resource: this.#options.resource, namespace, name };
  }

  #preconditions(object: KubernetesObject): { readonly uid: string; readonly resourceVersion: string } {
    const { uid, resourceVersion } = object.metadata;
    return { uid, resourceVersion };
  }

  #log(object: KubernetesObject, level: 'debug' | 'info', message: string): void {
    const { namespace, name, uid, resourceVersion } = object.metadata;
    this.#options.logger[level]({ namespace, name, uid, resourceVersion }, message);
  }
}

function refuseStale(outcome: WriteOutcome, object: KubernetesObject): void {
  if (outcome === 'stale') throw new StaleStateError(object.metadata.resourceVersion);
}
