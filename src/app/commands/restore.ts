import { systemClock } from '../../base/clock.ts';
import type { Configuration } from '../../config/schema.ts';
import { MysqlMetadataStorage } from '../../storage/mysql/store/mysql-storage.ts';
import { NothingStoredError } from '../../sync/errors.ts';
import { type Restored, type RestoreRequest, restore } from '../../sync/restore.ts';
import { kindNamed, resourceOf } from '../kinds.ts';
import { commandClient } from '../kube-client.ts';
import { mysqlOptions } from '../mysql-options.ts';
import { sensitiveValues } from '../sensitive.ts';

export interface RestoreByName extends Omit<RestoreRequest, 'kind'> {
  readonly kind: string;
}

/** Puts one object back, with the rights of the user who runs the command. */
export async function runRestore(configuration: Configuration, request: RestoreByName): Promise<Restored> {
  const kind = kindNamed(request.kind);
  if (kind === undefined)
    throw new NothingStoredError(`${request.kind} ${request.namespace}/${request.name}`, undefined);
  const storage = new MysqlMetadataStorage(mysqlOptions(configuration), systemClock);
  const client = commandClient(configuration, systemClock);
  try {
    return await restore(
      { ...request, kind },
      {
        ...{ client, storage },
        sensitive: sensitiveValues(configuration),
        resource: resourceOf(kind),
      },
    );
  } finally {
    await Promise.all([client.close(), storage.close()]);
  }
}
