// One reconcile of one object: classify it, then run the flow of its state. Every flow can be run again from the start
// at any point; each step is either idempotent or protected by a precondition.
import { isKubeError } from '../../kube/errors.ts';
import type { WatchedObject } from '../../kube/watched-object.ts';
import { done, type ReconcileResult } from '../../runtime/reconcile.ts';
import type { ObjectRow } from '../../storage/row.ts';
import { type Classified, classify } from './classify.ts';
import { finishDeletion, storeLastState, storeUnsaved } from './deletion-flow.ts';
import { evict, withdrawEviction } from './evict-flow.ts';
import { type FailingObjects, tellFailure, tellWhyItStays } from './failing-objects.ts';
import { Flow, type FlowOptions } from './flow.ts';
import { deleteMarked } from './mark-flow.ts';

export interface ReconcilerOptions extends FlowOptions {
  /** Latest known state of the object, undefined when it is gone. */
  readonly getObject: (key: string) => Promise<WatchedObject | undefined>;
  /** Whether what is more than a copy has to wait for now; then the key comes again. Nothing has to unless given. */
  readonly defers?: (key: string) => boolean;
  /** Where objects that cannot be dealt with are listed. */
  readonly failingObjects?: FailingObjects;
}

/** The state that an object left with, and whether its row had ended with an earlier one. */
export interface LastState {
  readonly last: WatchedObject;
  readonly finished: boolean;
}

type NotLive = Exclude<Classified, { readonly state: 'live' }>;

/** After a lost race the watch brings the new state; this is only the safety net. */
const AFTER_CONFLICT_MS = 1000;

export class ObjectReconciler {
  readonly #options: ReconcilerOptions;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  async reconcile(key: string): Promise<ReconcileResult> {
    const { getObject, kind, failingObjects } = this.#options;
    const flow = new Flow(this.#options);
    let received: WatchedObject | undefined;
    try {
      received = await getObject(key);
      if (received === undefined) this.#options.incompleteProtos?.note(kind.kind, key);
      const result = await this.#run(flow, received);
      failingObjects?.recovered(kind.kind, key);
      return result;
    } catch (error) {
      if (received === undefined) {
        failingObjects?.failed(kind.kind, key, error);
        throw error;
      }
      return this.#afterFailure(received, error);
    }
  }

  /** Stores what an object that is gone left with. */
  storeLast({ last, finished }: LastState): Promise<void> {
    return (finished ? storeLastState : storeUnsaved)(new Flow(this.#options), last.parse());
  }

  /** The client has looked: `NotFound` and `Conflict` are true, and pass by themselves. */
  #afterFailure(received: WatchedObject, error: unknown): ReconcileResult {
    if (isKubeError(error, 'NotFound')) {
      this.#options.failingObjects?.recovered(this.#options.kind.kind, received.key);
      return done;
    }
    if (isKubeError(error, 'Conflict')) {
      tellWhyItStays(received, error, this.#options);
      return { kind: 'requeue-after', delayMs: AFTER_CONFLICT_MS };
    }
    tellFailure(received, error, this.#options);
    throw error;
  }

  async #run(flow: Flow, received: WatchedObject | undefined): Promise<ReconcileResult> {
    if (received === undefined) return done;
    const planned = this.#plan(flow, received);
    if (planned.state !== 'live' && this.#options.defers?.(received.key) === true) return done;
    switch (planned.state) {
      case 'deleting':
        return finishDeletion(flow, planned.object, received.arrival);
      case 'marked':
        return deleteMarked(flow, planned.object);
      case 'immutable':
        return evict(flow, planned.object, planned.cause);
      case 'live': {
        const { storage, isWithdrawn } = this.#options;
        const outcome = await storage.upsert(planned.row);
        const stored = { metadata: received.identity };
        flow.log(stored, 'debug', `Synced to MySQL: ${outcome}`);
        if (outcome === 'unchanged' && isWithdrawn?.(stored) === true) await withdrawEviction(flow, stored);
        return done;
      }
    }
  }

  /** Of a live object only the row goes on: hundreds wait for their transaction at once. */
  #plan(flow: Flow, received: WatchedObject): NotLive | { readonly state: 'live'; readonly row: ObjectRow } {
    const classified = classify(received.parse(), this.#options);
    return classified.state === 'live' ? { state: 'live', row: flow.row(classified.object) } : classified;
  }
}
