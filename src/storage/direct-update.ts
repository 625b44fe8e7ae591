// A change of labels and annotations of an object that is in the database only. Pure; the adapters lock and write.
import { SYSTEM_PREFIX } from '../api/names.ts';
import { contentHash } from '../base/hash.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { parseLossless } from '../base/lossless-json.ts';
import type { MetadataChange, UpdateTarget } from './bulk.ts';
import { DirectUpdateRefusedError, ObjectMissingError, VersionConflictError } from './errors.ts';
import { namedPairs } from './owners.ts';
import type { RowState } from './row.ts';
import { metadataProblems } from './selectors.ts';

/** What etcd takes of one object, in bytes. */
const LARGEST_OBJECT = 1.5 * 1024 * 1024;

/** The part of a row that a direct update changes. */
export interface ChangedMetadata {
  readonly resourceVersion: string;
  readonly json: string;
  readonly contentHash: string;
  readonly proto: Uint8Array;
  readonly labels: readonly (readonly [key: string, value: string])[];
  readonly owners: readonly (readonly [key: string, value: string])[];
  readonly annotations: readonly (readonly [key: string, value: string])[];
}

interface StoredForUpdate {
  readonly state: RowState;
  readonly resourceVersion: string;
  readonly json: string;
}

/**
 * The row after the change. Its resourceVersion is the stored one plus one: good for the next direct update, and for
 * nothing else. An object in etcd is refused, because its next state there could have that very version.
 */
export function changeMetadata(
  target: UpdateTarget,
  stored: StoredForUpdate | undefined,
  change: MetadataChange,
): ChangedMetadata {
  const problems = [...versionProblems(target), ...metadataProblems(change)];
  if (problems.length > 0) throw new DirectUpdateRefusedError(problems.join('; '));
  if (stored === undefined || stored.state === 'deleted') throw new ObjectMissingError(target.uid);
  if (stored.state !== 'evicted') {
    throw new DirectUpdateRefusedError('the object is in the cluster; change it there');
  }
  if (target.resourceVersion !== undefined && target.resourceVersion !== stored.resourceVersion) {
    throw new VersionConflictError(target.resourceVersion, stored.resourceVersion);
  }
  return changed(stored, change);
}

function versionProblems({ resourceVersion }: UpdateTarget): readonly string[] {
  if (resourceVersion === undefined || /^(0|[1-9]\d{0,19})$/.test(resourceVersion)) return [];
  return [`"${resourceVersion.slice(0, 50)}" is no resourceVersion`];
}

function changed(stored: StoredForUpdate, change: MetadataChange): ChangedMetadata {
  const object = parseLossless(stored.json);
  const root = isJsonObject(object) ? object : {};
  const metadata = isJsonObject(root['metadata']) ? root['metadata'] : {};
  const labels = merged(metadata['labels'], change.labels);
  const annotations = merged(metadata['annotations'], change.annotations);
  const resourceVersion = String(BigInt(stored.resourceVersion) + 1n);
  const { labels: _labels, annotations: _annotations, ...rest } = metadata;
  const next: JsonObject = {
    ...root,
    metadata: {
      ...rest,
      resourceVersion,
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
  };
  const json = JSON.stringify(next);
  const most = Math.max(LARGEST_OBJECT, Buffer.byteLength(stored.json));
  if (Buffer.byteLength(json) > most) {
    throw new DirectUpdateRefusedError(`the object would be larger than ${most} bytes, and could not be restored`);
  }
  return {
    resourceVersion,
    json,
    contentHash: contentHash(next),
    proto: change.encode(next),
    labels: Object.entries(labels),
    owners: namedPairs(next),
    annotations: Object.entries(annotations),
  };
}

function merged(
  stored: unknown,
  wanted: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> {
  const before = Object.fromEntries(Object.entries(isJsonObject(stored) ? stored : {}).filter(isText));
  if (wanted === undefined) return before;
  const ours = (key: string): boolean => key.startsWith(SYSTEM_PREFIX);
  return Object.fromEntries([
    ...Object.entries(before).filter(([key]) => ours(key)),
    ...Object.entries(wanted).filter(([key]) => !ours(key)),
  ]);
}

function isText(entry: readonly [string, unknown]): entry is [string, string] {
  return typeof entry[1] === 'string';
}
