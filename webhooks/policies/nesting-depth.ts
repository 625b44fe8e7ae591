// An object that is nested deeper than the databases and the readers of protobuf can take, or has a longer key, could not be
// stored as it is. So
// it is refused where it comes in.
//
//   CREATE, or UPDATE of an object that was not too deep   refused
//   UPDATE of one that was                                 allowed: it is there, and must stay editable
//   status                                                 not asked: its controller would repeat a refused one for ever
import { GROUP } from '../../src/api/names.ts';
import { isStorable, MAX_DEPTH, MAX_KEY_BYTES } from '../../src/api/storable.ts';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import type { ValidatingPolicy } from '../policy.ts';

export const nestingDepth: ValidatingPolicy = {
  name: 'nesting-depth',
  appliesTo: ({ group, operation, subresource }) =>
    group === GROUP && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
  review: ({ object, oldObject }) => {
    if (isStorable(stored(object)) || !isStorable(stored(oldObject))) return { allowed: true };
    const message = `the object is nested deeper than ${MAX_DEPTH} levels, or has a key of more than ${MAX_KEY_BYTES} bytes, and could not be stored; make it flatter, or put the nested part into one text`;
    return { allowed: false, message };
  },
};

/** Without managedFields, which repeat the nesting some levels further down and are never stored. */
function stored(object: JsonObject | undefined): JsonObject | undefined {
  if (!isJsonObject(object?.['metadata'])) return object;
  const { managedFields: _, ...metadata } = object['metadata'];
  return { ...object, metadata };
}
