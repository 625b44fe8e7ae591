import type { AdmissionMemory } from '../../webhooks/ports.ts';
import {
  type IngesterName,
  MEMORY_CONFIG_MAP,
  type MemoryData,
  type Recalled,
  type RememberedCrd,
  recallCrd,
  recallMigrated,
} from '../api/admission-memory.ts';
import type { Clock } from '../base/clock.ts';
import { isJsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, ObjectRef } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { ANSWER_MS, within } from './within.ts';

export function memoryRef(namespace: string): ObjectRef {
  return { resource: { group: '', version: 'v1', plural: 'configmaps' }, namespace, name: MEMORY_CONFIG_MAP };
}

export interface MemoryOptions {
  /** Connects when it is asked first. */
  readonly client: () => Promise<Pick<KubeClient, 'get'>>;
  readonly namespace: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Reads the ConfigMap anew for each question: only creates of Ingesters and CRDs ask, and they must not be answered late. */
export class ConfigMapMemory implements AdmissionMemory {
  readonly #options: MemoryOptions;

  constructor(options: MemoryOptions) {
    this.#options = options;
  }

  migratedVersion(name: IngesterName, signal: AbortSignal): Promise<Recalled<string>> {
    return this.#recall((data) => recallMigrated(data, name), signal);
  }

  crd(plural: string, signal: AbortSignal): Promise<Recalled<RememberedCrd>> {
    return this.#recall((data) => recallCrd(data, plural), signal);
  }

  async #recall<T>(find: (data: MemoryData) => Recalled<T>, signal: AbortSignal): Promise<Recalled<T>> {
    const { clock, logger } = this.#options;
    const unknown: Recalled<T> = { state: 'unknown' };
    try {
      return await within({ clock, timeoutMs: ANSWER_MS, signal }, unknown, async () => find(await this.#read()));
    } catch (error) {
      logger.warn({ err: error }, 'Cannot read what was there before; what is created is guarded as if it were older');
      return unknown;
    }
  }

  /** Where there is no ConfigMap, nobody has written anything down. */
  async #read(): Promise<MemoryData> {
    const client = await this.#options.client();
    try {
      const { data } = await client.get(memoryRef(this.#options.namespace));
      return isJsonObject(data) ? (data as MemoryData) : {};
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return {};
      throw error;
    }
  }
}
