// The configuration file of a pod: from the resource's fields, then its sections, then those of the component.
import type { IngesterSpec, KindsSpec } from '../../api/ingester/spec.ts';
import { isJsonObject, type JsonObject, ownValue } from '../../base/json.ts';
import { asJson, databaseSections } from './pod.ts';

export function configurationOf(spec: IngesterSpec, own: JsonObject, above: JsonObject | undefined): JsonObject {
  return [fromFields(spec), spec.config ?? {}, above ?? {}, own].reduce(mergeSections, {});
}

/** The ConfigMaps and leases that all programs of the bundle share are in the namespace of the resource, whatever its name. */
export function sharedSections(namespace: string): JsonObject {
  return { kubernetes: { namespace } };
}

function fromFields(spec: IngesterSpec): JsonObject {
  const { kinds = {} } = spec;
  const { tableNames, evictionRules } = kinds;
  return asJson({
    metadataStorage: { enableMetadataStorage: true, tableNames },
    ...databaseSections(spec.database),
    ingester: ingesterSection(kinds),
    eviction: { rules: evictionRules },
  });
}

function ingesterSection(kinds: KindsSpec): object {
  return {
    kinds: kinds.names,
    concurrentReconciles: kinds.concurrency,
    concurrentReconcilesMap: kinds.concurrencyByKind,
    requeuePeriod: kinds.requeuePeriod,
    requeuePeriodMap: kinds.requeuePeriodByKind,
    deletionDelay: kinds.deletionDelay,
    deletionDelayMap: kinds.deletionDelayByKind,
    evictImmutableKinds: kinds.evictImmutableKinds,
  };
}

/** Sections are merged key by key; the upper one wins. */
function mergeSections(below: JsonObject, above: JsonObject): JsonObject {
  const replaced = Object.entries(above).map(([section, value]) => {
    const known = ownValue(below, section);
    return [section, isJsonObject(known) && isJsonObject(value) ? { ...known, ...value } : value] as const;
  });
  return { ...below, ...Object.fromEntries(replaced) };
}
