// What the reconciler says about itself, for the query API: from the ConfigMaps that "ingester status" reads too.
import type { KubeClient } from '../../kube/client.ts';
import { isKubeError } from '../../kube/errors.ts';
import { ifFound } from '../../kube/found.ts';
import { dataOf } from '../../kube/resources.ts';
import { QueryError } from '../../query/errors.ts';
import type { ReadReport } from '../../query/report-port.ts';
import { controlRef, openBreakers, statusRef } from '../../sync/flows/control-state.ts';
import { type IngesterStatus, STATUS_KEY } from '../../sync/status/status.ts';

/** `namespace`: of the bundle. */
export function createReadReport(client: Pick<KubeClient, 'get'>, namespace: string): ReadReport {
  const read = async (ref: ReturnType<typeof statusRef>): Promise<Readonly<Record<string, string>>> => {
    try {
      return dataOf(await ifFound(client.get(ref)));
    } catch (error) {
      if (!isKubeError(error, 'Forbidden')) throw error;
      const message = `the query API may not read the ConfigMap ${ref.name}: apply the rights of config/components/query again`;
      throw new QueryError('InternalError', message, { cause: error });
    }
  };
  return async () => {
    const [status, control] = await Promise.all([read(statusRef(namespace)), read(controlRef(namespace))]);
    const text = status[STATUS_KEY];
    if (text === undefined) return undefined;
    const { at, kinds, failingObjects } = JSON.parse(text) as IngesterStatus;
    const { count, listed: objects } = failingObjects;
    const unwatched = kinds.flatMap(({ kind, interrupted }) =>
      interrupted === undefined ? [] : [{ kind, since: interrupted.since }],
    );
    return { at, count, objects, holds: openBreakers(control), unwatched };
  };
}
