// Putting an object back into the cluster from its row. Nothing is created before the API server has accepted a dry run,
// and a name that is in use is left alone. A restore that was broken off is finished by running it again.
import type { KindDefinition } from '../api/kind.ts';
import {
  ALLOW_ARCHIVED_NAME_ANNOTATION,
  DELETING_ANNOTATION,
  FINALIZER,
  IMMUTABLE_ANNOTATION,
  PRIMARY_KEY_ANNOTATION,
  REQUESTED_BY_ANNOTATION,
  RESTORED_FROM_ANNOTATION,
  UNGUARDED_ANNOTATION,
} from '../api/names.ts';
import type { KubernetesObject } from '../api/object.ts';
import { asReceived } from '../api/storable.ts';
import { messageOf } from '../base/errors.ts';
import { isJsonObject, type JsonObject, valueAt } from '../base/json.ts';
import { parseLossless } from '../base/lossless-json.ts';
import type { KubeClient, ObjectRef, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { ifFound } from '../kube/found.ts';
import type { Incarnation, MetadataStorage, StoredObject } from '../storage/metadata-storage.ts';
import { openObject, REDACTED, type SensitiveValues } from '../storage/sensitive.ts';
import {
  NothingStoredError,
  NotRestorableError,
  RestoreConflictError,
  RestoreNamespaceMissingError,
} from './errors.ts';

export interface RestoreRequest {
  readonly kind: KindDefinition;
  readonly namespace: string;
  readonly name: string;
  /** Undefined: the incarnation that is evicted, else the one deleted last. */
  readonly uid: string | undefined;
  /** Asks the API server and creates nothing. */
  readonly dryRun: boolean;
  /** Noted on the object; undefined: the user whose credentials create it. */
  readonly requestedBy?: string;
}

export interface Restored {
  readonly outcome: 'would be restored' | 'restored' | 'was restored already';
  /** Of the new object; undefined where a dry run would make it. */
  readonly uid: string | undefined;
  readonly restoredFrom: string;
  /** Paths that MySQL never had, and that have to be set by hand. */
  readonly missing: readonly string[];
  /** Owners and finalizers of others are not put back; their objects may be gone. */
  readonly dropped: readonly string[];
}

export interface RestoreParts {
  readonly client: KubeClient;
  readonly resource: Resource;
  readonly storage: MetadataStorage;
  /** Opens what was sealed. */
  readonly sensitive: SensitiveValues;
}

const INCARNATIONS = 1000;

export async function restore(request: RestoreRequest, parts: RestoreParts): Promise<Restored> {
  const { client, resource } = parts;
  const { stored, beside } = await findStored(request, parts.storage);
  const row = parseLossless(stored.json) as JsonObject;
  const object = asReceived(openObject(request.kind, row, parts.sensitive)) as KubernetesObject;
  const { manifest, missing, dropped } = manifestOf(request.kind, object);
  const { namespace, name } = stored;
  const ref: ObjectRef = { resource, namespace, name };
  const live = await ifFound(client.get(ref));
  if (live !== undefined) refuseOther(request.kind, stored, live);
  const facts = { restoredFrom: stored.uid, missing, dropped };
  const asked = annotated(manifest, {
    [REQUESTED_BY_ANNOTATION]: request.requestedBy,
    [ALLOW_ARCHIVED_NAME_ANNOTATION]: beside?.uid,
  });
  if (live === undefined) await create(client, ref, asked, { dryRun: true });
  else if (!lacksStatus(live, object['status']))
    return { outcome: 'was restored already', uid: live.metadata.uid, ...facts };
  if (request.dryRun) return { outcome: 'would be restored', uid: undefined, ...facts };
  const restored = live ?? (await create(client, ref, asked, { dryRun: false }));
  await restoreStatus(client, ref, restored, object['status']);
  return { outcome: 'restored', uid: restored.metadata.uid, ...facts };
}

/** What has the name may be what an earlier restore made, and nothing else. */
function refuseOther({ kind }: KindDefinition, stored: StoredObject, { metadata }: KubernetesObject): void {
  const { uid, namespace, name } = stored;
  if (stored.state === 'evicting' && metadata.uid === uid)
    throw new NotRestorableError(`${kind} ${namespace}/${name}`, stored.state);
  if (metadata.annotations?.[RESTORED_FROM_ANNOTATION] !== uid)
    throw new RestoreConflictError(`${namespace}/${name}`, metadata);
}

interface Source {
  readonly stored: StoredObject;
  /** Of the same name and evicted after it: stays in the database beside what is restored. */
  readonly beside: Incarnation | undefined;
}

async function findStored(request: RestoreRequest, storage: MetadataStorage): Promise<Source> {
  const { kind, namespace, name, uid } = request;
  const all = await storage.incarnations(kind, namespace, name, INCARNATIONS);
  const wanted =
    uid === undefined
      ? (['evicted', 'evicting', 'deleted'] as const)
          .map((wantedState) => all.find(({ state }) => state === wantedState))
          .find((found) => found !== undefined)
      : all.find((each) => each.uid === uid);
  const stored = wanted === undefined ? undefined : await storage.getById(kind, wanted.uid);
  if (stored === undefined) throw new NothingStoredError(`${kind.kind} ${namespace}/${name}`, uid);
  // An adopted archive is `evicting` and in no cluster; whether it is in this one is asked by its name.
  if (stored.state === 'live') throw new NotRestorableError(`${kind.kind} ${namespace}/${name}`, stored.state);
  return { stored, beside: lastEvictedAfter(stored, all) };
}

function lastEvictedAfter(
  stored: Pick<Incarnation, 'uid' | 'evictTime'>,
  all: readonly Incarnation[],
): Incarnation | undefined {
  const time = ({ evictTime = '' }: Pick<Incarnation, 'evictTime'>): string => evictTime;
  const later = all.filter((each) => each.state === 'evicted' && each.uid !== stored.uid && time(each) >= time(stored));
  return later.toSorted((left, right) => (time(left) < time(right) ? -1 : 1)).at(-1);
}

/** How an object was deleted, which the API server notes among the finalizers: `--cascade=orphan` and `foreground`. */
const ofDeletions: readonly string[] = ['orphan', 'foregroundDeletion'];

/** What a user would apply: without what the API server or an earlier incarnation set. */
export function manifestOf(
  kind: KindDefinition,
  object: KubernetesObject,
): { readonly manifest: JsonObject; readonly missing: readonly string[]; readonly dropped: readonly string[] } {
  const { metadata } = object;
  const {
    [DELETING_ANNOTATION]: _deleting,
    [IMMUTABLE_ANNOTATION]: _immutable,
    [UNGUARDED_ANNOTATION]: _unguarded,
    [REQUESTED_BY_ANNOTATION]: _requester,
    [ALLOW_ARCHIVED_NAME_ANNOTATION]: _beside,
    [PRIMARY_KEY_ANNOTATION]: _key,
    ...annotations
  } = metadata.annotations ?? {};
  const owners: unknown = metadata['ownerReferences'];
  const finalizers = (metadata.finalizers ?? []).filter((each) => each !== FINALIZER && !ofDeletions.includes(each));
  const dropped = [
    ...(Array.isArray(owners) && owners.length > 0 ? ['metadata.ownerReferences'] : []),
    ...finalizers.map((each) => `the finalizer ${each}`),
  ];
  const { status: _status, metadata: _metadata, ...content } = object;
  const missing = kind.sensitive.filter((path) => valueAt(object, path) === REDACTED);
  const manifest: JsonObject = {
    ...(content as JsonObject),
    metadata: {
      ...{ namespace: metadata.namespace, name: metadata.name, finalizers: [FINALIZER] },
      ...(metadata.labels === undefined ? {} : { labels: { ...metadata.labels } }),
      annotations: { ...annotations, [RESTORED_FROM_ANNOTATION]: metadata.uid },
    },
  };
  return { manifest: missing.reduce(without, manifest), missing: missing.map((path) => path.join('.')), dropped };
}

function annotated(manifest: JsonObject, wanted: Readonly<Record<string, string | undefined>>): JsonObject {
  const added = Object.entries(wanted).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const metadata = manifest['metadata'] as JsonObject;
  const annotations = { ...(metadata['annotations'] as JsonObject), ...Object.fromEntries(added) };
  return { ...manifest, metadata: { ...metadata, annotations } };
}

function without(object: JsonObject, [step = '', ...rest]: readonly string[]): JsonObject {
  const { [step]: child, ...others } = object;
  return isJsonObject(child) && rest.length > 0 ? { ...others, [step]: without(child, rest) } : others;
}

async function create(
  client: KubeClient,
  { resource, namespace, name }: ObjectRef,
  manifest: object,
  options: { readonly dryRun: boolean },
): Promise<KubernetesObject> {
  try {
    return await client.create(resource, namespace, manifest, { ...options, strict: true });
  } catch (error) {
    if (isKubeError(error, 'Conflict')) throw new RestoreConflictError(`${namespace}/${name}`);
    const gone = isKubeError(error, 'NotFound') && messageOf(error).includes(`namespaces "${namespace}" not found`);
    if (gone) throw new RestoreNamespaceMissingError(namespace);
    throw error;
  }
}

/** A create never writes the status; a restore that was interrupted before this left it empty. */
async function restoreStatus(
  client: KubeClient,
  ref: ObjectRef,
  restored: KubernetesObject,
  status: unknown,
): Promise<void> {
  if (!lacksStatus(restored, status)) return;
  const { resourceVersion } = restored.metadata;
  await client.mergePatch(ref, { metadata: { resourceVersion }, status }, { subresource: 'status' });
}

function lacksStatus(restored: KubernetesObject, status: unknown): boolean {
  const isEmpty = (value: unknown): boolean => !isJsonObject(value) || Object.keys(value).length === 0;
  return isEmpty(restored['status']) && !isEmpty(status);
}
