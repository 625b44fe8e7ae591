// Where several replicas share the kinds, and the API server sends each only what is its own, a replica learns of a change of
// another's object, and how far its own watch is, once a minute. The position of the kind, the lowest of all replicas, would
// stand still as long. So a replica that is behind the newest change that any of them has noted looks ahead.
import type { KindDefinition } from '../../api/kind.ts';
import { type Clock, repeat } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { isNewer } from '../../kube/resource-version.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';

interface LookingKind {
  readonly kind: KindDefinition;
  readonly informer: { readonly resourceVersion: string; lookAhead(signal: AbortSignal): Promise<void> };
}

interface Looking {
  readonly storage: Pick<MetadataStorage, 'newestChanges'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PERIOD_MS = 1000;
/** Looks for one change: it may be of a cluster that was set back since, and is not reached for long. */
const MOST_LOOKS = 5;

/** Until the signal. */
export async function lookAhead(
  kinds: readonly LookingKind[],
  { storage, clock, logger }: Looking,
  signal: AbortSignal,
): Promise<void> {
  const looks = new Map<string, { readonly version: string; readonly count: number }>();
  const looksFor = ({ kind }: KindDefinition, version: string): number => {
    const before = looks.get(kind);
    const count = before?.version === version ? before.count + 1 : 1;
    looks.set(kind, { version, count });
    return count;
  };
  const look = async ({ kind, informer }: LookingKind, changed: string | undefined): Promise<void> => {
    const { resourceVersion } = informer;
    if (changed === undefined || resourceVersion === '' || !isNewer(changed, resourceVersion)) return;
    if (looksFor(kind, changed) <= MOST_LOOKS) await informer.lookAhead(signal);
  };
  const tell = (error: unknown): void => {
    if (signal.aborted) return;
    logger.debug({ problem: messageOf(error) }, 'It is not known how far a watch is; trying again');
  };
  await repeat({ clock, periodMs: PERIOD_MS, signal }, async () => {
    const changes = await storage.newestChanges().catch(tell);
    await Promise.all(kinds.map((one) => look(one, changes?.get(one.kind.kind)).catch(tell)));
  });
}
