import { ADMISSION_RECORD_CONFIG_MAP, recordedRepository } from '../../api/admission-record.ts';
import { PERMITTED_CONFIG_MAP, type Permitted, permittedBy } from '../../api/ingester/permitted.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import { configMapRef, dataOf } from '../../kube/config-map.ts';
import { ifFound } from '../../kube/found.ts';
import { ask } from './ask.ts';

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
