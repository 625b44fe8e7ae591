// Writes down for admission what the kinds are while they are there: the last CRD of each, and whether MySQL has rows.
import { crdEntry, type MemoryData, rowsEntry } from '../api/admission-memory.ts';
import type { KindDefinition } from '../api/kind.ts';
import { crdName } from '../api/kind-names.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { isJsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import type { MetadataStorage } from '../storage/metadata-storage.ts';
import { memoryRef } from './admission-memory.ts';

const definitions: Resource = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };

export interface RememberedKind {
  readonly kind: KindDefinition;
  /** Objects in the API server, as far as they are known. */
  readonly objects: () => number;
}

export interface MemoryWriterOptions {
  readonly client: Pick<KubeClient, 'list' | 'mergePatch'>;
  readonly storage: Pick<MetadataStorage, 'list'>;
  readonly namespace: string;
  readonly kinds: readonly RememberedKind[];
  readonly clock: Clock;
  readonly logger: Logger;
}

const PERIOD_MS = 10_000;
/** After so many passes everything is written again, in case somebody has emptied the ConfigMap. */
const FORGET_AFTER = 30;

/** Until the signal. Only one process at a time may run it. */
export async function runMemoryWriter(options: MemoryWriterOptions, signal: AbortSignal): Promise<void> {
  const { clock } = options;
  for (let writer = new MemoryWriter(options), pass = 1; !signal.aborted; pass += 1) {
    await writer.write(signal);
    if (pass % FORGET_AFTER === 0) writer = new MemoryWriter(options);
    await sleep(clock, PERIOD_MS, signal);
  }
}

export class MemoryWriter {
  readonly #options: MemoryWriterOptions;
  /** What the ConfigMap has, as far as it was written from here. */
  #written: MemoryData = {};
  /** uid and generation of each CRD that was written. */
  readonly #seen = new Map<string, string>();
  #complained = false;

  constructor(options: MemoryWriterOptions) {
    this.#options = options;
  }

  /** One pass. What cannot be found out keeps its entry. Never throws. */
  async write(signal: AbortSignal): Promise<void> {
    for (const kind of this.#options.kinds) {
      try {
        await this.#writeRows(kind);
        await this.#writeCrd(kind.kind, signal);
        this.#complained = false;
      } catch (error) {
        const level = this.#complained ? 'debug' : 'warn';
        this.#complained = true;
        this.#options.logger[level](
          { err: error, kind: kind.kind.kind },
          'Could not write down what the kind is; admission goes by what it was',
        );
      }
    }
  }

  async #writeRows({ kind, objects }: RememberedKind): Promise<void> {
    const hasRows = objects() > 0 || (await this.#options.storage.list(kind, { limit: 1 })).items.length > 0;
    await this.#put(rowsEntry(kind.plural, hasRows ? 'some' : 'none'));
  }

  /** Whole CRDs are large, so they are read only where they have changed. */
  async #writeCrd(kind: KindDefinition, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const one = { fieldSelector: `metadata.name=${crdName(kind)}`, limit: 1 };
    const [known] = (await client.list(definitions, { ...one, metadataOnly: true }, signal)).items;
    // What is gone, or going, was written down before.
    if (known === undefined || known.metadata.deletionTimestamp !== undefined) return;
    const state = `${known.metadata.uid}/${known.metadata.generation ?? 0}`;
    if (this.#seen.get(kind.plural) === state) return;
    const [crd] = (await client.list(definitions, one, signal)).items;
    if (crd === undefined || !isJsonObject(crd['spec'])) return;
    await this.#put(crdEntry(kind.plural, crd['spec']));
    this.#seen.set(kind.plural, `${crd.metadata.uid}/${crd.metadata.generation ?? 0}`);
  }

  async #put(entry: MemoryData): Promise<void> {
    if (Object.entries(entry).every(([key, value]) => this.#written[key] === value)) return;
    await this.#options.client.mergePatch(memoryRef(this.#options.namespace), { data: entry });
    this.#written = { ...this.#written, ...entry };
  }
}
