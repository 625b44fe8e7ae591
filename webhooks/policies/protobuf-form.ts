// Readers of the original get objects from the protobuf column. What does not fit its definitions, or is unknown to them,
// is stored in the json column alone, so the client is told while it can still change it.
//
//   CREATE, and UPDATE that brings such a field   a warning for each, never a refusal
//   status                                        not asked: its controller reads no warnings
//   the status of a CREATE                        not looked at: the API server drops it
import { commonPrefix, shortNames } from '../../src/api/enum-names.ts';
import type { IndexedColumn, KindDefinition } from '../../src/api/kind.ts';
import { GROUP } from '../../src/api/names.ts';
import { isStorable } from '../../src/api/storable.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { allKinds } from '../../src/kinds/kinds.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import type { LeftOut } from '../../src/proto/left-out.ts';
import type { ValidatingPolicy } from '../policy.ts';

/** More would be cut by the API server. */
const MAX_WARNINGS = 5;

const kindOf = new Map(allKinds.map((kind) => [kind.plural, kind]));

export const protobufForm: ValidatingPolicy = {
  name: 'protobuf-form',
  appliesTo: ({ group, plural, operation, subresource }) =>
    group === GROUP && subresource === '' && kindOf.has(plural) && (operation === 'CREATE' || operation === 'UPDATE'),
  review: ({ plural, operation, object, oldObject }) => {
    const kind = kindOf.get(plural);
    if (kind === undefined) return { allowed: true };
    const { status: _, ...created } = object ?? {};
    const before = new Set(problemsOf(kind, oldObject));
    const now = problemsOf(kind, operation === 'CREATE' ? created : object);
    const warnings = now.filter((problem) => !before.has(problem));
    return warnings.length === 0 ? { allowed: true } : { allowed: true, warnings: warnings.slice(0, MAX_WARNINGS) };
  },
};

/** An object that is nested too deeply has a rule of its own. */
function problemsOf(kind: KindDefinition, object: JsonObject | undefined): readonly string[] {
  if (object === undefined || !isStorable(object)) return [];
  const { metadata: _, ...content } = object;
  const problems: string[] = [];
  encodeObject(kind.kind, content, (left) => problems.push(problemOf(kind, left)));
  return problems;
}

/** What is lost comes first: a long list of values is cut. */
function problemOf({ indexes }: KindDefinition, { path, expected }: LeftOut): string {
  const column = indexes.flat().find((each) => each.path.join('.') === path);
  return `${path}: readers of the protobuf form do not get it; ${column?.values === undefined ? wanted(expected) : oneOf(column)}`;
}

function wanted(expected: string | undefined): string {
  return expected === undefined ? 'unknown to the protobuf definitions' : `expected ${expected}`;
}

/** Without the value that stands for none; clients take the word INVALID, which most name it, for a failure. */
function oneOf({ values = [], zero }: IndexedColumn): string {
  return `expected ${commonPrefix(values)} with one of ${shortNames(values, zero)}`;
}
