// Start by difference: what MySQL holds is compared with what the API server listed, by uid and resourceVersion. Objects
// that are stored as they are cost nothing; rows whose objects are gone are candidates for a missed deletion.

import type { KindDefinition } from '../../api/kind.ts';
import type { Identity } from '../../api/object.ts';
import type { Logger } from '../../base/logger.ts';
import type { KnownObject } from '../../kube/watched-object.ts';
import type { MetadataStorage, StoredIdentity } from '../../storage/metadata-storage.ts';
import type { RowState } from '../../storage/row.ts';
import {
  confirmMissedDeletes,
  isAdopted,
  judgeMissing,
  type MissedDeletesContext,
  type MissedDeletesLimits,
  markMissedDeletes,
} from './mark-missed-deletes.ts';

export interface DifferenceOptions extends MissedDeletesContext {
  /** Identities of the objects the API server listed; only complete once its list is. */
  readonly listed: () => Iterable<Identity>;
  /** Whether a copy is all the object needs. */
  readonly isPlain: (key: string) => boolean;
  readonly limits: MissedDeletesLimits;
  readonly logger: Logger;
}

export class Difference {
  readonly #options: DifferenceOptions;
  /** resourceVersion of live rows, by uid. */
  #stored = new Map<string, string>();
  #missing: StoredIdentity[] = [];
  #rows = 0;

  constructor(options: DifferenceOptions) {
    this.#options = options;
  }

  /** To be called once the list is complete. Answers what it compared. */
  async load(): Promise<{ readonly objects: number; readonly rows: number; readonly missing: number }> {
    const { storage, kind, listed } = this.#options;
    const uids = new Set<string>();
    for (const { uid } of listed()) uids.add(uid);
    const stored = new Map<string, string>();
    const missing: StoredIdentity[] = [];
    let rows = 0;
    for await (const page of rowsInCluster(storage, kind)) {
      rows += page.length;
      for (const row of page) {
        if (!uids.has(row.uid)) missing.push(row);
        else if (row.state === 'live') stored.set(row.uid, row.resourceVersion);
      }
    }
    if (rows === 0 && uids.size > 0) {
      const message = `MySQL has no ${kind.kind} and the cluster has ${uids.size}: storing all of them`;
      this.#options.logger.warn({ objects: uids.size }, message);
    }
    this.#stored = stored;
    this.#missing = missing;
    this.#rows = rows;
    return { objects: uids.size, rows, missing: missing.length };
  }

  /** Whether MySQL held exactly this state of a live, guarded object when `load` looked. */
  isUnchanged({ key, identity: { uid, resourceVersion } }: KnownObject): boolean {
    return this.#stored.get(uid) === resourceVersion && this.#options.isPlain(key);
  }

  /** Lets the memory go. From now on nothing is unchanged. */
  forget(): void {
    this.#stored = new Map();
  }

  /** Marks rows whose objects were deleted while no replica watched, and counts them. Throws where it cannot tell. */
  async repairMissedDeletes(): Promise<number> {
    const { logger } = this.#options;
    const missing = this.#missing;
    this.#missing = [];
    const candidates = missing.length === 0 ? [] : await this.#credible(missing);
    if (candidates.length === 0) return 0;
    const missed = await confirmMissedDeletes(this.#options, candidates);
    const counts = { rows: this.#rows, missed: missed.length };
    const marked = await markMissedDeletes(this.#options, missed, 'missing from the API server at the start');
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
