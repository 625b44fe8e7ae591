// The one source of stored kinds: only the configuration knows the names of their tables.
import type { KindDefinition } from '../api/kind.ts';
import { GROUP, VERSION } from '../api/names.ts';
import type { Configuration } from '../config/schema.ts';
import { kindsNamed, kindsUnder } from '../kinds/kinds.ts';
import type { Resource } from '../kube/client.ts';
import type { KindInCluster } from '../sync/startup/mark-missed-deletes.ts';

/** The kinds the configuration names, under the names that their tables have. */
export function kindsOf({ ingester, metadataStorage }: KindSettings): readonly KindDefinition[] {
  return kindsNamed(ingester.kinds, metadataStorage.tableNames);
}

type KindSettings = Pick<Configuration, 'ingester' | 'metadataStorage'>;

/** Every kind there is, whether or not it is ingested now: what was stored or guarded before is still there. */
export function everyKind({ metadataStorage }: Pick<Configuration, 'metadataStorage'>): readonly KindDefinition[] {
  return kindsUnder(metadataStorage.tableNames);
}

/** A kind that was asked for by its name. */
export function kindNamed(configuration: Configuration, name: string): KindDefinition | undefined {
  return everyKind(configuration).find(({ kind }) => kind === name);
}

export function resourceOf(kind: KindDefinition): Resource {
  return { group: GROUP, version: VERSION, plural: kind.plural };
}

/** For flows that compare all kinds with the cluster. */
export function inCluster(kinds: readonly KindDefinition[]): readonly KindInCluster[] {
  return kinds.map((kind) => ({ kind, resource: resourceOf(kind) }));
}
