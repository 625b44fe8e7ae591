// A merge patch (RFC 7386) of a stored object: it changes labels and annotations, and nothing else of the object. Pure.
import { GROUP, LAST_APPLIED_ANNOTATION, SYSTEM_PREFIX, VERSION } from '../api/names.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { QueryError } from './errors.ts';
import { STORED_GROUP, STORED_GROUP_VERSION } from './names.ts';
import type { ObjectTarget } from './paths.ts';
import type { MapPatch, MetadataPatch } from './write-port.ts';

/** Keys that the program writes itself, exist in answers only, or repeat the whole object. */
const reserved = [SYSTEM_PREFIX, `${STORED_GROUP}/`];
const APPLIED =
  `what is stored cannot be applied: apply it with apiVersion: ${GROUP}/${VERSION} to an object in the cluster, ` +
  'restore it first, or use kubectl label and annotate';

/** Throws a QueryError with everything that is wrong. What says again which object it is, is checked. */
export function parseMetadataPatch(body: unknown, target: Omit<ObjectTarget, 'type'>): MetadataPatch {
  const problems: string[] = [];
  const root = objectIn(body, 'the patch', problems);
  const metadata = objectIn(root['metadata'] ?? {}, 'metadata', problems);
  const { kind, namespace, name } = target;
  refuseOthers(root, { apiVersion: STORED_GROUP_VERSION, kind: kind.kind, metadata }, '', problems);
  const changing = Object.fromEntries(changeable.map((key) => [key, metadata[key]]));
  refuseOthers(metadata, { name, namespace, ...changing }, 'metadata.', problems);
  const patch: MetadataPatch = {
    uid: textIn(metadata, 'uid', problems),
    resourceVersion: textIn(metadata, 'resourceVersion', problems),
    labels: mapIn(metadata, 'labels', problems),
    annotations: mapIn(metadata, 'annotations', problems),
  };
  if (problems.length > 0) throw new QueryError('BadRequest', problems.join('; '), { plural: kind.plural, name });
  return patch;
}

/** The map after the patch. */
export function patchedMap(
  current: Readonly<Record<string, string>>,
  patch: MapPatch | undefined,
): Readonly<Record<string, string>> {
  if (patch === undefined) return current;
  if (patch === null) return {};
  const next = new Map<string, string | null>([...Object.entries(current), ...Object.entries(patch)]);
  return Object.fromEntries([...next].filter((entry): entry is [string, string] => entry[1] !== null));
}

const changeable = ['uid', 'resourceVersion', 'labels', 'annotations'];

function objectIn(value: unknown, what: string, problems: string[]): JsonObject {
  if (isJsonObject(value)) return value;
  problems.push(`${what} is a JSON object`);
  return {};
}

/** Everything but these keys, with these values, is a change that is not made here. */
function refuseOthers(found: JsonObject, same: JsonObject, path: string, problems: string[]): void {
  for (const [key, value] of Object.entries(found)) {
    if (Object.hasOwn(same, key) && same[key] === value) continue;
    const shown = `${path}${key}`.slice(0, 100);
    problems.push(`${shown} of a stored object cannot be changed: only metadata.labels and metadata.annotations can`);
  }
}

function textIn(metadata: JsonObject, key: string, problems: string[]): string | undefined {
  const value = metadata[key] ?? '';
  if (typeof value !== 'string') problems.push(`metadata.${key} is a text`);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function mapIn(metadata: JsonObject, key: 'labels' | 'annotations', problems: string[]): MapPatch | undefined {
  const map = metadata[key];
  if (map === undefined || map === null) return map;
  const entries = Object.entries(objectIn(map, `metadata.${key}`, problems));
  for (const [name, value] of entries) {
    const shown = `metadata.${key} ${JSON.stringify(name.slice(0, 100))}`;
    if (name === LAST_APPLIED_ANNOTATION) problems.push(APPLIED);
    else if (reserved.some((prefix) => name.startsWith(prefix))) problems.push(`${shown} is not changed by users`);
    if (value !== null && typeof value !== 'string') problems.push(`${shown} is a text, or null to remove it`);
  }
  return Object.fromEntries(entries) as MapPatch;
}
