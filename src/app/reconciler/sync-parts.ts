// What the flows of all kinds share: the operators' decisions, the outage policy, the list of failing objects; and what each
// kind has of its own.
import type { KindDefinition } from '../../api/kind.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Configuration } from '../../config/schema.ts';
import { crdName } from '../../kinds/kind-names.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { EventRecorder } from '../../runtime/event-recorder.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';
import type { SensitiveValues } from '../../storage/sensitive.ts';
import { ChosenObjects } from '../../sync/eviction/eviction-scan.ts';
import { ControlState, controlRef } from '../../sync/flows/control-state.ts';
import { DefinitionCheck } from '../../sync/flows/definition-check.ts';
import { DeletionBreaker, LEAST_FOR_PERCENT } from '../../sync/flows/deletion-breaker.ts';
import { EvictionPace } from '../../sync/flows/eviction-pace.ts';
import { FailingObjects } from '../../sync/flows/failing-objects.ts';
import type { FlowOptions } from '../../sync/flows/flow.ts';
import { IncompleteProtos } from '../../sync/flows/incomplete-protos.ts';
import { Spool, type SpoolCount } from '../../sync/flows/spool.ts';
import { SpoolingPolicy, type StorageAway } from '../../sync/flows/spooling-policy.ts';
import { TombstoneWriter } from '../../sync/flows/tombstone-writer.ts';
import { partOf, type Share } from '../../sync/share.ts';
import { createRecordEvent } from '../event-recorder.ts';
import { everyKind } from '../kinds.ts';

interface SyncPartsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configuration: Configuration;
  readonly metrics: Metrics;
  readonly sensitive: SensitiveValues;
  readonly events: Pick<EventRecorder, 'record'>;
  /** Undefined while MySQL answers. */
  readonly away: () => StorageAway | undefined;
  readonly storage: Pick<MetadataStorage, 'tombstones'>;
}

export interface SyncParts {
  /** Undefined unless tombstones are kept. */
  readonly tombstones: TombstoneWriter | undefined;
  readonly control: ControlState;
  readonly failingObjects: FailingObjects;
  readonly incompleteProtos: IncompleteProtos;
  readonly spool: Spool | undefined;
  readonly spooled: () => SpoolCount;
  /** Options of the flows of a kind; `total` counts its objects in the API server. */
  readonly ofKind: (kind: KindDefinition, total: () => number, share?: Share) => KindFlows;
}

export interface KindFlows {
  readonly chosen: ChosenObjects;
  readonly options: Omit<
    FlowOptions,
    'kind' | 'resource' | 'client' | 'storage' | 'encode' | 'sensitive' | 'clock' | 'logger'
  >;
}

export function createSyncParts(options: SyncPartsOptions): SyncParts {
  const { client, clock, logger, configuration, metrics } = options;
  const control = new ControlState({
    ...{ client, clock, logger, ref: controlRef(configuration.kubernetes.namespace) },
    onBreaker: (kind, open) => metrics.sync.breakerOpen(kind, open),
  });
  const tombstones = createTombstoneWriter(options);
  const incompleteProtos = new IncompleteProtos();
  let spooled: SpoolCount = { waiting: 0, aside: 0 };
  const spool = createSpool(options, (count) => {
    spooled = count;
    metrics.sync.spooled(count);
  });
  return {
    control,
    tombstones,
    incompleteProtos,
    failingObjects: new FailingObjects(clock, (kind, code) => metrics.sync.failed(kind, code)),
    spool,
    spooled: () => spooled,
    ofKind: (kind, total, share) => flowsOf(kind, { ...options, control, tombstones, spool, total, share }),
  };
}

function createTombstoneWriter({
  client,
  storage,
  clock,
  logger,
  configuration,
  metrics,
}: SyncPartsOptions): TombstoneWriter | undefined {
  if (!configuration.tombstones.enabled) return undefined;
  return new TombstoneWriter({
    client,
    storage,
    namespace: configuration.kubernetes.namespace,
    clock,
    logger,
    onLost: (count) => metrics.sync.tombstonesLost(count),
  });
}

function createSpool(
  { configuration, logger, sensitive }: SyncPartsOptions,
  onCount: (count: SpoolCount) => void,
): Spool | undefined {
  const { policy, spoolDirectory, spoolMaxMebibytes } = configuration.outage;
  if (policy === 'wait' && spoolDirectory === '') return undefined;
  const maxBytes = spoolMaxMebibytes * 1024 * 1024;
  const kinds = everyKind();
  return new Spool({ directory: spoolDirectory, kinds, maxBytes, sensitive, logger, onCount });
}

function flowsOf(
  kind: KindDefinition,
  parts: SyncPartsOptions & {
    readonly control: ControlState;
    readonly tombstones: TombstoneWriter | undefined;
    readonly spool: Spool | undefined;
    readonly total: () => number;
    readonly share: Share | undefined;
  },
): KindFlows {
  const { client, clock, logger, metrics, events, control, tombstones, spool, total, away, share } = parts;
  const { ingester, eviction, deletionBreaker, outage } = parts.configuration;
  const chosen = new ChosenObjects();
  const limits = {
    get deletionsPerMinute() {
      return partOf(deletionBreaker.perMinute, share);
    },
    deletionsPercent: deletionBreaker.percent,
    get leastForPercent() {
      return partOf(LEAST_FOR_PERCENT, share);
    },
  };
  const pace = {
    get perSecond() {
      return partOf(eviction.perSecond, share);
    },
    paused: (): boolean => control.evictionPaused,
    clock,
  };
  const breaks = deletionBreaker.perMinute > 0 || deletionBreaker.percent > 0;
  return {
    chosen,
    options: {
      evictImmutableKinds: ingester.evictImmutableKinds,
      deletionDelayMs: ingester.deletionDelayMap[kind.kind] ?? ingester.deletionDelay,
      pruneArchived: eviction.pruneArchived,
      chosenBy: (object) => chosen.ruleFor(object),
      isWithdrawn: (object) => chosen.isWithdrawn(object),
      pace: new EvictionPace(pace),
      definitions: new DefinitionCheck({ client, definition: crdName(kind), logger }),
      recordEvent: createRecordEvent(kind, { metrics: metrics.sync, events }),
      ...(tombstones === undefined ? {} : { tombstones }),
      ...(breaks ? { breaker: new DeletionBreaker({ kind: kind.kind, limits, total, state: control, clock }) } : {}),
      ...(spool !== undefined && outage.policy === 'remove-finalizer'
        ? { outage: new SpoolingPolicy({ spool, afterMs: outage.removeFinalizerAfter, away, clock }) }
        : {}),
    },
  };
}
