// Objects with every field of their kind, and the rows that the original makes of them: bytes by the numbers on record,
// columns by the paths of its definitions.
import assert from 'node:assert/strict';
import type { IndexedColumn } from '../../../src/api/kind.ts';
import { type JsonObject, valueAt } from '../../../src/base/json.ts';
import { kindNamed } from '../../support/objects.ts';
import { everyFieldOf } from '../../unit/proto/every-field.ts';
import { referenceBytes } from './reference-encoder.ts';
import type { OriginalObject, SqlValue } from './statements.ts';

export interface Wanted {
  readonly kind: string;
  readonly uid: string;
  readonly version: number;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const made = new Map<string, JsonObject>();

function everyField(kind: string): JsonObject {
  const known = made.get(kind) ?? everyFieldOf(kind).objects[0] ?? assert.fail(kind);
  made.set(kind, known);
  return known;
}

export function anObject({
  kind,
  uid,
  version,
  namespace = 'both',
  labels = {},
  annotations = {},
}: Wanted): JsonObject & {
  readonly metadata: { readonly name: string };
} {
  return {
    ...everyField(kind),
    metadata: {
      ...{ name: `n-${uid}`, namespace, uid, resourceVersion: String(version), generation: 3 },
      // Deployments have a column for the second.
      ...{ creationTimestamp: '2026-05-01T08:00:00Z', deletionTimestamp: '2026-05-02T08:00:00Z' },
      ...{ labels, annotations },
    },
  };
}

export function asOriginal(wanted: Wanted): OriginalObject {
  const object = anObject(wanted);
  const columns = kindNamed(wanted.kind).indexes.flat();
  return {
    ...{ uid: wanted.uid, namespace: wanted.namespace ?? 'both', name: object.metadata.name },
    resourceVersion: wanted.version,
    ...{ labels: wanted.labels ?? {}, annotations: wanted.annotations ?? {} },
    proto: referenceBytes(wanted.kind, object),
    json: JSON.stringify(object),
    indexed: Object.fromEntries(columns.map((column) => [column.name, columnOf(column, object)])),
  };
}

function columnOf({ name, path, type }: IndexedColumn, object: JsonObject): SqlValue {
  const value = valueAt(object, path);
  if (type === 'bool') return value === true ? 1 : 0;
  if (typeof value === 'number') return value;
  assert.ok(typeof value === 'string' && value !== '', `${name} has no value`);
  return type === 'time' ? value.slice(0, 19).replace('T', ' ') : value;
}
