// The finalizer sweep: what slipped past admission gets its finalizer. The watch brings every object by, at the start
// and later; those without the finalizer become keys of a queue of their own, so that adding it never waits for MySQL.
import { needsFinalizer } from '../../api/object.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import type { WatchedObject } from '../../kube/watched-object.ts';
import { done, type ReconcileResult } from '../../runtime/reconcile.ts';
import { addFinalizerTo } from '../finalizer.ts';
import { type FailureListeners, tellFailure } from './failing-objects.ts';

export interface FinalizerSweepOptions extends FailureListeners {
  readonly resource: Resource;
  /** Latest known state of the object, undefined when it is gone. */
  readonly getObject: (key: string) => Promise<WatchedObject | undefined>;
  readonly client: KubeClient;
  /**
   * Whether finalizers may be added now: `no` while the bundle is uninstalled or removable, `unknown` before that
   * could be read.
   */
  readonly mayAddFinalizer: () => 'yes' | 'no' | 'unknown';
  /** Resolves when the sweep may make its next call. */
  readonly pace: (signal: AbortSignal) => Promise<unknown>;
  readonly onAdded: () => void;
  readonly logger: Logger;
}

/** After a lost race the watch brings the new state; this is only the safety net. */
const AFTER_CONFLICT_MS = 1000;
const UNKNOWN_MS = 500;

export class FinalizerSweep {
  readonly #options: FinalizerSweepOptions;

  constructor(options: FinalizerSweepOptions) {
    this.#options = options;
  }

  async reconcile(key: string, { signal }: { readonly signal: AbortSignal }): Promise<ReconcileResult> {
    const { mayAddFinalizer, pace, getObject } = this.#options;
    // What is left unguarded on purpose comes again when the uninstall is undone.
    if (mayAddFinalizer() === 'no') return done;
    if (mayAddFinalizer() === 'unknown') return { kind: 'requeue-after', delayMs: UNKNOWN_MS };
    await pace(signal);
    const found = await getObject(key);
    if (found === undefined || !needsFinalizer({ metadata: found.marks() }) || mayAddFinalizer() !== 'yes') return done;
    return this.#addFinalizer(found);
  }

  async #addFinalizer(found: WatchedObject): Promise<ReconcileResult> {
    const { kind, failingObjects, onAdded, logger } = this.#options;
    const { namespace, name, uid } = found.identity;
    try {
      await addFinalizerTo(this.#options, found.parse());
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return done;
      if (isKubeError(error, 'Conflict')) return { kind: 'requeue-after', delayMs: AFTER_CONFLICT_MS };
      tellFailure(found, error, this.#options);
      throw error;
    }
    failingObjects?.recovered(kind.kind, found.key);
    onAdded();
    logger.info({ namespace, name, uid }, 'Finalizer added to an object that was created without it');
    return done;
  }
}
