// One reconcile of one object: classify it, then run the flow of its state. Every flow can be run again from the start
// at any point; each step is either idempotent or guarded by a precondition.
import { type KubernetesObject, objectKey } from '../api/object.ts';
import { isKubeError } from '../kube/errors.ts';
import { wholeObject } from '../kube/lazy-object.ts';
import { done, type ReconcileResult } from '../runtime/reconcile.ts';
import type { ObjectRow } from '../storage/row.ts';
import { type Classified, classify } from './classify.ts';
import { evict } from './evict-flow.ts';
import { tellFailure, tellWhyItStays } from './failure.ts';
import { Flow, type FlowOptions } from './flow.ts';
import { deleteMarked } from './mark-flow.ts';
import { release } from './release-flow.ts';
import type { Troubles } from './troubles.ts';
import { withdrawEviction } from './withdraw-flow.ts';

export interface ReconcilerOptions extends FlowOptions {
  /** Latest known state of the object, undefined when it is gone. */
  readonly getObject: (key: string) => Promise<KubernetesObject | undefined>;
  /** Where objects that cannot be dealt with are listed. */
  readonly troubles?: Troubles;
}

type NotLive = Exclude<Classified, { readonly state: 'live' }>;

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
    let received: KubernetesObject | undefined;
    try {
      received = await getObject(key);
      const result = await this.#run(received);
      troubles?.over(kind.kind, key);
      return result;
    } catch (error) {
      if (received === undefined) {
        troubles?.note(kind.kind, key, error);
        throw error;
      }
      return this.#afterFailure(received, error);
    }
  }

  /** The client has looked: `NotFound` and `Conflict` are true, and pass by themselves. */
  #afterFailure(object: KubernetesObject, error: unknown): ReconcileResult {
    if (isKubeError(error, 'NotFound')) {
      this.#options.troubles?.over(this.#options.kind.kind, objectKey(object));
      return done;
    }
    if (isKubeError(error, 'Conflict')) {
      tellWhyItStays(object, error, this.#options);
      return { kind: 'requeue-after', delayMs: AFTER_CONFLICT_MS };
    }
    tellFailure(object, error, this.#options);
    throw error;
  }

  async #run(received: KubernetesObject | undefined): Promise<ReconcileResult> {
    if (received === undefined) return done;
    const planned = this.#plan(received);
    switch (planned.state) {
      case 'deleting':
        return release(this.#flow, planned.object);
      case 'marked':
        return deleteMarked(this.#flow, planned.object);
      case 'immutable':
        return evict(this.#flow, planned.object, planned.cause);
      case 'live': {
        const { storage, isWithdrawn } = this.#options;
        const outcome = await storage.upsert(planned.row);
        this.#flow.log(received, 'debug', `Synced to MySQL: ${outcome}`);
        if (outcome === 'unchanged' && isWithdrawn?.(received) === true) await withdrawEviction(this.#flow, received);
        return done;
      }
    }
  }

  /** Of a live object only the row goes on: hundreds wait for their transaction at once. */
  #plan(received: KubernetesObject): NotLive | { readonly state: 'live'; readonly row: ObjectRow } {
    const classified = classify(wholeObject(received), this.#options);
    return classified.state === 'live' ? { state: 'live', row: this.#flow.row(classified.object) } : classified;
  }
}
