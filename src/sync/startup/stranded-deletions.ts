// While metadata storage is off, or a kind is not ingested, no reconciler takes the finalizer off. Objects that have it, from
// before or from their manifests, then stay Terminating when they are deleted; this finds them, so that each gets an event
// with the reason.
import type { KindDefinition } from '../../api/kind.ts';
import { GROUP, VERSION } from '../../api/names.ts';
import { hasFinalizer, type KubernetesObject } from '../../api/object.ts';
import { isAborted } from '../../base/abort.ts';
import { type Clock, repeat } from '../../base/clock.ts';
import { Complaint } from '../../base/complaint.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { pagesOf } from '../../kube/pages.ts';

const PERIOD_MS = 30_000;
/** What one look reads at most. The next goes on where it ended, so a large cluster is gone through in several. */
const PAGES = 100;
const BYTES = 32 * 1024 * 1024;
/** Objects of a kind that get an event in one round; all are counted. */
const TOLD = 100;

/** A round takes longer than a page can be continued at its version. */
const metadata = { metadataOnly: true, consistency: 'each-page' } as const;

export interface StrandedOptions {
  readonly client: Pick<KubeClient, 'list'>;
  readonly kinds: readonly { readonly kind: KindDefinition; readonly resource: Resource }[];
  /** What keeps their objects waiting, for the log, e.g. `metadata storage is off`. */
  readonly because: string;
  /** Told of an object that waits, once a round. */
  readonly onStranded: (kind: KindDefinition, object: KubernetesObject) => void;
  /** How many of the kind wait, once a round. */
  readonly onCounted: (kind: KindDefinition, count: number) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class StrandedDeletions {
  readonly #options: StrandedOptions;
  readonly #counts = new Map<KindDefinition, number>();
  #round: AsyncGenerator<number, void> | undefined;

  constructor(options: StrandedOptions) {
    this.#options = options;
  }

  /** Looks again and again until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    const complaint = new Complaint(logger, 'Objects whose deletion waits cannot be listed; trying again');
    await repeat({ clock, periodMs: PERIOD_MS, signal }, async () => {
      try {
        await this.look(signal);
        complaint.over();
      } catch (error) {
        if (!isAborted(signal)) complaint.say(error);
      }
    });
  }

  /** A round ends with the last kind, or where the API server fails. */
  async look(signal: AbortSignal): Promise<void> {
    this.#round ??= this.#goThrough(signal);
    let [pages, bytes] = [0, 0];
    try {
      while (pages < PAGES && bytes < BYTES) {
        const next = await this.#round.next();
        if (next.done === true) {
          this.#round = undefined;
          return;
        }
        pages += 1;
        bytes += next.value;
      }
    } catch (error) {
      this.#round = undefined;
      throw error;
    }
  }

  /** Gives the bytes of each page. */
  async *#goThrough(signal: AbortSignal): AsyncGenerator<number, void> {
    const { client, kinds, onStranded } = this.#options;
    for (const { kind, resource } of kinds) {
      let count = 0;
      try {
        for await (const { items, bytes = 0 } of pagesOf(client, resource, metadata, signal)) {
          const stranded = items
            .map((item) => item.parse())
            .filter((object) => isDeleting(object) && hasFinalizer(object));
          for (const object of stranded.slice(0, Math.max(0, TOLD - count))) onStranded(kind, asKind(kind, object));
          count += stranded.length;
          yield bytes;
        }
      } catch (error) {
        if (!isKubeError(error, 'NotFound')) throw error;
      }
      this.#counted(kind, count);
    }
  }

  /** Logs changes only. */
  #counted(kind: KindDefinition, count: number): void {
    const { onCounted, logger, because } = this.#options;
    onCounted(kind, count);
    if (count !== (this.#counts.get(kind) ?? 0)) {
      const level = count === 0 ? 'info' : 'warn';
      logger[level]({ kind: kind.kind, count }, `Objects that are being deleted wait, because ${because}`);
    }
    this.#counts.set(kind, count);
  }
}

/** Items of a metadata list have no kind of their own. */
function asKind({ kind }: KindDefinition, object: KubernetesObject): KubernetesObject {
  return { ...object, apiVersion: `${GROUP}/${VERSION}`, kind };
}

function isDeleting({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}
