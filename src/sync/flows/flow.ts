// What every flow of the reconciler works with, and the few steps they share.
import type { KindDefinition } from '../../api/kind.ts';
import { hasFinalizer, type Identity, type KubernetesObject } from '../../api/object.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient, ObjectRef, Resource } from '../../kube/client.ts';
import { done, type ReconcileResult } from '../../runtime/reconcile.ts';
import type { MetadataStorage, WriteOutcome } from '../../storage/metadata-storage.ts';
import type { ObjectRow } from '../../storage/row.ts';
import type { SensitiveValues } from '../../storage/sensitive.ts';
import { StaleStateError } from '../errors.ts';
import type { RecordEvent } from '../events.ts';
import { addFinalizerTo } from '../finalizer.ts';
import { type ProtoEncoder, toRow } from '../row.ts';
import type { DefinitionCheck } from './definition-check.ts';
import type { DeletionBreaker } from './deletion-breaker.ts';
import type { EvictionPace } from './eviction-pace.ts';
import { describeLeftOut, type IncompleteProtos } from './incomplete-protos.ts';
import type { LastStates, LostRaces } from './lost-races.ts';
import type { OutagePolicy } from './outage-policy.ts';
import type { TombstoneWriter } from './tombstone-writer.ts';

export interface FlowOptions {
  readonly kind: KindDefinition;
  readonly resource: Resource;
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly encode: ProtoEncoder;
  /** What becomes of sensitive values; masked where it is missing. */
  readonly sensitive?: SensitiveValues;
  readonly evictImmutableKinds: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long an object that a user deleted stays in etcd after its row has ended; not after an eviction. */
  readonly deletionDelayMs?: number;
  /** What the end of an archived object that GitOps owns means; `archive` unless given. */
  readonly pruneArchived?: 'archive' | 'delete';
  /** Name of the eviction rule that has chosen exactly this state of the object. */
  readonly chosenBy?: (object: KubernetesObject) => string | undefined;
  /** Whether the eviction that was requested of exactly this state is asked for by no rule any more. */
  readonly isWithdrawn?: (object: Identified) => boolean;
  readonly pace?: EvictionPace;
  readonly breaker?: DeletionBreaker;
  readonly definitions?: Pick<DefinitionCheck, 'isBeingRemoved'>;
  /** Missing: deletions wait for MySQL for as long as it takes. */
  readonly outage?: OutagePolicy;
  readonly recordEvent?: RecordEvent;
  readonly incompleteProtos?: Pick<IncompleteProtos, 'note'>;
  /** Told of each final state that is in MySQL, or on disk until MySQL is back, before the finalizer comes off. */
  readonly onFinished?: (state: Identity) => void;
  /** Missing: an object is released only in exactly the state that is stored, however often it is changed. */
  readonly lastStates?: LastStates;
  readonly lostRaces?: LostRaces;
  /** Missing: no tombstone is written for an object that leaves. */
  readonly tombstones?: Pick<TombstoneWriter, 'add'>;
  /** Whether finalizers may be added now; they may unless given. `no` while the bundle is uninstalled. */
  readonly mayAddFinalizer?: () => 'yes' | 'no' | 'unknown';
}

/** As much of an object as says which one it is, and in which state. */
export interface Identified {
  readonly metadata: Identity;
}

/** How often the uninstall marker is asked until its state is known. */
const UNKNOWN_MS = 500;

const STORED_AS_TEXT =
  'A part of the object is nested too deeply, or has too long a key, for a database; it is stored as text. Make it flatter.';

const PROTO_INCOMPLETE = 'The column proto of its row lacks a field, which the column json has:';

export class Flow {
  readonly options: FlowOptions;
  readonly #gateClosing: string | undefined;

  /** To be made before the object is read. */
  constructor(options: FlowOptions) {
    this.options = options;
    this.#gateClosing = options.storage.gateClosing;
  }

  row(object: KubernetesObject): ObjectRow {
    const { kind, encode, sensitive, recordEvent, incompleteProtos } = this.options;
    const row = toRow(kind, object, encode, sensitive);
    if (row.unfit?.includes('json') === true) recordEvent?.(object, 'StoredAsText', STORED_AS_TEXT);
    incompleteProtos?.note(kind.kind, `${row.namespace}/${row.name}`, row.leftOut);
    const [lacks] = row.leftOut ?? [];
    if (lacks !== undefined) recordEvent?.(object, 'ProtoIncomplete', `${PROTO_INCOMPLETE} ${describeLeftOut(lacks)}.`);
    return this.#gateClosing === undefined ? row : { ...row, gateClosing: this.#gateClosing };
  }

  ref({ metadata: { namespace = '', name } }: Identified): ObjectRef {
    return { resource: this.options.resource, namespace, name };
  }

  log({ metadata }: Identified, level: 'debug' | 'info' | 'warn', message: string): void {
    const { namespace, name, uid, resourceVersion } = metadata;
    this.options.logger[level]({ namespace, name, uid, resourceVersion }, message);
  }

  /**
   * An object that slipped past admission gets its finalizer before anything irreversible; the rest is done then. Gives
   * what to do now, undefined where the object is guarded. While the bundle is uninstalled nothing is guarded, so it is only
   * copied: no reconciler would be left to take the finalizer off.
   */
  async addFinalizerFirst(object: KubernetesObject): Promise<ReconcileResult | undefined> {
    if (hasFinalizer(object)) return undefined;
    const { mayAddFinalizer, storage, recordEvent } = this.options;
    switch (mayAddFinalizer?.() ?? 'yes') {
      case 'unknown':
        return { kind: 'requeue-after', delayMs: UNKNOWN_MS };
      case 'no':
        await storage.upsert(this.row(object));
        return done;
      case 'yes':
        await addFinalizerTo(this.options, object);
        this.log(object, 'info', 'Finalizer added to an object that was created without it');
        recordEvent?.(object, 'FinalizerAdded', 'The finalizer was added.');
        return done;
    }
  }
}

/** A delete with these deletes exactly the state at hand, or nothing. */
export function preconditions({ metadata }: KubernetesObject): {
  readonly uid: string;
  readonly resourceVersion: string;
} {
  return { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
}

export function refuseStale(outcome: WriteOutcome, object: KubernetesObject): void {
  if (outcome === 'stale') throw new StaleStateError(object.metadata.resourceVersion);
}
