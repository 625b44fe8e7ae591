import type { IngesterBounds } from '../../webhooks/ports.ts';
import { MEMORY_CONFIG_MAP, recallRepository } from '../api/admission-memory.ts';
import { PERMITTED_CONFIG_MAP, type Permitted, permittedBy } from '../api/ingester/permitted.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { ANSWER_MS, within } from './within.ts';

const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps' };

export interface BoundsOptions {
  /** Connects when it is asked first. */
  readonly client: () => Promise<Pick<KubeClient, 'get'>>;
  /** That of the lifecycle controller. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reads the ConfigMap of the administrator anew for each question: what is taken back counts at once. */
export class ConfigMapBounds implements IngesterBounds {
  readonly #options: BoundsOptions;

  constructor(options: BoundsOptions) {
    this.#options = options;
  }

  async permitted(namespace: string, signal: AbortSignal): Promise<Permitted | 'anything' | 'unknown'> {
    const { clock, logger } = this.#options;
    if (namespace !== this.#options.namespace) return 'anything';
    try {
      return await within({ clock, timeoutMs: ANSWER_MS, signal }, 'unknown', () => this.#read());
    } catch (error) {
      logger.warn({ err: error }, 'Cannot read what an Ingester may ask for; the lifecycle controller judges it');
      return 'unknown';
    }
  }

  async #read(): Promise<Permitted> {
    const [own, memory] = await Promise.all([this.#dataOf(PERMITTED_CONFIG_MAP), this.#dataOf(MEMORY_CONFIG_MAP)]);
    // Until the controller has said what it runs from, it judges images alone.
    return permittedBy(own, recallRepository(memory) ?? '*');
  }

  async #dataOf(name: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const client = await this.#options.client();
    try {
      const { data } = await client.get({ resource: configMaps, namespace: this.#options.namespace, name });
      return data as Readonly<Record<string, unknown>> | undefined;
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return undefined;
      throw error;
    }
  }
}
