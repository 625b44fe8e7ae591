import type { KindDefinition } from '../api/kind.ts';
import { kindsNamed } from '../api/kinds.ts';
import { GROUP, VERSION } from '../api/names.ts';
import type { Configuration } from '../config/schema.ts';
import type { Resource } from '../kube/client.ts';

/** The kinds the configuration names, under the names that their tables have. */
export function kindsOf({ ingester, metadataStorage }: Configuration): readonly KindDefinition[] {
  return kindsNamed(ingester.kinds, metadataStorage.tableNames);
}

export function resourceOf(kind: KindDefinition): Resource {
  return { group: GROUP, version: VERSION, plural: kind.plural };
}
