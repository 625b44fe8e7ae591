// One reconcile of one object: classify it, then run the flow of its state. Every flow can be run again from the start
// at any point; each step is either idempotent or guarded by a precondition.
import type { KubernetesObject } from '../api/object.ts';
import { messageOf } from '../base/errors.ts';
import { isKubeError } from '../kube/errors.ts';
import { done, type ReconcileResult } from '../runtime/reconcile.ts';
import { classify } from './classify.ts';
import { evict } from './evict-flow.ts';
import { Flow, type FlowOptions } from './flow.ts';
import { deleteMarked } from './mark-flow.ts';
import { BLOCKED_MS, release } from './release-flow.ts';
import type { Troubles } from './troubles.ts';

export interface ReconcilerOptions extends FlowOptions {
  /** Latest known state of the object, undefined when it is gone. */
  readonly getObject: (key: string) => Promise<KubernetesObject | undefined>;
  /** Where objects that cannot be dealt with are listed. */
  readonly troubles?: Troubles;
}

/** After a lost race the watch brings the new state; this is only the safety net. */
const AFTER_CONFLICT_MS = 1000;

export class ObjectReconciler {
  readonly #options: ReconcilerOptions;
  readonly #flow: Flow;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#flow = new Flow(options);
  }

  async reconcile(key: string): Promise<ReconcileResult> {
    const { getObject, kind, troubles } = this.#options;
    const object = await getObject(key);
    try {
      const result = await this.#run(object);
      troubles?.over(kind.kind, key);
      return result;
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return done;
      if (isKubeError(error, 'Conflict')) return { kind: 'requeue-after', delayMs: AFTER_CONFLICT_MS };
      troubles?.note(kind.kind, key, error);
      if (object !== undefined) this.#tellWhyItStays(object, error);
      throw error;
    }
  }

  async #run(object: KubernetesObject | undefined): Promise<ReconcileResult> {
    const classified = classify(object, this.#options);
    switch (classified.state) {
      case 'gone':
        return done;
      case 'deleting':
        return release(this.#flow, classified.object);
      case 'marked':
        return deleteMarked(this.#flow, classified.object);
      case 'immutable':
        return evict(this.#flow, classified.object, classified.cause);
      case 'live':
        return this.#syncLive(classified.object);
    }
  }

  async #syncLive(object: KubernetesObject): Promise<ReconcileResult> {
    const outcome = await this.#options.storage.upsert(this.#flow.row(object));
    this.#flow.log(object, 'debug', `Synced to MySQL: ${outcome}`);
    return done;
  }

  #tellWhyItStays(object: KubernetesObject, error: unknown): void {
    const { deletionTimestamp } = object.metadata;
    if (deletionTimestamp === undefined) return;
    const ageMs = this.#options.clock.now().getTime() - new Date(deletionTimestamp).getTime();
    if (ageMs >= BLOCKED_MS) this.#options.witness?.(object, 'TerminatingBlocked', messageOf(error));
  }
}
