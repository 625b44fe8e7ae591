import type { KindDefinition } from '../api/kind.ts';
import type { MetadataStorage, StoredIdentity } from '../storage/metadata-storage.ts';
import type { RowState } from '../storage/row.ts';

const PAGE = 5000;

/** Rows of the objects that should be in the API server, or those of them in some states; in pages, ordered by uid. */
export async function* rowsInCluster(
  storage: MetadataStorage,
  kind: KindDefinition,
  states: readonly RowState[] = ['live', 'evicting'],
): AsyncGenerator<readonly StoredIdentity[]> {
  let afterUid: string | undefined;
  for (;;) {
    const more = afterUid === undefined ? {} : { afterUid };
    const page = await storage.identities(kind, { states, limit: PAGE, ...more });
    if (page.length > 0) yield page;
    afterUid = page.at(-1)?.uid;
    if (page.length < PAGE) return;
  }
}
