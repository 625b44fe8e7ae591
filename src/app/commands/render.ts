import { systemClock } from '../../base/clock.ts';
import { requireStorage } from '../../config/feature-switches.ts';
import type { Configuration } from '../../config/schema.ts';
import type { Manifest } from '../../gitops/render.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { MetadataStorage } from '../../storage/metadata-storage.ts';
import { MysqlMetadataStorage } from '../../storage/mysql/store/mysql-storage.ts';
import { findArchived } from '../../sync/archived.ts';
import { everyKind, resourceOf } from '../kinds.ts';
import { commandClient } from '../kube-client.ts';
import { mysqlOptions } from '../mysql-options.ts';

/** Those of the manifests whose objects live in MySQL only. Any doubt is an error: a wrong answer creates or hides objects. */
export async function archivedOf(
  configuration: Configuration,
  manifests: readonly Manifest[],
): Promise<readonly Manifest[]> {
  requireStorage(configuration, 'MySQL knows what is archived');
  const client: KubeClient = commandClient(configuration, systemClock);
  const storage: MetadataStorage = new MysqlMetadataStorage(mysqlOptions(configuration), systemClock);
  const kinds = new Map(everyKind().map((kind) => [kind.kind, kind]));
  const asked = manifests.flatMap((manifest) => {
    const kind = kinds.get(manifest.kind);
    return kind === undefined ? [] : [{ ...manifest, kind, resource: resourceOf(kind), manifest }];
  });
  try {
    return (await findArchived({ client, storage }, asked)).map(({ manifest }) => manifest);
  } finally {
    await Promise.all([client.close(), storage.close()]);
  }
}
