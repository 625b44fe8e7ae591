// What happens to objects that somebody may ask about later. Every notice is a count in the metrics; those with a type
// are a Kubernetes event on the object too.
import type { KubernetesObject } from '../api/object.ts';

interface Meaning {
  readonly type: 'Normal' | 'Warning' | undefined;
  /** One word for what was done, as Kubernetes events want it. */
  readonly action: string;
}

export type NoticeReason =
  | 'Evicted'
  | 'Retained'
  | 'RecreatedAfterEviction'
  | 'Guarded'
  | 'PropagationInvalid'
  | 'DeletionsPaused'
  | 'TerminatingBlocked'
  | 'StorageOff'
  | 'StoredAsText'
  | 'WriteRefused'
  | 'ReleasedDefinitionRemoved'
  | 'ReleasedToSpool';

const meanings: Readonly<Record<NoticeReason, Meaning>> = {
  /** Left etcd and stays in MySQL. */
  Evicted: { type: undefined, action: 'Evict' },
  /** In MySQL to stay, but not taken out of etcd; the note says why. */
  Retained: { type: 'Normal', action: 'Retain' },
  /** The name of an evicted object is in use again, so nothing under this name is evicted any more. */
  RecreatedAfterEviction: { type: 'Warning', action: 'Retain' },
  /** Had no finalizer before. */
  Guarded: { type: undefined, action: 'Guard' },
  /** The value of michelangelo/DeletePropagation is none that Kubernetes knows. */
  PropagationInvalid: { type: 'Warning', action: 'Delete' },
  /** A circuit breaker holds deletions. */
  DeletionsPaused: { type: 'Warning', action: 'Delete' },
  /** Terminating for more than a minute; the note says what it waits for. */
  TerminatingBlocked: { type: 'Warning', action: 'Delete' },
  /** Terminating while metadata storage is off, so that no reconciler stores its final state. */
  StorageOff: { type: 'Warning', action: 'Delete' },
  /** Nested too deeply for a JSON column; the deep part is in the row as text. */
  StoredAsText: { type: 'Warning', action: 'Store' },
  /** A policy, a webhook or the rights refuse what has to be written to the object; the note has their words. */
  WriteRefused: { type: 'Warning', action: 'Write' },
  /** Released because its definition is being removed; the row is kept as evicted. */
  ReleasedDefinitionRemoved: { type: 'Warning', action: 'Release' },
  /** Released while MySQL was away; the final state is on disk until MySQL is back. */
  ReleasedToSpool: { type: 'Warning', action: 'Release' },
};

export const noticeReasons: readonly NoticeReason[] = Object.keys(meanings) as NoticeReason[];

export function meaningOf(reason: NoticeReason): Meaning {
  return meanings[reason];
}

/** Told about every notice. Never blocks and never throws. */
export type Witness = (object: KubernetesObject, reason: NoticeReason, note: string) => void;
