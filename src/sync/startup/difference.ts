// The rows of MySQL that have no object: once the first list is complete they are candidates for a missed deletion.

import type { KindDefinition } from '../../api/kind.ts';
import { type Identity, objectKey } from '../../api/object.ts';
import type { Logger } from '../../base/logger.ts';
import type { IdentityStore } from '../../kube/store.ts';
import type { MetadataStorage, StoredIdentity } from '../../storage/metadata-storage.ts';
import type { RowState } from '../../storage/row.ts';
import {
  type Comparison,
  confirmMissedDeletes,
  isAdopted,
  judgeMissing,
  type MissedDeletesLimits,
  markMissedDeletes,
} from './mark-missed-deletes.ts';

export interface DifferenceOptions extends Comparison {
  /** The objects that the API server listed; only complete once its list is. */
  readonly listed: Pick<IdentityStore, 'size' | 'identity' | 'identities'>;
  readonly limits: MissedDeletesLimits;
  /** Only rows of these objects are compared; others are listed by the replica whose they are. */
  readonly keeps?: ((object: Pick<StoredIdentity, 'uid'>) => boolean) | undefined;
  readonly logger: Logger;
}

export class Difference {
  readonly #options: DifferenceOptions;
  #missing: StoredIdentity[] = [];
  #rows = 0;

  constructor(options: DifferenceOptions) {
    this.#options = options;
  }

  /** To be called once the list is complete. Answers what it compared. */
  async load(): Promise<{ readonly objects: number; readonly rows: number; readonly missing: number }> {
    const { storage, kind, listed, keeps = () => true } = this.#options;
    const unseen: StoredIdentity[] = [];
    let rows = 0;
    for await (const page of rowsInCluster(storage, kind)) {
      const own = page.filter(keeps);
      rows += own.length;
      for (const row of own) if (listed.identity(objectKey({ metadata: row }))?.uid !== row.uid) unseen.push(row);
    }
    const missing = uidsNotIn(listed.identities(), unseen);
    this.#missing = unseen.filter(({ uid }) => missing.has(uid));
    this.#rows = rows;
    return { objects: listed.size, rows, missing: this.#missing.length };
  }

  /** Marks rows whose objects were deleted while no replica watched, and counts them. Throws where it cannot tell. */
  async repairMissedDeletes(): Promise<number> {
    const { logger, storageWentBackAt } = this.#options;
    const missing = this.#missing;
    this.#missing = [];
    const candidates = missing.length === 0 ? [] : await this.#credible(missing);
    if (candidates.length === 0) return 0;
    const missed = await confirmMissedDeletes(this.#options, candidates);
    const counts = { rows: this.#rows, missed: missed.length };
    const wentBackAt = await storageWentBackAt();
    const reason = 'missing from the API server at the start';
    const marked = await markMissedDeletes(this.#options, missed, reason, wentBackAt);
    if (marked > 0) logger.warn({ ...counts, marked }, 'Rows of objects that left unseen are ended');
    return marked;
  }

  async #credible(missing: readonly StoredIdentity[]): Promise<readonly StoredIdentity[]> {
    const { limits, logger, kind } = this.#options;
    const belief = await judgeMissing(this.#options, { rows: this.#rows, missing }, limits);
    if (belief.expected !== 'mark') {
      logger.error(
        { rows: this.#rows, missed: missing.length, verdict: belief.expected },
        `MySQL has ${kind.kind} objects that this cluster does not, too many to believe that they were deleted; ` +
          'their rows stay as they are. Check that cluster and database belong together, then run: ingester audit',
      );
      return [];
    }
    if (belief.adopted === 'mark') return missing;
    const expected = missing.filter((row) => !isAdopted(row));
    if (expected.length < missing.length) {
      logger.warn(
        { kind: kind.kind, rows: missing.length - expected.length },
        'Archives of the original stay evicting: nothing shows that this is their cluster; see docs/audit.md',
      );
    }
    return expected;
  }
}

/** A row may have another name than its object. All uids at once would take as much memory as what is known of the objects. */
function uidsNotIn(listed: Iterable<Identity>, rows: readonly StoredIdentity[]): ReadonlySet<string> {
  const uids = new Set(rows.map(({ uid }) => uid));
  if (uids.size > 0) for (const { uid } of listed) uids.delete(uid);
  return uids;
}

const PAGE = 5000;

/** Rows of the objects that should be in the API server, or those of them in some states; in pages, ordered by key. */
export async function* rowsInCluster(
  storage: MetadataStorage,
  kind: KindDefinition,
  states: readonly RowState[] = ['live', 'evicting'],
): AsyncGenerator<readonly StoredIdentity[]> {
  let afterKey: string | undefined;
  for (;;) {
    const more = afterKey === undefined ? {} : { afterKey };
    const page = await storage.identities(kind, { states, limit: PAGE, ...more });
    if (page.length > 0) yield page;
    const last = page.at(-1);
    afterKey = last?.key ?? last?.uid;
    if (page.length < PAGE) return;
  }
}
