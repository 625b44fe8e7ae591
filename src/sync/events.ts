// What happens to objects. Every event is counted in the metrics; those with a type are a Kubernetes event on the
// object too.
import type { KubernetesObject } from '../api/object.ts';

interface Meaning {
  readonly type: 'Normal' | 'Warning' | undefined;
  /** One word for what was done, as Kubernetes events want it. */
  readonly action: string;
}

export type EventReason =
  | 'Evicted'
  | 'Retained'
  | 'RecreatedAfterEviction'
  | 'FinalizerAdded'
  | 'PropagationInvalid'
  | 'DeletionsPaused'
  | 'TerminatingBlocked'
  | 'StorageOff'
  | 'KindNotIngested'
  | 'StoredAsText'
  | 'ProtoIncomplete'
  | 'WriteRefused'
  | 'FinalizerRemovedWithDefinition'
  | 'FinalizerRemovedToSpool'
  | 'FinalizerRemovedWhileChanging';

const meanings: Readonly<Record<EventReason, Meaning>> = {
  /** Left etcd and stays in MySQL. */
  Evicted: { type: undefined, action: 'Evict' },
  /** In MySQL to stay, but not taken out of etcd; the note says why. */
  Retained: { type: 'Normal', action: 'Retain' },
  /** The name of an evicted object is in use again, so nothing under this name is evicted any more. */
  RecreatedAfterEviction: { type: 'Warning', action: 'Retain' },
  /** Had no finalizer before. */
  FinalizerAdded: { type: undefined, action: 'AddFinalizer' },
  /** The value of michelangelo/DeletePropagation is none that Kubernetes knows. */
  PropagationInvalid: { type: 'Warning', action: 'Delete' },
  /** A circuit breaker holds deletions. */
  DeletionsPaused: { type: 'Warning', action: 'Delete' },
  /** Terminating for more than a minute; the note says what it waits for. */
  TerminatingBlocked: { type: 'Warning', action: 'Delete' },
  /** Terminating while metadata storage is off, so that no reconciler stores its final state. */
  StorageOff: { type: 'Warning', action: 'Delete' },
  /** Terminating although the configuration leaves its kind out, so that no reconciler stores its final state. */
  KindNotIngested: { type: 'Warning', action: 'Delete' },
  /** Nested too deeply for a JSON column; the deep part is in the row as text. */
  StoredAsText: { type: 'Warning', action: 'Store' },
  /** Something in it does not fit the protobuf definitions, or is unknown to them; only the json has it. */
  ProtoIncomplete: { type: 'Warning', action: 'Store' },
  /** A policy, a webhook or the rights refuse what has to be written to the object; the note has their words. */
  WriteRefused: { type: 'Warning', action: 'Write' },
  /** The finalizer is off because the definition is being removed; the row is kept as evicted. */
  FinalizerRemovedWithDefinition: { type: 'Warning', action: 'RemoveFinalizer' },
  /** The finalizer came off while MySQL was away; the final state is on disk until MySQL is back. */
  FinalizerRemovedToSpool: { type: 'Warning', action: 'RemoveFinalizer' },
  /** It was changed too often to be released in the stored state; MySQL gets the state that it left with. */
  FinalizerRemovedWhileChanging: { type: 'Warning', action: 'RemoveFinalizer' },
};

export const eventReasons: readonly EventReason[] = Object.keys(meanings) as EventReason[];

export function meaningOf(reason: EventReason): Meaning {
  return meanings[reason];
}

/** Records an event of an object. Never blocks and never throws. */
export type RecordEvent = (object: KubernetesObject, reason: EventReason, note: string) => void;
