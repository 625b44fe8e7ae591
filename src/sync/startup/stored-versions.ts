// What MySQL holds already of the objects that a first list shows. They are asked for some hundreds at a time, before the
// objects are handed on: so nothing has to be known of the whole table, however large it is, and nothing of an object is
// parsed that is stored as it is.
import type { KindDefinition } from '../../api/kind.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { KnownObject } from '../../kube/watched-object.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';

/** After so many failures in a row it is not asked any more: to write what is stored already costs time, and is right too. */
const MOST_FAILURES = 3;

export class StoredVersions {
  readonly #kind: KindDefinition;
  readonly #storage: Pick<MetadataStorage, 'identities'>;
  readonly #logger: Logger;
  #isEmpty: boolean | undefined;
  #failures = 0;
  /** resourceVersion of live rows of the objects that are being handed on, by uid. */
  #versions: ReadonlyMap<string, string> = new Map();

  constructor(kind: KindDefinition, storage: Pick<MetadataStorage, 'identities'>, logger: Logger) {
    this.#kind = kind;
    this.#storage = storage;
    this.#logger = logger;
  }

  /** Reads the rows of these objects. Never fails: where they cannot be read, no object counts as stored. */
  async look(objects: readonly KnownObject[]): Promise<void> {
    this.#versions = new Map();
    if (this.#failures >= MOST_FAILURES || objects.length === 0) return;
    try {
      this.#isEmpty ??= await this.#findsNothing();
      if (this.#isEmpty) return;
      const uids = objects.map(({ identity }) => identity.uid);
      const rows = await this.#storage.identities(this.#kind, { states: ['live'], uids, limit: uids.length });
      // A row that the original has written since is written again.
      const ours = rows.filter(({ foreign }) => foreign !== true);
      this.#versions = new Map(ours.map(({ uid, resourceVersion }) => [uid, resourceVersion]));
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      this.#logger.warn(
        { attempt: this.#failures, problem: messageOf(error) },
        'Could not read what MySQL holds already; storing what is listed',
      );
    }
  }

  async #findsNothing(): Promise<boolean> {
    const { kind, table } = this.#kind;
    const [any] = await this.#storage.identities(this.#kind, { states: ['live'], limit: 1 });
    if (any !== undefined) return false;
    this.#logger.warn({ table }, `MySQL has no ${kind} and the cluster has some: storing all of them`);
    return true;
  }

  /** Whether MySQL held the object as live and in exactly this state when it was last looked for. */
  has({ identity: { uid, resourceVersion } }: KnownObject): boolean {
    return this.#versions.get(uid) === resourceVersion;
  }
}
