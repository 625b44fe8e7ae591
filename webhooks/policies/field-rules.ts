// What the original system's API server checks before it stores an object, and a CRD does not say: so kubectl users get
// the same help. The rules of each kind are in the catalogue of kinds.
//
//   a value that breaks a rule               a warning, or refused by setting
//   a value that broke it before the update  not mentioned: the object must stay editable
//   a rule below an object that is not there does not count
import type { FieldRule } from '../../src/api/kind.ts';
import { GROUP } from '../../src/api/names.ts';
import { isJsonObject, type JsonObject, ownValue } from '../../src/base/json.ts';
import { allKinds } from '../../src/kinds/kinds.ts';
import type { ValidatingPolicy, Verdict } from '../policy.ts';
import type { AdmissionRequest } from '../review.ts';
import { quoted } from './message.ts';

/** More would be cut by the API server. */
const MAX_WARNINGS = 10;
const MAX_PATH = 60;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

const ofPlural = new Map(allKinds.map((kind) => [kind.plural, kind.fieldRules]));

export function fieldRules(mode: 'deny' | 'warn' | 'off'): ValidatingPolicy {
  return {
    name: 'field-rules',
    appliesTo: ({ group, plural, operation, subresource }) =>
      mode !== 'off' &&
      group === GROUP &&
      subresource === '' &&
      (operation === 'CREATE' || operation === 'UPDATE') &&
      (ofPlural.get(plural) ?? []).length > 0,
    review: (request) => reviewFields(request, mode),
  };
}

function reviewFields({ plural, object, oldObject }: AdmissionRequest, mode: 'deny' | 'warn' | 'off'): Verdict {
  const rules = ofPlural.get(plural) ?? [];
  const before = new Set(problemsOf(oldObject ?? {}, rules));
  const problems = problemsOf(object ?? {}, rules).filter((problem) => oldObject === undefined || !before.has(problem));
  const [first] = problems;
  if (first === undefined) return { allowed: true };
  if (mode !== 'deny') return { allowed: true, warnings: problems.slice(0, MAX_WARNINGS) };
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  return { allowed: false, message: `${first}${more}; correct the object` };
}

/** One line for each rule that is broken. */
export function problemsOf(object: JsonObject, rules: readonly FieldRule[]): readonly string[] {
  return rules.flatMap((rule) =>
    placesOf(object, rule.path, []).flatMap(({ at, value }) => {
      const problem = problemWith(rule, value);
      return problem === undefined ? [] : [`${quoted(at.join('.'), MAX_PATH)}: ${problem}`];
    }),
  );
}

interface Place {
  readonly at: readonly string[];
  readonly value: unknown;
}

/** Where the path leads in this object; `*` stands for each value of a map and each item of a list. */
function placesOf(value: unknown, path: readonly string[], at: readonly string[]): readonly Place[] {
  const [step, ...rest] = path;
  if (step === undefined) return [{ at, value }];
  if (step === '*') {
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([key, nested]: [string, unknown]) => placesOf(nested, rest, [...at, key]));
  }
  if (!isJsonObject(value)) return [];
  return placesOf(ownValue(value, step), rest, [...at, step]);
}

function problemWith(rule: FieldRule, value: unknown): string | undefined {
  switch (rule.rule) {
    case 'required':
      return isEmpty(value) ? 'must not be empty' : undefined;
    case 'uuid':
      return UUID.test(textOf(value)) ? undefined : 'must be a UUID';
    case 'range':
      return isInRange(Number(value ?? 0), rule) ? undefined : `must be ${describeRange(rule)}`;
    case 'text':
      return problemWithText(rule, textOf(value));
    case 'one-of': {
      if (!isJsonObject(value)) return undefined;
      const set = rule.members.some((member) => !isEmpty(value[member]));
      return set ? undefined : `must have one of ${rule.members.join(', ')}`;
    }
  }
}

function problemWithText(rule: Extract<FieldRule, { rule: 'text' }>, text: string): string | undefined {
  if (rule.maxLength !== undefined && Array.from(text).length > rule.maxLength) {
    return `must have at most ${rule.maxLength} characters`;
  }
  if (rule.pattern === undefined || new RegExp(rule.pattern).test(text)) return undefined;
  return `must match ${rule.pattern}`;
}

function isInRange(value: number, { minimum, maximum }: { minimum: number; maximum?: number }): boolean {
  return value >= minimum && (maximum === undefined || value <= maximum);
}

function describeRange({ minimum, maximum }: { minimum: number; maximum?: number }): string {
  return maximum === undefined ? `at least ${minimum}` : `from ${minimum} to ${maximum}`;
}

/** What protobuf does not tell from a field that is not there. */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
