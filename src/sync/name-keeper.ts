// Writes down under which names objects leave, for admission to read (src/gitops/remembered-names.ts). An object leaves
// only after its name was written, so that nobody is faster; but where it cannot be written the object leaves all the
// same: a guard against accidents must not hold what somebody deleted.
import type { KindDefinition } from '../api/kind.ts';
import type { KubernetesObject } from '../api/object.ts';
import { isAborted } from '../base/abort.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { isJsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import {
  NAMES_CONFIG_MAP,
  type NameBook,
  type RememberedName,
  remember,
  versionsOf,
} from '../gitops/remembered-names.ts';
import type { ObjectName } from '../gitops/tombstone.ts';
import type { KubeClient, ObjectRef } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import { configMaps } from './drain-marker.ts';

export interface NameKeeperOptions {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly storage: Pick<MetadataStorage, 'tombstones'>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told how many names could not be written. */
  readonly onLost: (names: number) => void;
}

type Departed = ObjectName & { readonly record: RememberedName };

interface Waiting extends Departed {
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

export class NameKeeper {
  readonly #options: NameKeeperOptions;
  readonly #ref: ObjectRef;
  #waiting: Waiting[] = [];
  #complained = false;

  constructor(options: NameKeeperOptions) {
    this.#options = options;
    this.#ref = { resource: configMaps, namespace: options.namespace, name: NAMES_CONFIG_MAP };
  }

  /** Resolves when the name is written, or when it could not be; never rejects. */
  remember(kind: KindDefinition, object: KubernetesObject, end: RememberedName['end']): Promise<void> {
    const { namespace, name, uid } = object.metadata;
    const record = { uid, end, versions: versionsOf(kind, object) };
    return new Promise((resolve) => {
      this.#waiting.push({ kind: kind.kind, namespace, name, record, written: resolve });
      if (this.#waiting.length === 1) this.#options.clock.schedule(GATHER_MS, () => void this.#flush());
    });
  }

  /** Once in the life of the ConfigMap: the objects that were evicted before anybody wrote names down. */
  async fill(kinds: readonly KindDefinition[], signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      try {
        if ((await this.#read()).data[FILLED] !== undefined) return;
        let count = 0;
        for (const kind of kinds) count += await this.#fillKind(kind, signal);
        // What was broken off is begun anew: writing a name twice changes nothing.
        if (isAborted(signal)) return;
        await this.#options.client.mergePatch(this.#ref, { data: { [FILLED]: clock.now().toISOString() } });
        logger.info({ count }, 'The names of evicted objects are written down');
        return;
      } catch (error) {
        logger.warn({ err: error }, 'The names of evicted objects could not be written down; trying again');
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
      await this.#write(page.map(({ namespace, name, uid }) => departed(kind, { namespace, name, uid })));
      count += page.length;
      if (page.length < PAGE || count >= MOST_FROM_STORAGE) return count;
      after = { namespace: last.namespace, name: last.name };
    }
  }

  async #flush(): Promise<void> {
    const { logger, onLost } = this.#options;
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      await this.#write(batch);
      this.#complained = false;
    } catch (error) {
      onLost(batch.length);
      logger[this.#complained ? 'debug' : 'warn'](
        { err: error, configMap: NAMES_CONFIG_MAP },
        'Names of objects that left could not be written down; admission will not know them',
      );
      this.#complained = true;
    }
    for (const { written } of batch) written();
  }

  /** Reads and writes, so that several replicas may do it. */
  async #write(names: readonly Departed[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const { data, resourceVersion } = await this.#read();
      const changes = remember(data, names);
      if (Object.keys(changes).length === 0) return;
      try {
        await this.#options.client.mergePatch(this.#ref, { metadata: { resourceVersion }, data: changes });
        return;
      } catch (error) {
        if (!isKubeError(error, 'Conflict') || attempt === CONFLICTS) throw error;
      }
    }
  }

  async #read(): Promise<{ readonly data: NameBook; readonly resourceVersion: string }> {
    const { metadata, ...found } = await this.#options.client.get(this.#ref);
    const data: unknown = found['data'];
    return { data: isJsonObject(data) ? (data as NameBook) : {}, resourceVersion: metadata.resourceVersion };
  }
}

function departed(kind: KindDefinition, found: { namespace: string; name: string; uid: string }): Departed {
  const { namespace, name, uid } = found;
  return { kind: kind.kind, namespace, name, record: { uid, end: 'evicted', versions: [] } };
}
