import { systemClock } from '../base/clock.ts';
import type { Configuration } from '../config/schema.ts';
import { MysqlMetadataStorage } from '../storage/mysql/mysql-storage.ts';
import { type Restored, type RestoreRequest, restore } from '../sync/restore.ts';
import { commandClient } from './command-client.ts';
import { resourceOf } from './kinds.ts';
import { mysqlOptions } from './mysql-options.ts';
import { sensitiveValues } from './sensitive.ts';

/** Puts one object back; with the rights of whoever runs it. */
export async function runRestore(configuration: Configuration, request: RestoreRequest): Promise<Restored> {
  const storage = new MysqlMetadataStorage(mysqlOptions(configuration), systemClock);
  const client = commandClient(configuration, systemClock);
  try {
    return await restore(request, {
      ...{ client, storage },
      sensitive: sensitiveValues(configuration),
      resource: resourceOf(request.kind),
    });
  } finally {
    await Promise.all([client.close(), storage.close()]);
  }
}
