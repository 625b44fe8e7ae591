import {
  ADMISSION_RECORD_CONFIG_MAP,
  type IngesterName,
  type RecordData,
  type Recorded,
  type RecordedCrd,
  recordedCrd,
  recordedVersion,
} from '../../api/admission-record.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import { configMapRef, dataOf } from '../../kube/config-map.ts';
import { ifFound } from '../../kube/found.ts';
import { ask } from './ask.ts';

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
