// The registration of the query API with the API server. As long as it exists without a server behind it, the
// discovery of the cluster is incomplete, and the namespace controller deletes no namespace at all.
import { VERSION } from '../api/names.ts';
import { type Clock, sleep, within } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { valueAt } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import type { KubeClient, ObjectRef } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { apiServices, namespaces } from '../kube/resources.ts';
import { STORED_GROUP } from './names.ts';

const registration: ObjectRef = {
  resource: apiServices,
  namespace: '',
  name: `${VERSION}.${STORED_GROUP}`,
};
/** Less than a pod has to end. */
const LIMIT_MS = 20_000;
/** With its endpoints the status of a registration changes, and a deletion of the state before is a conflict. */
const RETRY_MS = 200;

export interface RegistrationOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * For a role that ends: its namespace is deleted with every server, and no replica serves again. Without this the
 * namespace would wait for discovery, and so would every other namespace of the cluster.
 */
export async function removeRegistrationWithNamespace({ client, clock, logger }: RegistrationOptions): Promise<void> {
  try {
    const removedWith = await within(
      { clock, timeoutMs: LIMIT_MS },
      (stop) => untilAnswered(clock, stop, () => removeIfOrphaned(client)),
      () => undefined,
    );
    if (removedWith === undefined) return;
    logger.warn(
      { namespace: removedWith },
      'The namespace is being deleted: removed the registration of the query API',
    );
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return;
    logger.info({ reason: messageOf(error) }, 'Cannot read the registration of the query API');
  }
}

/** The namespace of the servers, where it is being deleted. */
async function removeIfOrphaned(client: KubeClient): Promise<string | undefined> {
  const found = await client.get(registration);
  const namespace = valueAt(found, ['spec', 'service', 'namespace']);
  if (typeof namespace !== 'string' || !(await isGoing(client, namespace))) return undefined;
  const { uid, resourceVersion } = found.metadata;
  await client.delete(registration, { uid, resourceVersion });
  return namespace;
}

async function untilAnswered<T>(clock: Clock, stop: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const passes = isKubeError(error, 'Conflict') || isKubeError(error, 'Unavailable');
      if (!passes || stop.aborted) throw error;
      await sleep(clock, RETRY_MS, stop);
    }
  }
}

async function isGoing(client: KubeClient, name: string): Promise<boolean> {
  const { metadata } = await client.get({ resource: namespaces, namespace: '', name });
  return metadata.deletionTimestamp !== undefined;
}
