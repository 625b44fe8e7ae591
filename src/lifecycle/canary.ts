// Whether passes are made at all. A resource with the label of a canary runs nothing: it is touched again and again, and
// each touch has to lead to a pass, by way of the API server, the watch and the queue, as every change of a real one does.
import { CANARY_BEAT_ANNOTATION, CANARY_LABEL } from '../api/names.ts';
import type { KubernetesObject } from '../api/object.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, Resource } from '../kube/client.ts';

export interface CanaryOptions {
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly resource: Resource;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PERIOD_MS = 20_000;
/** A pass that takes longer than this is none. */
const LIMIT_MS = 60_000;

export function isCanary({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.[CANARY_LABEL] === 'true';
}

export class Canary {
  readonly #options: CanaryOptions;
  /** By namespace and name: the touch that no pass has seen yet. */
  readonly #waiting = new Map<string, { readonly beat: string; readonly since: number } | undefined>();

  constructor(options: CanaryOptions) {
    this.#options = options;
  }

  /** A pass over one is made. */
  seen(key: string, { metadata }: KubernetesObject): void {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined && metadata.annotations?.[CANARY_BEAT_ANNOTATION] !== waiting.beat) return;
    this.#waiting.set(key, undefined);
  }

  gone(key: string): void {
    this.#waiting.delete(key);
  }

  /** What is wrong; undefined where nothing is, or nobody asked. */
  problem(): string | undefined {
    const { clock } = this.#options;
    const late = [...this.#waiting].find(([, one]) => one !== undefined && clock.monotonicMs() - one.since > LIMIT_MS);
    return late === undefined ? undefined : `no pass over ${late[0]} within ${LIMIT_MS / 1000} s after it was touched`;
  }

  /** Only while this process leads: nobody else makes passes. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      for (const [key, waiting] of this.#waiting) if (waiting === undefined) await this.#touch(key);
      await sleep(this.#options.clock, PERIOD_MS, signal);
    }
    this.#waiting.clear();
  }

  async #touch(key: string): Promise<void> {
    const { client, resource, clock, logger } = this.#options;
    const [namespace = '', name = ''] = key.split('/');
    const beat = clock.now().toISOString();
    this.#waiting.set(key, { beat, since: clock.monotonicMs() });
    try {
      await client.mergePatch(
        { resource, namespace, name },
        { metadata: { annotations: { [CANARY_BEAT_ANNOTATION]: beat } } },
      );
    } catch (error) {
      // Nothing to wait for; whether the API server is well is for others to say.
      this.#waiting.set(key, undefined);
      logger.warn({ err: error, ingester: key }, 'Could not touch the canary; trying again');
    }
  }
}
