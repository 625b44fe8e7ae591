// The adoption sweep: whatever slipped past admission gets its finalizer. The watch brings every object by, at the start
// and later; those without the finalizer become keys of a queue of their own, so that guarding never waits for MySQL.
import { type KubernetesObject, needsFinalizer, objectKey } from '../api/object.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { done, type ReconcileResult } from '../runtime/reconcile.ts';
import { type FailureListeners, tellFailure } from './failure.ts';
import { addFinalizerPatch } from './finalizer.ts';

export interface AdoptionOptions extends FailureListeners {
  readonly resource: Resource;
  /** Latest known state of the object, undefined when it is gone. */
  readonly getObject: (key: string) => Promise<KubernetesObject | undefined>;
  readonly client: KubeClient;
  /**
   * Whether finalizers may be added now: `no` while the bundle is being drained or is drained, `unknown` before that
   * could be read.
   */
  readonly mayGuard: () => 'yes' | 'no' | 'unknown';
  /** Resolves when the sweep may make its next call. */
  readonly pace: (signal: AbortSignal) => Promise<unknown>;
  readonly onAdopted: () => void;
  readonly logger: Logger;
}

/** After a lost race the watch brings the new state; this is only the safety net. */
const AFTER_CONFLICT_MS = 1000;
const UNKNOWN_MS = 500;

export class Adoption {
  readonly #options: AdoptionOptions;

  constructor(options: AdoptionOptions) {
    this.#options = options;
  }

  async reconcile(key: string, { signal }: { readonly signal: AbortSignal }): Promise<ReconcileResult> {
    const { mayGuard, pace, getObject } = this.#options;
    // What is left unguarded on purpose comes again when the drain is undone.
    if (mayGuard() === 'no') return done;
    if (mayGuard() === 'unknown') return { kind: 'requeue-after', delayMs: UNKNOWN_MS };
    await pace(signal);
    const object = await getObject(key);
    if (object === undefined || !needsFinalizer(object) || mayGuard() !== 'yes') return done;
    return this.#adopt(object);
  }

  async #adopt(object: KubernetesObject): Promise<ReconcileResult> {
    const { client, kind, resource, troubles, onAdopted, logger } = this.#options;
    const { namespace, name, uid } = object.metadata;
    try {
      await client.patch({ resource, namespace, name }, addFinalizerPatch(object));
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return done;
      if (isKubeError(error, 'Conflict')) return { kind: 'requeue-after', delayMs: AFTER_CONFLICT_MS };
      tellFailure(object, error, this.#options);
      throw error;
    }
    troubles?.over(kind.kind, objectKey(object));
    onAdopted();
    logger.info({ namespace, name, uid }, 'Finalizer added to an object that was created without it');
    return done;
  }
}
