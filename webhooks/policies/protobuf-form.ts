// Readers of the original get objects from the protobuf column. What does not fit its definitions, or is unknown to them,
// is stored in the json column alone, so the client is told while it can still change it.
//
//   CREATE, and UPDATE that brings such a field   a warning for each, never a refusal
//   status                                        not asked: its controller reads no warnings
import { GROUP } from '../../src/api/names.ts';
import { isStorable } from '../../src/api/storable.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { kindNames } from '../../src/kinds/kind-names.ts';
import { encodeObject } from '../../src/proto/encode.ts';
import type { ValidatingPolicy } from '../policy.ts';

/** More would be cut by the API server. */
const MAX_WARNINGS = 5;

const kindOf = new Map(kindNames.map(({ kind, plural }) => [plural, kind]));

export const protobufForm: ValidatingPolicy = {
  name: 'protobuf-form',
  appliesTo: ({ group, plural, operation, subresource }) =>
    group === GROUP && subresource === '' && kindOf.has(plural) && (operation === 'CREATE' || operation === 'UPDATE'),
  review: ({ plural, object, oldObject }) => {
    const kind = kindOf.get(plural) ?? '';
    const before = new Set(problemsOf(kind, oldObject));
    const warnings = problemsOf(kind, object).filter((problem) => !before.has(problem));
    return warnings.length === 0 ? { allowed: true } : { allowed: true, warnings: warnings.slice(0, MAX_WARNINGS) };
  },
};

/** An object that is nested too deeply has a rule of its own. */
function problemsOf(kind: string, object: JsonObject | undefined): readonly string[] {
  if (object === undefined || !isStorable(object)) return [];
  const { metadata: _, ...content } = object;
  const problems: string[] = [];
  encodeObject(kind, content, ({ path, expected }) =>
    problems.push(
      expected === undefined
        ? `${path}: unknown to the protobuf definitions; only the json column will have it`
        : `${path}: expected ${expected}; only the json column will have it`,
    ),
  );
  return problems;
}
