// What the query API answers with, as far as the page reads it.

export type State = 'live' | 'evicted' | 'deleted';
export const states: readonly State[] = ['live', 'evicted', 'deleted'];

/** Where an object of this state is. */
export const places: Readonly<Record<State, string>> = {
  live: 'in etcd and MySQL',
  evicted: 'in MySQL only',
  deleted: 'deleted, kept for the record',
};

export interface Metadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
}

export interface OwnerReference {
  readonly apiVersion?: string;
  readonly kind: string;
  readonly name: string;
  readonly uid?: string;
}

export interface StoredDocument {
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: unknown;
  readonly status?: unknown;
}

export interface KindSummary {
  readonly kind: string;
  readonly plural: string;
  /** Names that can be selected and ordered by. */
  readonly fields: readonly string[];
  readonly counts: Readonly<Record<State, number>>;
  readonly lagSeconds?: number;
}

export interface Summary {
  readonly items: readonly KindSummary[];
  readonly namespacesLeftOut?: number;
}

/** What the reconciler cannot deal with, as far as the user may list it. */
export interface Stuck {
  /** Since the reconciler told it. */
  readonly ageSeconds: number;
  readonly count: number;
  /** There are more than the reconciler lists. */
  readonly truncated: boolean;
  readonly items: readonly {
    readonly kind: string;
    readonly plural: string;
    readonly namespace: string;
    readonly name: string;
    readonly since: string;
    readonly attempts: number;
    readonly code: string;
    readonly message: string;
  }[];
  readonly unwatchedKinds: readonly { readonly kind: string; readonly since: string; readonly message: string }[];
  readonly heldDeletions: readonly {
    readonly kind: string;
    readonly plural: string;
    readonly namespace?: string;
    readonly since: string;
    readonly message: string;
  }[];
}

/** Of one object, the newest first. */
export interface Events {
  readonly truncated: boolean;
  readonly items: readonly {
    readonly type?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly count: number;
    readonly lastTime?: string;
  }[];
}

export interface Incarnations {
  readonly items: readonly { readonly metadata: Metadata }[];
}

export interface Column {
  readonly name: string;
  readonly description: string;
}

export interface Table {
  readonly columnDefinitions: readonly Column[];
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: { readonly metadata: Metadata } }[];
  readonly metadata: { readonly continue?: string };
}

export interface Aggregate {
  readonly items: readonly {
    readonly group: Readonly<Record<string, string | null>>;
    readonly count: number;
    readonly max?: Readonly<Record<string, string | null>>;
  }[];
}

const PREFIX = 'stored.michelangelo.api/';

export function mark(metadata: Metadata, name: 'update-time' | 'evict-time' | 'delete-time'): string | undefined {
  return metadata.annotations?.[`${PREFIX}${name}`];
}

export function stateOf({ annotations = {} }: Metadata): State {
  return states.find((state) => state === annotations[`${PREFIX}state`]) ?? 'live';
}

/** `PIPELINE_RUN_STATE_FAILED` as `Failed`; undefined for what is no name of a state or type. */
export function enumWord(value: string): string | undefined {
  const word = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:STATE|TYPE|STAGE)_([A-Z0-9_]+)$/.exec(value)?.[1];
  return word === undefined ? undefined : `${word.charAt(0)}${word.slice(1).toLowerCase().replaceAll('_', ' ')}`;
}

export type Tone = 'good' | 'bad' | 'busy' | 'quiet';

/** What the state of a run or step means to its reader. */
export function toneOf(value: string): Tone {
  if (/_(SUCCEEDED|READY|SERVING|HEALTHY|COMPLETE|COMPLETED)$/.test(value)) return 'good';
  if (/_(FAILED|ERROR|UNHEALTHY)$/.test(value)) return 'bad';
  return /_(RUNNING|PENDING|CREATING|DELETING|INITIALIZING|BUILDING)$/.test(value) ? 'busy' : 'quiet';
}
