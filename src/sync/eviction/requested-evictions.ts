import type { KindDefinition } from '../../api/kind.ts';
import { objectKey } from '../../api/object.ts';
import type { IdentityStore } from '../../kube/store.ts';
import type { MetadataStorage, StoredIdentity } from '../../storage/metadata-storage.ts';
import type { Coverage } from '../startup/coverage.ts';
import { rowsInCluster } from '../startup/difference.ts';

export interface RequestedOptions {
  readonly kind: KindDefinition;
  readonly storage: MetadataStorage;
  readonly store: Pick<IdentityStore, 'identity'>;
  readonly coverage: Pick<Coverage, 'isPlain'>;
}

/**
 * The evictions under way of objects that are as they were when that was requested and carry no mark, so that only a rule,
 * or a setting, can have asked.
 */
export async function requestedEvictions(options: RequestedOptions): Promise<readonly StoredIdentity[]> {
  const { kind, storage, store, coverage } = options;
  const found: StoredIdentity[] = [];
  for await (const page of rowsInCluster(storage, kind, ['evicting'])) {
    for (const row of page) {
      const key = objectKey({ metadata: row });
      const seen = store.identity(key);
      const isSame = seen?.uid === row.uid && seen.resourceVersion === row.resourceVersion;
      if (isSame && coverage.isPlain(key)) found.push(row);
    }
  }
  return found;
}
