// Writes to what is in MySQL only. They need no write to the cluster; but they are made only where this program may write
// there too, so that an installation without those rights only reads.

import type { KindDefinition } from '../../api/kind.ts';
import { GROUP } from '../../api/names.ts';
import type { Clock } from '../../base/clock.ts';
import { canonicalJson, isJsonObject, type JsonObject, valueAt } from '../../base/json.ts';
import { parseLossless } from '../../base/lossless-json.ts';
import { crdName } from '../../kinds/kind-names.ts';
import type { KubeClient } from '../../kube/client.ts';
import { ifFound } from '../../kube/found.ts';
import { selfSubjectAccessReviews } from '../../kube/resources.ts';
import { QueryError } from '../../query/errors.ts';
import { bulk } from '../../query/list.ts';
import { pageBounds } from '../../query/list-query.ts';
import { patchedMap } from '../../query/metadata-patch.ts';
import { notFound } from '../../query/reads.ts';
import type {
  CollectionOrder,
  DeletedCollection,
  DeleteOrder,
  MetadataOrder,
  WriteTarget,
} from '../../query/write-port.ts';
import { DEFAULT_COLLECTION } from '../../storage/bulk.ts';
import { changeMetadata } from '../../storage/direct-update.ts';
import { VersionConflictError } from '../../storage/errors.ts';
import type { MetadataStorage, StoredObject } from '../../storage/metadata-storage.ts';
import { identityLimit } from '../../storage/page-limit.ts';
import type { ProtoEncoder } from '../../sync/row.ts';
import { resourceOf } from '../kinds.ts';

export interface EvictedWritesParts {
  readonly client: KubeClient;
  readonly storage: MetadataStorage;
  readonly clock: Clock;
  readonly encode: ProtoEncoder;
}

/** Others may change the object between reading and writing it. */
export const MOST_TRIES = 5;
/** Objects that a dry run names. */
const MOST_NAMES = 20;

/** What was deleted stays in the database, for the record. */
export async function deleteEvicted(
  target: WriteTarget,
  order: DeleteOrder,
  { client, storage, clock }: EvictedWritesParts,
): Promise<{ readonly outcome: 'deleted'; uid: string }> {
  const { kind, namespace } = target;
  await refuseReadOnly({ kind, namespace, verb: 'delete' }, client);
  const stored = await evictedObject(target, storage);
  refuseOther(order, stored);
  const where = { field: 'metadata.uid', operator: '=', value: stored.key ?? stored.uid } as const;
  const { resourceVersion } = stored;
  const query = { namespace, states: ['evicted'], where, resourceVersion } as const;
  if (!order.dryRun && (await storage.deleteCollection(kind, query, clock.now())).deleted === 0) {
    throw new QueryError('Conflict', 'another client changed the object; try again');
  }
  return { outcome: 'deleted', uid: stored.uid };
}

export async function changeEvicted(
  target: WriteTarget,
  order: MetadataOrder,
  parts: EvictedWritesParts,
): Promise<StoredObject> {
  const { kind, namespace, name } = target;
  await refuseReadOnly({ kind, namespace, verb: 'patch' }, parts.client);
  for (let tries = 1; ; tries += 1) {
    const live = await ifFound(parts.client.get({ resource: resourceOf(kind), namespace, name }));
    if (live !== undefined) throw live.metadata.deletionTimestamp === undefined ? living(target) : leaving(target);
    const stored = await evictedObject(target, parts.storage);
    refuseOther(order, stored);
    try {
      return await change(kind, stored, order, parts);
    } catch (error) {
      const theirs = order.resourceVersion !== undefined || tries === MOST_TRIES;
      if (!(error instanceof VersionConflictError) || theirs) throw error;
    }
  }
}

/** A patch that changes nothing writes nothing. */
async function change(
  kind: KindDefinition,
  stored: StoredObject,
  order: MetadataOrder,
  { storage, clock, encode }: EvictedWritesParts,
): Promise<StoredObject> {
  const before = mapsOf(stored);
  const keys = (['labels', 'annotations'] as const).filter((key) => order[key] !== undefined);
  const after = Object.fromEntries(keys.map((key) => [key, patchedMap(before[key], order[key])]));
  const target = { uid: stored.uid, resourceVersion: stored.resourceVersion };
  const wanted = { ...after, encode: (object: JsonObject) => encode(kind.kind, object, () => undefined) };
  const row = changeMetadata(target, stored, wanted);
  if (canonicalJson(before) === canonicalJson(mapsOf(row))) return stored;
  if (!order.dryRun) await storage.directUpdate(kind, target, wanted);
  const [labels, annotations] = [Object.fromEntries(row.labels), Object.fromEntries(row.annotations)];
  return { ...stored, ...row, labels, annotations, updateTime: clock.now().toISOString().replace('Z', '000Z') };
}

type Map = Readonly<Record<string, string>>;

function mapsOf({ json }: Pick<StoredObject, 'json'>): { readonly labels: Map; readonly annotations: Map } {
  const object = parseLossless(json);
  const mapAt = (key: string): Map => {
    const map = valueAt(object, ['metadata', key]);
    return isJsonObject(map) ? (map as Map) : {};
  };
  return { labels: mapAt('labels'), annotations: mapAt('annotations') };
}

export async function deleteEvictedCollection(
  kind: KindDefinition,
  { dryRun, signal, ...selection }: CollectionOrder,
  { client, storage, clock }: EvictedWritesParts,
): Promise<DeletedCollection> {
  await refuseReadOnly({ kind, namespace: selection.namespace, verb: 'delete' }, client);
  const query = { ...selection, states: ['evicted'] } as const;
  if (!dryRun) return { ...(await storage.deleteCollection(kind, query, clock.now(), signal)), names: undefined };
  const most = identityLimit(selection.limit ?? DEFAULT_COLLECTION);
  const few = { ...query, ...pageBounds, skip: bulk, count: 'yes', limit: Math.min(most, MOST_NAMES) } as const;
  const { items, total = items.length } = await storage.until(signal).list(kind, few);
  const remaining = total > most ? 'some' : 'none';
  return { deleted: Math.min(total, most), remaining, names: items.map(({ name }) => name) };
}

interface Right {
  readonly kind: KindDefinition;
  readonly namespace: string;
  readonly verb: 'patch' | 'delete';
}

/** The rights of this program, not of the user, who has been asked about before. */
async function refuseReadOnly({ kind: { plural }, namespace, verb }: Right, client: KubeClient): Promise<void> {
  const resourceAttributes = { group: GROUP, resource: plural, verb, namespace };
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  };
  if (valueAt(await client.create(selfSubjectAccessReviews, '', review), ['status', 'allowed']) === true) return;
  throw new QueryError('Forbidden', `this query API only reads: it may not ${verb} ${plural} in the cluster`, {
    plural,
  });
}

/** The one that is in the database only. */
async function evictedObject(target: WriteTarget, storage: MetadataStorage): Promise<StoredObject> {
  const { kind, namespace, name } = target;
  const stored = await storage.getByName(kind, namespace, name);
  if (stored === undefined) throw notFound(target);
  if (stored.state === 'deleted') throw deletedAlready(target);
  if (stored.state === 'evicted') return stored;
  throw leaving(target);
}

function deletedAlready({ kind, name }: WriteTarget): QueryError {
  const message = `"${name}" is deleted already, and kept for the record; a restore brings it back`;
  return new QueryError('NotFound', message, { plural: kind.plural, name });
}

/** Its finalizers are not all taken off yet. */
function leaving({ kind, name }: WriteTarget): QueryError {
  const message = `"${name}" is leaving the cluster; try again in a moment`;
  return new QueryError('Conflict', message, { plural: kind.plural, name });
}

function living({ kind, namespace, name }: WriteTarget): QueryError {
  const command = `kubectl label or annotate ${crdName(kind)} ${name} -n ${namespace}`;
  const message = `"${name}" is in the cluster: change it at the API server, with ${command}`;
  return new QueryError('Conflict', message, { plural: kind.plural, name });
}

interface Identity {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
}

export function refuseOther(wanted: Identity, found: { readonly uid: string; readonly resourceVersion: string }): void {
  for (const key of ['uid', 'resourceVersion'] as const) {
    if (wanted[key] === undefined || wanted[key] === found[key]) continue;
    throw new QueryError('Conflict', `the precondition ${key} is ${wanted[key]}, but the object has ${found[key]}`);
  }
}
