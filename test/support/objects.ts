import type { KindDefinition } from '../../src/api/kind.ts';
import { DELETING_ANNOTATION, FINALIZER, IMMUTABLE_ANNOTATION } from '../../src/api/names.ts';
import type { KubernetesObject, ObjectMeta } from '../../src/api/object.ts';
import { CodedError } from '../../src/base/errors.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { findKind } from '../../src/kinds/kinds.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import type { ObjectRow } from '../../src/storage/row.ts';
import { toRow } from '../../src/sync/row.ts';

export const deleting: Readonly<Record<string, string>> = { [DELETING_ANNOTATION]: 'true' };
export const immutable: Readonly<Record<string, string>> = { [IMMUTABLE_ANNOTATION]: 'true' };

export function kindNamed(name: string): KindDefinition {
  const kind = findKind(name);
  if (kind === undefined) throw new CodedError('TEST_SETUP', `no kind ${name}`);
  return kind;
}

export const modelKind: KindDefinition = kindNamed('Model');

/** A Model as the API server would send it; a test states only what matters to it. */
export function aModel(metadata: Partial<ObjectMeta> = {}, spec: JsonObject = {}): KubernetesObject {
  return {
    apiVersion: 'michelangelo.api/v2',
    kind: 'Model',
    metadata: {
      name: 'a-model',
      namespace: 'a-namespace',
      uid: '00000000-0000-4000-8000-000000000001',
      resourceVersion: '10',
      // Counted up by a deletion, as the API server does it.
      generation: metadata.deletionTimestamp === undefined ? 1 : 2,
      creationTimestamp: '2026-01-02T03:04:05Z',
      finalizers: [FINALIZER],
      ...metadata,
    },
    spec: { algorithm: 'xgboost', ...spec },
    status: {},
  };
}

export function rowOf(object: KubernetesObject): ObjectRow {
  return toRow(kindNamed(object.kind), object, encodeObject);
}

export function aModelRow(metadata: Partial<ObjectMeta> = {}, spec: JsonObject = {}): ObjectRow {
  return rowOf(aModel(metadata, spec));
}
