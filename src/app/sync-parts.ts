// What the flows of all kinds share: decisions of people, the outage policy, the list of troubles; and what each kind has
// of its own.
import type { KindDefinition } from '../api/kind.ts';
import { crdName } from '../api/kind-names.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Configuration } from '../config/schema.ts';
import type { KubeClient } from '../kube/client.ts';
import type { EventRecorder } from '../runtime/event-recorder.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import type { SensitiveValues } from '../storage/sensitive.ts';
import { ControlState, controlRef } from '../sync/control-state.ts';
import { DefinitionGuard } from '../sync/definition-guard.ts';
import { DeletionBreaker } from '../sync/deletion-breaker.ts';
import { lenientEncoder } from '../sync/encode.ts';
import { EvictionPace } from '../sync/eviction-pace.ts';
import { ChosenObjects } from '../sync/eviction-scan.ts';
import type { FlowOptions } from '../sync/flow.ts';
import { NameKeeper } from '../sync/name-keeper.ts';
import { Spool, type SpoolCount } from '../sync/spool.ts';
import { SpoolingRelease, type StorageAway } from '../sync/spooling-release.ts';
import { Troubles } from '../sync/troubles.ts';
import { everyKind } from './kinds.ts';
import { createWitness } from './witness.ts';

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
  /** Undefined unless names are remembered. */
  readonly names: NameKeeper | undefined;
  readonly control: ControlState;
  readonly troubles: Troubles;
  readonly spool: Spool | undefined;
  readonly spooled: () => SpoolCount;
  /** Options of the flows of a kind; `total` counts its objects in the API server. */
  readonly ofKind: (kind: KindDefinition, total: () => number) => KindFlows;
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
    ...{ client, clock, logger, ref: controlRef(configuration.control.namespace) },
    onBreaker: (kind, open) => metrics.sync.breakerOpen(kind, open),
  });
  const names = createNameKeeper(options);
  let spooled: SpoolCount = { waiting: 0, aside: 0 };
  const spool = createSpool(options, (count) => {
    spooled = count;
    metrics.sync.spooled(count);
  });
  return {
    control,
    names,
    troubles: new Troubles(clock, (kind, code) => metrics.sync.failed(kind, code)),
    spool,
    spooled: () => spooled,
    ofKind: (kind, total) => flowsOf(kind, { ...options, control, names, spool, total }),
  };
}

function createNameKeeper({
  client,
  storage,
  clock,
  logger,
  configuration,
  metrics,
}: SyncPartsOptions): NameKeeper | undefined {
  const { enabled, namespace } = configuration.rememberedNames;
  if (!enabled) return undefined;
  return new NameKeeper({
    client,
    storage,
    namespace,
    clock,
    logger,
    onLost: (count) => metrics.sync.namesLost(count),
  });
}

function createSpool(
  { configuration, logger, sensitive }: SyncPartsOptions,
  onCount: (count: SpoolCount) => void,
): Spool | undefined {
  const { policy, spoolDirectory, spoolMaxMebibytes } = configuration.outage;
  if (policy === 'wait' && spoolDirectory === '') return undefined;
  const maxBytes = spoolMaxMebibytes * 1024 * 1024;
  const kinds = everyKind(configuration);
  return new Spool({ directory: spoolDirectory, kinds, maxBytes, sensitive, logger, onCount });
}

function flowsOf(
  kind: KindDefinition,
  parts: SyncPartsOptions & {
    readonly control: ControlState;
    readonly names: NameKeeper | undefined;
    readonly spool: Spool | undefined;
    readonly total: () => number;
  },
): KindFlows {
  const { client, clock, logger, metrics, events, control, names, spool, total, away } = parts;
  const { ingester, eviction, deletionBreaker, outage } = parts.configuration;
  const chosen = new ChosenObjects();
  const limits = { deletionsPerMinute: deletionBreaker.perMinute, deletionsPercent: deletionBreaker.percent };
  const breaks = deletionBreaker.perMinute > 0 || deletionBreaker.percent > 0;
  const paused = (): boolean => eviction.paused || control.evictionPaused;
  return {
    chosen,
    options: {
      evictImmutableKinds: ingester.evictImmutableKinds,
      deletionDelayMs: ingester.deletionDelayMap[kind.kind] ?? ingester.deletionDelay,
      pruneArchived: eviction.pruneArchived,
      chosenBy: (object) => chosen.ruleFor(object),
      isWithdrawn: (object) => chosen.isWithdrawn(object),
      pace: new EvictionPace({ perSecond: eviction.perSecond, paused, clock }),
      definitions: new DefinitionGuard({ client, definition: crdName(kind), logger }),
      witness: createWitness(kind, { metrics: metrics.sync, events }),
      ...(names === undefined ? {} : { names }),
      ...(breaks ? { breaker: new DeletionBreaker({ kind: kind.kind, limits, total, state: control, clock }) } : {}),
      ...(spool !== undefined && outage.policy === 'release'
        ? { outage: new SpoolingRelease({ spool, afterMs: outage.releaseAfter, away }) }
        : {}),
    },
  };
}

const REPLAY_MS = 5000;

/** Brings what was released without MySQL into MySQL, whenever it answers. */
export async function replaySpool(
  spool: Spool,
  parts: {
    readonly storage: MetadataStorage;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly away: () => StorageAway | undefined;
  },
  signal: AbortSignal,
): Promise<void> {
  const { storage, clock, logger, away } = parts;
  const encode = lenientEncoder(logger);
  while (!signal.aborted) {
    if (away() === undefined) {
      try {
        const count = await spool.replay(storage, encode);
        if (count > 0) logger.info({ count }, 'Final states that were kept on disk are in MySQL');
      } catch (error) {
        logger.warn({ err: error }, 'The spool could not be written to MySQL; trying again');
      }
    }
    await sleep(clock, REPLAY_MS, signal);
  }
}
