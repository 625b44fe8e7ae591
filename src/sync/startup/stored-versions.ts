// What MySQL holds already of the objects that a first list shows: read once before the first of them is handed on, in the order
// of the rows. So nothing of an object is parsed that is stored as it is, and no row is looked for by itself.
import type { KindDefinition } from '../../api/kind.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { KnownObject } from '../../kube/watched-object.ts';
import type { MetadataStorage, StoredIdentity } from '../../storage/metadata-storage.ts';
import { rowsInCluster } from './difference.ts';
import { VersionIndex } from './version-index.ts';

/** After so many failures it is not asked any more: to write what is stored already costs time, and is right too. */
const MOST_FAILURES = 3;

export interface StoredVersionsOptions {
  readonly kind: KindDefinition;
  readonly storage: MetadataStorage;
  /** Objects that this replica works on; all where it is undefined. */
  readonly keeps?: ((object: Pick<StoredIdentity, 'uid'>) => boolean) | undefined;
  readonly logger: Logger;
}

export class StoredVersions {
  readonly #options: StoredVersionsOptions;
  #isDone = false;
  #failures = 0;
  /** resourceVersion of live rows. */
  #versions = new VersionIndex();

  constructor(options: StoredVersionsOptions) {
    this.#options = options;
  }

  /** Reads the rows, once. Never fails: where they cannot be read, no object counts as stored. */
  async load(): Promise<void> {
    if (this.#isDone) return;
    const { kind, logger } = this.#options;
    try {
      const rows = await this.#readAll();
      this.#isDone = true;
      if (rows > 0) return;
      logger.warn({ table: kind.table }, `MySQL has no ${kind.kind} and the cluster has some: storing all of them`);
    } catch (error) {
      this.#failures += 1;
      this.#isDone = this.#failures >= MOST_FAILURES;
      logger.warn(
        { attempt: this.#failures, problem: messageOf(error) },
        'Could not read what MySQL holds already; storing what is listed',
      );
    }
  }

  async #readAll(): Promise<number> {
    const { kind, storage, keeps = () => true } = this.#options;
    const versions = new VersionIndex();
    let rows = 0;
    for await (const page of rowsInCluster(storage, kind, ['live'])) {
      rows += page.length;
      // A row that the original has written since is written again.
      for (const row of page) if (row.foreign !== true && keeps(row)) versions.set(row.uid, row.resourceVersion);
    }
    this.#versions = versions;
    return rows;
  }

  /** Whether MySQL held the object as live and in exactly this state when its rows were read. */
  has({ identity: { uid, resourceVersion } }: KnownObject): boolean {
    return this.#versions.has(uid, resourceVersion);
  }

  /** To be called once the list is complete: later ones bring nothing that MySQL had before. */
  release(): void {
    this.#isDone = true;
    this.#versions = new VersionIndex();
  }
}
