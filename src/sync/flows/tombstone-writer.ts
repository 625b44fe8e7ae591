// Writes a tombstone for each object that leaves, for admission to read (src/gitops/tombstone-index.ts). An object leaves
// only after its tombstone was written, so that no create comes between; but where it cannot be written the object leaves
// all the same: a check against accidents must not hold what a user deleted.
import type { KindDefinition } from '../../api/kind.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { isAborted } from '../../base/abort.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { Complaint } from '../../base/complaint.ts';
import type { Logger } from '../../base/logger.ts';
import type { ObjectName } from '../../gitops/tombstone.ts';
import {
  addTombstones,
  TOMBSTONES_CONFIG_MAP,
  type TombstoneData,
  type TombstoneEntry,
  versionsOf,
} from '../../gitops/tombstone-index.ts';
import type { KubeClient, ObjectRef } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { configMapRef, dataOf } from '../../kube/resources.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';

export interface TombstoneWriterOptions {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly storage: Pick<MetadataStorage, 'tombstones'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told how many tombstones could not be written. */
  readonly onLost: (tombstones: number) => void;
}

type NamedEntry = ObjectName & { readonly entry: TombstoneEntry };

interface Waiting extends NamedEntry {
  readonly written: () => void;
}

/** So long objects gather for one write: the ConfigMap is written whole each time. */
const GATHER_MS = 100;
const CONFLICTS = 5;
const RETRY_MS = 30_000;
const PAGE = 1000;
/** Of each kind when it begins; more would push each other out. */
const MOST_FROM_STORAGE = 10_000;
/** Says in the ConfigMap that what was evicted before is in it. */
const FILLED = 'filled';

export class TombstoneWriter {
  readonly #options: TombstoneWriterOptions;
  readonly #ref: ObjectRef;
  #waiting: Waiting[] = [];
  readonly #complaint: Complaint;

  constructor(options: TombstoneWriterOptions) {
    this.#options = options;
    const message = 'Tombstones of objects that left could not be written; admission will not know their names';
    this.#complaint = new Complaint(options.logger, message);
    this.#ref = configMapRef(options.namespace, TOMBSTONES_CONFIG_MAP);
  }

  /** Resolves when the tombstone is written, or when it could not be; never rejects. */
  add(kind: KindDefinition, object: KubernetesObject, end: TombstoneEntry['end']): Promise<void> {
    const { namespace, name, uid } = object.metadata;
    const entry = { uid, end, versions: versionsOf(kind, object) };
    return new Promise((resolve) => {
      this.#waiting.push({ kind: kind.kind, namespace, name, entry, written: resolve });
      if (this.#waiting.length === 1) this.#options.clock.schedule(GATHER_MS, () => void this.#flush());
    });
  }

  /** Once in the life of the ConfigMap: the objects that were evicted before tombstones were written. */
  async fill(kinds: readonly KindDefinition[], signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      try {
        if ((await this.#read()).data[FILLED] !== undefined) return;
        let count = 0;
        for (const kind of kinds) count += await this.#fillKind(kind, signal);
        // What was broken off is begun anew: writing a tombstone twice changes nothing.
        if (isAborted(signal)) return;
        await this.#options.client.mergePatch(this.#ref, { data: { [FILLED]: clock.now().toISOString() } });
        logger.info({ count }, 'The tombstones of evicted objects are written');
        return;
      } catch (error) {
        logger.warn({ err: error }, 'The tombstones of evicted objects could not be written; trying again');
      }
      await sleep(clock, RETRY_MS, signal);
    }
  }

  async #fillKind(kind: KindDefinition, signal: AbortSignal): Promise<number> {
    const { storage } = this.#options;
    let after: { namespace: string; name: string } | undefined;
    for (let count = 0; ; ) {
      const page = await storage.tombstones(kind, { limit: PAGE, ...(after === undefined ? {} : { after }) });
      const last = page.at(-1);
      if (last === undefined || signal.aborted) return count;
      await this.#write(page.map(({ namespace, name, uid }) => evictedEntry(kind, { namespace, name, uid })));
      count += page.length;
      if (page.length < PAGE || count >= MOST_FROM_STORAGE) return count;
      after = { namespace: last.namespace, name: last.name };
    }
  }

  async #flush(): Promise<void> {
    const { onLost } = this.#options;
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      await this.#write(batch);
      this.#complaint.over();
    } catch (error) {
      onLost(batch.length);
      this.#complaint.say(error, { configMap: TOMBSTONES_CONFIG_MAP });
    }
    for (const { written } of batch) written();
  }

  /** Reads and writes, so that several replicas may do it. */
  async #write(names: readonly NamedEntry[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const { data, resourceVersion } = await this.#read();
      const changes = addTombstones(data, names);
      if (Object.keys(changes).length === 0) return;
      try {
        await this.#options.client.mergePatch(this.#ref, { metadata: { resourceVersion }, data: changes });
        return;
      } catch (error) {
        if (!isKubeError(error, 'Conflict') || attempt === CONFLICTS) throw error;
      }
    }
  }

  async #read(): Promise<{ readonly data: TombstoneData; readonly resourceVersion: string }> {
    const found = await this.#options.client.get(this.#ref);
    return { data: dataOf(found), resourceVersion: found.metadata.resourceVersion };
  }
}

function evictedEntry(kind: KindDefinition, found: { namespace: string; name: string; uid: string }): NamedEntry {
  const { namespace, name, uid } = found;
  return { kind: kind.kind, namespace, name, entry: { uid, end: 'evicted', versions: [] } };
}
