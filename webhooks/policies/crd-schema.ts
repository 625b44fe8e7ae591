// Whether everything that one schema accepts and keeps, another accepts and keeps too. Pure: two nodes of an OpenAPI v3
// schema as a CRD has it go in, what got lost or narrower comes out. What got wider is no finding.
import type { Place, Step } from '../../src/api/place.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue, ownValue } from '../../src/base/json.ts';

/** One thing that the new definition takes away. */
export interface Finding {
  /** e.g. `v2: spec.workers[].pod`. */
  readonly path: string;
  /** e.g. `property removed`. */
  readonly what: string;
  /** An object with nothing there loses nothing. Undefined where the finding is about more than a part of the schema. */
  readonly place?: Place;
}

/** What is found of a rule in CEL. */
export const RULE_ADDED = 'validation rule added or changed';

/** Where both nodes are: for the reader, and in an object. */
interface Position {
  readonly path: string;
  readonly place: Place;
}

type Node = JsonObject;
/** Looks at one aspect of a node; yields what got narrower. */
type Check = (before: Node, after: Node) => Iterable<string>;

const PRESERVE = 'x-kubernetes-preserve-unknown-fields';
const INT_OR_STRING = 'x-kubernetes-int-or-string';

const checks: readonly Check[] = [
  typeChanged,
  ...['minimum', 'minLength', 'minItems', 'minProperties'].map((key) => lowerBound(key)),
  ...['maximum', 'maxLength', 'maxItems', 'maxProperties'].map((key) => upperBound(key)),
  ...[PRESERVE, 'nullable'].map((key) => flagLost(key)),
  ...['uniqueItems', 'exclusiveMinimum', 'exclusiveMaximum'].map((key) => flagAdded(key)),
  ...['pattern', 'multipleOf', 'not'].map((key) => valueRestricted(key)),
  ...['anyOf', 'oneOf'].map((key) => branchesLost(key)),
  ...['x-kubernetes-list-map-keys', 'x-kubernetes-embedded-resource'].map((key) => valueChanged(key)),
  kindOfListChanged,
  kindOfMapChanged,
  formatNarrowed,
  enumNarrowed,
  requiredAdded,
  allOfAdded,
  rulesAdded,
];

/** `path` is where the schemas of whole objects are. A node that is missing accepts anything. */
export function compareSchemas(before: JsonValue | undefined, after: JsonValue | undefined, path: string): Finding[] {
  return compareNodes(before, after, { path, place: [] });
}

function compareNodes(before: JsonValue | undefined, after: JsonValue | undefined, at: Position): Finding[] {
  if (!isJsonObject(after)) return [];
  if (!isJsonObject(before)) return isTrivial(after) ? [] : [{ ...at, what: 'had no schema and now has one' }];
  const here = checks.flatMap((check) => [...check(before, after)].map((what) => ({ ...at, what })));
  return [...here, ...compareFields(before, after, at), ...compareItems(before, after, at)];
}

function compareItems(before: Node, after: Node, at: Position): Finding[] {
  if (before['items'] === undefined && after['items'] === undefined) return [];
  return compareNodes(before['items'], after['items'], inside(at, `${at.path}[]`, 'each'));
}

function compareFields(before: Node, after: Node, position: Position): Finding[] {
  const [old, fresh] = [propertiesOf(before), propertiesOf(after)];
  const kept = Object.keys(old).flatMap((name) => {
    const at = property(position, name);
    if (Object.hasOwn(fresh, name)) return compareNodes(old[name], fresh[name], at);
    const rest = after['additionalProperties'];
    if (isJsonObject(rest)) return compareNodes(old[name], rest, at);
    return rest === true || preserves(after) ? [] : [{ ...at, what: 'property removed' }];
  });
  const added = Object.keys(fresh).filter((name) => !Object.hasOwn(old, name));
  const values = compareMapValues(before['additionalProperties'], after, position);
  return [...kept, ...added.flatMap((name) => compareAdded(before, fresh[name], property(position, name))), ...values];
}

/** A property that is new restricts only what was allowed under its name before. */
function compareAdded(before: Node, added: JsonValue | undefined, at: Position): Finding[] {
  const rest = before['additionalProperties'];
  if (rest !== undefined && rest !== false) return compareNodes(rest, added, at);
  return preserves(before) && !isTrivial(added) ? [{ ...at, what: 'was free and now has a schema' }] : [];
}

function compareMapValues(before: JsonValue | undefined, after: Node, at: Position): Finding[] {
  if (before === undefined || before === false) return [];
  const rest = after['additionalProperties'];
  if (rest === true || (rest === undefined && preserves(after))) return [];
  if (rest === undefined || rest === false) return [{ ...at, what: 'keys of a map removed' }];
  return compareNodes(before, rest, inside(at, `${at.path}.*`, 'each'));
}

function* typeChanged(before: Node, after: Node): Iterable<string> {
  const [from, to] = [typesOf(before), typesOf(after)];
  if (to === undefined) return;
  if (from?.every((type) => to.includes(type)) !== true) {
    yield `type changed from ${(from ?? ['any']).join(' or ')} to ${to.join(' or ')}`;
  }
}

/** Undefined: any. Every integer is a number. */
function typesOf(node: Node): readonly string[] | undefined {
  if (node[INT_OR_STRING] === true) return ['integer', 'string'];
  const { type } = node;
  if (typeof type !== 'string') return undefined;
  return type === 'number' ? ['number', 'integer'] : [type];
}

function lowerBound(key: string): Check {
  return function* check(before, after) {
    const [from, to] = [numberOf(before[key]), numberOf(after[key])];
    if (to !== undefined && (from === undefined || to > from)) yield `${key} raised`;
  };
}

function upperBound(key: string): Check {
  return function* check(before, after) {
    const [from, to] = [numberOf(before[key]), numberOf(after[key])];
    if (to !== undefined && (from === undefined || to < from)) yield `${key} lowered`;
  };
}

function flagLost(key: string): Check {
  return function* check(before, after) {
    if (before[key] === true && after[key] !== true) yield `${key} removed`;
  };
}

function flagAdded(key: string): Check {
  return function* check(before, after) {
    if (before[key] !== true && after[key] === true) yield `${key} added`;
  };
}

function valueRestricted(key: string): Check {
  return function* check(before, after) {
    const to = after[key];
    if (to !== undefined && canonicalJson(before[key] ?? null) !== canonicalJson(to)) {
      yield before[key] === undefined ? `${key} added` : `${key} changed`;
    }
  };
}

function valueChanged(key: string): Check {
  return function* check(before, after) {
    if (canonicalJson(before[key] ?? null) !== canonicalJson(after[key] ?? null)) yield `${key} changed`;
  };
}

function* kindOfListChanged(before: Node, after: Node): Iterable<string> {
  const [from, to] = [before, after].map((node) => node['x-kubernetes-list-type'] ?? 'atomic');
  if (from !== to) yield 'x-kubernetes-list-type changed';
}

function* kindOfMapChanged(before: Node, after: Node): Iterable<string> {
  const [from, to] = [before, after].map((node) => node['x-kubernetes-map-type'] ?? 'granular');
  if (from !== to) yield 'x-kubernetes-map-type changed';
}

/** A format that holds every value of another. */
const widerFormats: Readonly<Record<string, string>> = { int32: 'int64', float: 'double' };

function* formatNarrowed(before: Node, after: Node): Iterable<string> {
  const [from, to] = [before['format'], after['format']];
  if (to === undefined || from === to) return;
  if (typeof from === 'string' && ownValue(widerFormats, from) === to) return;
  yield from === undefined ? 'format added' : 'format changed';
}

function* enumNarrowed(before: Node, after: Node): Iterable<string> {
  const [from, to] = [before['enum'], after['enum']];
  if (!Array.isArray(to)) return;
  if (!Array.isArray(from)) {
    yield 'enum added';
    return;
  }
  const left = new Set(to.map(canonicalJson));
  if (from.some((value) => !left.has(canonicalJson(value)))) yield 'enum value removed';
}

/** A field with a default is never missing. */
function* requiredAdded(before: Node, after: Node): Iterable<string> {
  const from = new Set(textsOf(before['required']));
  const properties = propertiesOf(after);
  for (const name of textsOf(after['required'])) {
    const property = ownValue(properties, name);
    const defaulted = isJsonObject(property) && property['default'] !== undefined;
    if (!from.has(name) && !defaulted) yield `${name} became required`;
  }
}

/** A value may have needed the branch that is gone. Branches that are new reject nothing that is stored. */
function branchesLost(key: string): Check {
  return function* check(before, after) {
    const [from, to] = [before[key], after[key]];
    if (!Array.isArray(to)) return;
    if (!Array.isArray(from)) {
      yield `${key} added`;
      return;
    }
    const left = new Set(to.map(canonicalJson));
    if (from.some((branch) => !left.has(canonicalJson(branch)))) yield `${key} branch removed or changed`;
  };
}

function* allOfAdded(before: Node, after: Node): Iterable<string> {
  const [from, to] = [before['allOf'], after['allOf']].map((value) => (Array.isArray(value) ? value : []));
  const known = new Set((from ?? []).map(canonicalJson));
  if ((to ?? []).some((branch) => !known.has(canonicalJson(branch)))) yield 'allOf added or changed';
}

function* rulesAdded(before: Node, after: Node): Iterable<string> {
  const known = new Set(rulesOf(before));
  if (rulesOf(after).some((rule) => !known.has(rule))) yield RULE_ADDED;
}

function rulesOf(node: Node): readonly string[] {
  const rules = node['x-kubernetes-validations'];
  if (!Array.isArray(rules)) return [];
  return rules.flatMap((rule) => (isJsonObject(rule) && typeof rule['rule'] === 'string' ? [rule['rule']] : []));
}

function propertiesOf(node: Node): JsonObject {
  const { properties } = node;
  return isJsonObject(properties) ? properties : {};
}

function preserves(node: Node): boolean {
  return node[PRESERVE] === true;
}

/** Says nothing but that there may be something. */
function isTrivial(node: JsonValue | undefined): boolean {
  return !isJsonObject(node) || Object.keys(node).every((key) => key === PRESERVE || key === 'description');
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function property(at: Position, name: string): Position {
  return inside(at, at.path.endsWith(': ') ? `${at.path}${name}` : `${at.path}.${name}`, { key: name });
}

function inside({ place }: Position, path: string, step: Step): Position {
  return { path, place: [...place, step] };
}
