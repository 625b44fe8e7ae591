// What another client had changed of an object that is applied; pure. An object carries the hash of what was applied last:
// where that is what is applied now, everything that the apply changed was changed by another client in between.
import type { KubernetesObject } from '../../api/object.ts';
import { contentHash } from '../../base/hash.ts';
import { isJsonObject, ownValue, valueAt } from '../../base/json.ts';
import type { Child } from '../children/kinds.ts';

/** Hash of the whole manifest that was applied. Where it is missing, whatever differs was changed by the controller itself. */
export const MANIFEST_ANNOTATION = 'michelangelo/manifest';

export interface Manifest {
  readonly metadata: { readonly annotations: object };
}

export function withManifestHash({ body }: Pick<Child, 'body'>): Manifest {
  const metadata: unknown = valueAt(body, ['metadata']);
  const annotations: unknown = valueAt(metadata, ['annotations']);
  const noted = { ...(isJsonObject(annotations) ? annotations : {}), [MANIFEST_ANNOTATION]: contentHash(body) };
  return { ...body, metadata: { ...(isJsonObject(metadata) ? metadata : {}), annotations: noted } };
}

/** Paths of the fields of the manifest that were other ones before it was applied; `after` is what the apply returned. */
export function changedByOthers(
  { body }: Pick<Child, 'body'>,
  before: KubernetesObject,
  after: KubernetesObject,
): readonly string[] {
  if (before.metadata.annotations?.[MANIFEST_ANNOTATION] !== contentHash(body)) return [];
  return differences(body, before, after, '');
}

function differences(shape: unknown, before: unknown, after: unknown, path: string): readonly string[] {
  if (!isJsonObject(shape) && !Array.isArray(shape)) return Object.is(before, after) ? [] : [path];
  return Object.entries(shape as object).flatMap(([key, each]) => {
    const below = Array.isArray(shape) ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${key}`;
    return differences(each, memberOf(before, key), memberOf(after, key), below);
  });
}

/** Of an object or a list. */
function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? ownValue(value as Record<string, unknown>, key) : undefined;
}
