// An object that is nested deeper than the databases and the readers of protobuf can take could not be stored as it is. So
// it is refused where it comes in.
//
//   CREATE, or UPDATE of an object that was not too deep   refused
//   UPDATE of one that was                                 allowed: it is there, and must stay editable
//   status                                                 not asked: its controller would repeat a refused one for ever
import { GROUP } from '../../src/api/names.ts';
import { isJsonObject, type JsonObject } from '../../src/base/json.ts';
import type { ValidatingPolicy } from '../policy.ts';

/**
 * Objects and lists inside each other, the whole object among them. MariaDB takes 31, MySQL 100, and readers of protobuf
 * in C++, Java and Python about 33, because each level of a Struct is three messages.
 */
const MAX_DEPTH = 30;

export const nestingDepth: ValidatingPolicy = {
  name: 'nesting-depth',
  appliesTo: ({ group, operation, subresource }) =>
    group === GROUP && subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
  review: ({ object, oldObject }) => {
    if (!isTooDeep(stored(object)) || isTooDeep(stored(oldObject))) return { allowed: true };
    const message = `the object is nested deeper than ${MAX_DEPTH} levels and could not be stored; make it flatter, or put the nested part into one text`;
    return { allowed: false, message };
  },
};

/** Without managedFields, which repeat the nesting some levels further down and are never stored. */
function stored(object: JsonObject | undefined): JsonObject | undefined {
  if (!isJsonObject(object?.['metadata'])) return object;
  const { managedFields: _, ...metadata } = object['metadata'];
  return { ...object, metadata };
}

/** Level by level, so it needs no stack, and ends as soon as it knows. */
function isTooDeep(value: unknown): boolean {
  let level: readonly object[] = [value].filter(isContainer);
  for (let deep = 0; level.length > 0; deep += 1) {
    if (deep === MAX_DEPTH) return true;
    level = level.flatMap((each) => Object.values(each).filter(isContainer));
  }
  return false;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
