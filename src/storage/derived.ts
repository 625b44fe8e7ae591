// Everything a row holds twice: what can be found by is taken from the json, so it can be written again from there.
import type { KindDefinition } from '../api/kind.ts';
import type { KubernetesObject } from '../api/object.ts';
import { isJsonObject, valueAt } from '../base/json.ts';
import { parseLossless } from '../base/lossless-json.ts';
import { columnValues } from './columns.ts';
import type { ObjectRow } from './row.ts';

export type Derived = Pick<ObjectRow, 'columns' | 'labels' | 'annotations'>;

export function derivedFrom(kind: KindDefinition, json: string): Derived {
  const object = parseLossless(json);
  return {
    columns: columnValues(kind, object as KubernetesObject),
    labels: texts(valueAt(object, ['metadata', 'labels'])),
    annotations: texts(valueAt(object, ['metadata', 'annotations'])),
  };
}

function texts(map: unknown): Derived['labels'] {
  const entries = Object.entries(isJsonObject(map) ? map : {});
  return entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
}
