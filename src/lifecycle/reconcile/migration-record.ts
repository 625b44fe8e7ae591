// The version that a database was migrated to, kept outside the resource: deleting and creating the resource again must
// not end in an older version by accident.
import {
  ADMISSION_RECORD_CONFIG_MAP,
  type IngesterName,
  migratedEntry,
  type RecordData,
  recordedVersion,
  repositoryEntry,
} from '../../api/admission-record.ts';
import { Complaint } from '../../base/complaint.ts';
import type { Logger } from '../../base/logger.ts';
import type { KubeClient, ObjectRef } from '../../kube/client.ts';
import { ifFound } from '../../kube/found.ts';
import { configMapRef, dataOf } from '../../kube/resources.ts';

export interface MigrationRecordOptions {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly logger: Logger;
}

export class MigrationRecord {
  readonly #options: MigrationRecordOptions;
  readonly #written = new Map<string, string>();
  readonly #complaint: Complaint;

  constructor(options: MigrationRecordOptions) {
    this.#options = options;
    this.#complaint = new Complaint(
      options.logger,
      'Could not write down for admission what is there; a resource that is created again is not compared with it',
    );
  }

  /** What the admission record has for a resource of this name; a read that fails ends the reconcile. */
  async migratedVersion(ingester: IngesterName): Promise<string | undefined> {
    const record = await ifFound(this.#options.client.get(refOf(ingester)));
    const recorded = recordedVersion(dataOf(record), ingester);
    return recorded.state === 'known' ? recorded.value : undefined;
  }

  /** Into the namespace of the resource. Never throws: a reconcile goes on without it, and the next one tries again. */
  async writeVersion(ingester: IngesterName, version: string | undefined): Promise<void> {
    if (version !== undefined) await this.#write(ingester.namespace, migratedEntry(ingester, version));
  }

  /** By what admission judges an image. Never throws; without it the controller judges alone. */
  async writeRepository(namespace: string, repository: string | undefined): Promise<void> {
    if (repository !== undefined) await this.#write(namespace, repositoryEntry(repository));
  }

  async #write(namespace: string, entry: RecordData): Promise<void> {
    const { client } = this.#options;
    const [[key, value] = ['', '']] = Object.entries(entry);
    if (this.#written.get(`${namespace} ${key}`) === value) return;
    try {
      await client.mergePatch(refOf({ namespace }), { data: entry });
      this.#written.set(`${namespace} ${key}`, value);
      this.#complaint.over();
    } catch (error) {
      this.#complaint.say(error, { namespace, key, value });
    }
  }
}

function refOf({ namespace }: Pick<IngesterName, 'namespace'>): ObjectRef {
  return configMapRef(namespace, ADMISSION_RECORD_CONFIG_MAP);
}
