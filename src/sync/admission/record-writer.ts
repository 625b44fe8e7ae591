// Writes into the admission record what the kinds are while they are there: the last CRD of each, and whether MySQL has
// rows.
import { ADMISSION_RECORD_CONFIG_MAP, crdEntry, type RecordData, rowsEntry } from '../../api/admission-record.ts';
import type { KindDefinition } from '../../api/kind.ts';
import { type Clock, repeat } from '../../base/clock.ts';
import { Complaint } from '../../base/complaint.ts';
import { isJsonObject } from '../../base/json.ts';
import type { Logger } from '../../base/logger.ts';
import { crdName } from '../../kinds/kind-names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { configMapRef, definitions } from '../../kube/resources.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';

export interface RecordedKind {
  readonly kind: KindDefinition;
  /** Objects in the API server, as far as they are known. */
  readonly objects: () => number;
}

export interface RecordWriterOptions {
  readonly client: Pick<KubeClient, 'list' | 'mergePatch'>;
  readonly storage: Pick<MetadataStorage, 'list'>;
  readonly namespace: string;
  readonly kinds: readonly RecordedKind[];
  readonly clock: Clock;
  readonly logger: Logger;
}

const PERIOD_MS = 10_000;
/** After so many rounds everything is written again, in case a user has emptied the ConfigMap. */
const FORGET_AFTER = 30;

/** Until the signal. Only one process at a time may run it. */
export async function runRecordWriter(options: RecordWriterOptions, signal: AbortSignal): Promise<void> {
  const { clock } = options;
  let writer = new RecordWriter(options);
  let rounds = 0;
  await repeat({ clock, periodMs: PERIOD_MS, signal }, async () => {
    await writer.write(signal);
    rounds += 1;
    if (rounds % FORGET_AFTER === 0) writer = new RecordWriter(options);
  });
}

export class RecordWriter {
  readonly #options: RecordWriterOptions;
  /** What the ConfigMap has, as far as it was written from here. */
  #written: RecordData = {};
  /** uid and generation of each CRD that was written. */
  readonly #seen = new Map<string, string>();
  readonly #complaint: Complaint;

  constructor(options: RecordWriterOptions) {
    this.#options = options;
    const message = 'Cannot record the definition of the kind; admission uses the earlier record';
    this.#complaint = new Complaint(options.logger, message);
  }

  /** One pass. What cannot be found out keeps its entry. Never throws. */
  async write(signal: AbortSignal): Promise<void> {
    let failed = false;
    for (const kind of this.#options.kinds) {
      try {
        await this.#writeRows(kind);
        await this.#writeCrd(kind.kind, signal);
      } catch (error) {
        failed = true;
        this.#complaint.say(error, { kind: kind.kind.kind });
      }
    }
    // Kinds that the API server knows by itself must not end the complaint about the others.
    if (!failed) this.#complaint.over();
  }

  async #writeRows({ kind, objects }: RecordedKind): Promise<void> {
    const hasRows = objects() > 0 || (await this.#options.storage.list(kind, { limit: 1 })).items.length > 0;
    await this.#put(rowsEntry(kind.plural, hasRows ? 'some' : 'none'));
  }

  /** Whole CRDs are large, so they are read only where they have changed. */
  async #writeCrd(kind: KindDefinition, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const one = { fieldSelector: `metadata.name=${crdName(kind)}`, limit: 1 };
    const [listed] = (await client.list(definitions, { ...one, metadataOnly: true }, signal)).items;
    const known = listed?.parse();
    // A CRD that is gone or terminating was recorded before.
    if (known === undefined || known.metadata.deletionTimestamp !== undefined) return;
    const state = `${known.metadata.uid}/${known.metadata.generation ?? 0}`;
    if (this.#seen.get(kind.plural) === state) return;
    const [whole] = (await client.list(definitions, one, signal)).items;
    const crd = whole?.parse();
    if (crd === undefined || !isJsonObject(crd['spec'])) return;
    await this.#put(crdEntry(kind.plural, crd['spec']));
    this.#seen.set(kind.plural, `${crd.metadata.uid}/${crd.metadata.generation ?? 0}`);
  }

  async #put(entry: RecordData): Promise<void> {
    if (Object.entries(entry).every(([key, value]) => this.#written[key] === value)) return;
    await this.#options.client.mergePatch(configMapRef(this.#options.namespace, ADMISSION_RECORD_CONFIG_MAP), {
      data: entry,
    });
    this.#written = { ...this.#written, ...entry };
  }
}
