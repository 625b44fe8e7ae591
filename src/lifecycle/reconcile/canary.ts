// Whether the controller reconciles at all. A resource with the label of a canary runs nothing: it is annotated again and
// again, and each update has to lead to a reconcile, by way of API server, watch and queue, as every change of a real
// resource does.
import { CANARY_BEAT_ANNOTATION, CANARY_LABEL } from '../../api/names.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { type Clock, repeat } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';

export interface CanaryOptions {
  readonly client: Pick<KubeClient, 'mergePatch'>;
  readonly resource: Resource;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PERIOD_MS = 20_000;
/** A reconcile that comes later than this counts as missing. */
const LIMIT_MS = 60_000;

export function isCanary({ metadata }: KubernetesObject): boolean {
  return metadata.labels?.[CANARY_LABEL] === 'true';
}

export class Canary {
  readonly #options: CanaryOptions;
  /** By namespace and name: the update that no reconcile has seen yet. */
  readonly #waiting = new Map<string, { readonly beat: string; readonly since: number } | undefined>();

  constructor(options: CanaryOptions) {
    this.#options = options;
  }

  /** Called when a canary is reconciled. */
  seen(key: string, { metadata }: KubernetesObject): void {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined && metadata.annotations?.[CANARY_BEAT_ANNOTATION] !== waiting.beat) return;
    this.#waiting.set(key, undefined);
  }

  gone(key: string): void {
    this.#waiting.delete(key);
  }

  /** What is wrong; undefined where nothing is, or no canary is waited for. */
  problem(): string | undefined {
    const { clock } = this.#options;
    const late = [...this.#waiting].find(([, one]) => one !== undefined && clock.monotonicMs() - one.since > LIMIT_MS);
    return late === undefined
      ? undefined
      : `no reconcile of ${late[0]} within ${LIMIT_MS / 1000} s after it was updated`;
  }

  /** Runs only while this process leads: no other replica reconciles. */
  async run(signal: AbortSignal): Promise<void> {
    await repeat({ clock: this.#options.clock, periodMs: PERIOD_MS, signal }, async () => {
      for (const [key, waiting] of this.#waiting) if (waiting === undefined) await this.#touch(key);
    });
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
      // No reconcile is expected; other checks report the API server.
      this.#waiting.set(key, undefined);
      logger.warn({ err: error, ingester: key }, 'Could not update the canary; trying again');
    }
  }
}
