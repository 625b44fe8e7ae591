// The kinds that the configuration names. Which tables they have the database says (src/storage/mysql/schema/table-naming.ts).
import type { KindDefinition } from '../api/kind.ts';
import { GROUP, VERSION } from '../api/names.ts';
import type { Configuration } from '../config/schema.ts';
import { allKinds, findKind, kindsNamed } from '../kinds/kinds.ts';
import type { Resource } from '../kube/client.ts';
import type { KindInCluster } from '../sync/startup/mark-missed-deletes.ts';

export function kindsOf({ ingester }: Pick<Configuration, 'ingester'>): readonly KindDefinition[] {
  return kindsNamed(ingester.kinds, 'lowercase');
}

/** Every kind there is, whether or not it is ingested now: what was stored or guarded before is still there. */
export function everyKind(): readonly KindDefinition[] {
  return allKinds;
}

/** A kind that was asked for by its name. */
export function kindNamed(name: string): KindDefinition | undefined {
  return findKind(name);
}

export function resourceOf(kind: KindDefinition): Resource {
  return { group: GROUP, version: VERSION, plural: kind.plural };
}

/** For flows that compare all kinds with the cluster. */
export function inCluster(kinds: readonly KindDefinition[]): readonly KindInCluster[] {
  return kinds.map((kind) => ({ kind, resource: resourceOf(kind) }));
}
