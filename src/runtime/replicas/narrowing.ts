// Whether the API server can be asked for the objects of buckets alone. What it does not show is not worked on, so it has to mean
// by a range what we mean: `shardSelector` is alpha, and where its gate is off it is ignored. Asked about the Leases of the
// replicas, of which each bucket that was ever taken has one.
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient } from '../../kube/client.ts';
import { leases } from '../../kube/resources.ts';
import { bucketOf, shardSelectorOf } from './buckets.ts';

/** More than the replicas have. */
const MOST_LEASES = 500;

interface Asking {
  readonly client: Pick<KubeClient, 'list'>;
  /** Where the Leases are. */
  readonly namespace: string;
  readonly logger: Logger;
}

/** Undefined: lists and watches have to show all objects. */
export async function selectorFor(
  buckets: ReadonlySet<number>,
  { client, namespace, logger }: Asking,
  signal: AbortSignal,
): Promise<string | undefined> {
  const shardSelector = shardSelectorOf(buckets);
  const uidsOf = async (asked: { readonly shardSelector?: string }): Promise<ReadonlySet<string>> => {
    const options = { ...asked, namespace, limit: MOST_LEASES, metadataOnly: true };
    const { items } = await client.list(leases, options, signal);
    return new Set(items.map(({ identity }) => identity.uid));
  };
  try {
    const [all, shown] = [await uidsOf({}), await uidsOf({ shardSelector })];
    const own = [...all].filter((uid) => buckets.has(bucketOf(uid)));
    const others = [...all].filter((uid) => !buckets.has(bucketOf(uid)));
    const narrows = own.every((uid) => shown.has(uid)) && !others.some((uid) => shown.has(uid));
    return narrows && own.length > 0 && others.length > 0 ? shardSelector : undefined;
  } catch (error) {
    logger.debug(
      { problem: messageOf(error) },
      'It is not known whether the API server selects by buckets; all objects are read',
    );
    return undefined;
  }
}
