// What the rules of admission look up in the cluster and in MySQL: earlier versions, what an Ingester may ask for, whether
// a kind has objects. Each has a deadline, and an answer for when there is none.
import {
  ADMISSION_RECORD_CONFIG_MAP,
  type IngesterName,
  type RecordData,
  type Recorded,
  type RecordedCrd,
  recordedCrd,
  recordedRepository,
  recordedVersion,
} from '../../api/admission-record.ts';
import { PERMITTED_CONFIG_MAP, type Permitted, permittedBy } from '../../api/ingester/permitted.ts';
import type { KindDefinition } from '../../api/kind.ts';
import { GROUP } from '../../api/names.ts';
import { hasValueAt, type Place } from '../../api/place.ts';
import { type Clock, within } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { ifFound } from '../../kube/found.ts';
import { pagesOf } from '../../kube/pages.ts';
import { configMapRef, dataOf } from '../../kube/resources.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';

/**
 * For an answer to a validating rule, connecting included: inside the 4.5 seconds that the shipped registration leaves,
 * so that the rule can still say what it does without one.
 */
const ANSWER_MS = 3500;

export interface Asking {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** For the log: what could not be asked, and what follows from it. */
  readonly failure: string;
  /** Further fields of that line. */
  readonly about?: Readonly<Record<string, unknown>>;
}

/** The answer; `unknown` where none comes in time or the question fails. */
export async function ask<T, U>(
  { clock, logger, signal, failure, about }: Asking,
  unknown: U,
  question: (signal: AbortSignal) => Promise<T>,
): Promise<T | U> {
  try {
    return await within({ clock, timeoutMs: ANSWER_MS, signal }, question, () => unknown);
  } catch (error) {
    logger.warn({ ...about, err: error }, failure);
    return unknown;
  }
}

export interface RecordOptions {
  /** Connects when it is asked first. */
  readonly client: () => Promise<Pick<KubeClient, 'get'>>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reads the ConfigMap anew for each question: only creates of Ingesters and CRDs ask, and they must not be answered late. */
export class ConfigMapRecord {
  readonly #options: RecordOptions;

  constructor(options: RecordOptions) {
    this.#options = options;
  }

  migratedVersion(name: IngesterName, signal: AbortSignal): Promise<Recorded<string>> {
    return this.#find((data) => recordedVersion(data, name), signal);
  }

  crd(plural: string, signal: AbortSignal): Promise<Recorded<RecordedCrd>> {
    return this.#find((data) => recordedCrd(data, plural), signal);
  }

  #find<T>(find: (data: RecordData) => Recorded<T>, signal: AbortSignal): Promise<Recorded<T>> {
    const failure = 'Cannot read the record of earlier versions; creates are checked as if they were older';
    const unknown: Recorded<T> = { state: 'unknown' };
    return ask({ ...this.#options, signal, failure }, unknown, async () => find(await this.#read()));
  }

  /** Where there is no ConfigMap, nothing was recorded. */
  async #read(): Promise<RecordData> {
    const client = await this.#options.client();
    return dataOf(await ifFound(client.get(configMapRef(this.#options.namespace, ADMISSION_RECORD_CONFIG_MAP))));
  }
}

export interface BoundsOptions {
  /** Connects when it is asked first. */
  readonly client: () => Promise<Pick<KubeClient, 'get'>>;
  /** That of the lifecycle controller. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reads the ConfigMap of the administrator anew for each question: what is taken back counts at once. */
export class ConfigMapBounds {
  readonly #options: BoundsOptions;

  constructor(options: BoundsOptions) {
    this.#options = options;
  }

  async permitted(namespace: string, signal: AbortSignal): Promise<Permitted | 'anything' | 'unknown'> {
    if (namespace !== this.#options.namespace) return 'anything';
    const failure = 'Cannot read what an Ingester may ask for; the lifecycle controller will check it';
    return ask({ ...this.#options, signal, failure }, 'unknown', () => this.#read());
  }

  async #read(): Promise<Permitted> {
    const [own, record] = await Promise.all([
      this.#dataOf(PERMITTED_CONFIG_MAP),
      this.#dataOf(ADMISSION_RECORD_CONFIG_MAP),
    ]);
    // Until the controller has said what it runs from, it judges images alone.
    return permittedBy(own, recordedRepository(record) ?? '*');
  }

  async #dataOf(name: string): Promise<Readonly<Record<string, string>>> {
    const client = await this.#options.client();
    return dataOf(await ifFound(client.get(configMapRef(this.#options.namespace, name))));
  }
}

export interface CensusOptions {
  /** Those that have tables. */
  readonly kinds: readonly KindDefinition[];
  /** Connects when it is asked first. */
  readonly client: () => Promise<Pick<KubeClient, 'list'>>;
  /** Undefined where the webhook has no database configured: what is archived is unknown then. */
  readonly storage: (() => Promise<Pick<MetadataStorage, 'list'>>) | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Looks for one object in the cluster, then for one row that is not deleted; or for values in all objects of the cluster,
 * as far as it comes in time. Only changes of CRDs make it look.
 */
export class ClusterCensus {
  readonly #options: CensusOptions;

  constructor(options: CensusOptions) {
    this.#options = options;
  }

  hasObjects(resource: Resource, signal: AbortSignal): Promise<'some' | 'none' | 'unknown'> {
    const failure = 'Cannot find out whether a kind has objects; its CRD is protected as if it had';
    const about = { plural: resource.plural };
    return ask({ ...this.#options, signal, failure, about }, 'unknown', (stop) => this.#look(resource, stop));
  }

  heldPlaces(resource: Resource, places: readonly Place[], signal: AbortSignal): Promise<readonly Place[] | 'unknown'> {
    const failure = 'Cannot find out what a change of a CRD would drop; it is protected as if objects had all of it';
    const about = { plural: resource.plural };
    return ask({ ...this.#options, signal, failure, about }, 'unknown', (stop) => this.#held(resource, places, stop));
  }

  async #held(
    { group, plural, version }: Resource,
    places: readonly Place[],
    signal: AbortSignal,
  ): Promise<readonly Place[]> {
    const client = await this.#options.client();
    const held = new Set<Place>();
    for await (const { items } of pagesOf(client, { group, version, plural }, { consistency: 'each-page' }, signal)) {
      for (const item of items) {
        const object = item.parse();
        for (const place of places) if (!held.has(place) && hasValueAt(object, place)) held.add(place);
      }
      if (held.size === places.length) break;
    }
    return [...held];
  }

  async #look({ group, plural, version }: Resource, signal: AbortSignal): Promise<'some' | 'none' | 'unknown'> {
    const client = await this.#options.client();
    const page = await client.list({ group, version, plural }, { limit: 1, metadataOnly: true }, signal);
    if (page.items.length > 0) return 'some';
    const kind = group === GROUP ? this.#options.kinds.find((each) => each.plural === plural) : undefined;
    // Objects of other kinds are not copied, so nothing of them is archived.
    return kind === undefined ? 'none' : this.#archived(kind);
  }

  async #archived(kind: KindDefinition): Promise<'some' | 'none' | 'unknown'> {
    const storage = await this.#options.storage?.();
    if (storage === undefined) return 'unknown';
    return (await storage.list(kind, { limit: 1 })).items.length > 0 ? 'some' : 'none';
  }
}
