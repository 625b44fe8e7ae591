// How the original's API server compares a CRD of the cluster with its own. It looks at types, properties, items and
// branches, and at nothing else: a property that is gone and a type that differs are incompatible, wherever they are.
import { CodedError } from '../../../src/base/errors.ts';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { isJsonObject, valueAt } from '../../../src/base/json.ts';

/** What is incompatible, by path; empty where the new definition may replace the old one. */
export function incompatibilities(before: JsonObject, after: JsonObject): readonly string[] {
  const fresh = versionsOf(after);
  if (fresh.length === 0) return ['no versions'];
  return versionsOf(before).flatMap((old) => {
    const next = fresh.find(({ name }) => name === old['name']);
    if (next === undefined) throw new CodedError('ORIGINAL_COMPARES', `version ${nameOf(old)} is not in the new CRD`);
    return differences(schemaOf(old), schemaOf(next), nameOf(old));
  });
}

export function versionsOf(crd: JsonObject): readonly JsonObject[] {
  const versions = valueAt(crd, ['spec', 'versions']);
  return Array.isArray(versions) ? versions.filter((version) => isJsonObject(version)) : [];
}

export function nameOf({ name }: JsonObject): string {
  return typeof name === 'string' ? name : '';
}

function schemaOf(version: JsonObject): JsonValue | undefined {
  return valueAt(version, ['schema', 'openAPIV3Schema']) as JsonValue | undefined;
}

function differences(before: JsonValue | undefined, after: JsonValue | undefined, path: string): readonly string[] {
  const [old, fresh] = [objectOr(before), objectOr(after)];
  const [from, to] = [old['type'] ?? '', fresh['type'] ?? ''];
  return [
    ...(from === to ? [] : [`${path}: type ${JSON.stringify(from)} is ${JSON.stringify(to)}`]),
    ...propertyDifferences(objectOr(old['properties']), objectOr(fresh['properties']), path),
    ...(old['items'] === undefined && fresh['items'] === undefined
      ? []
      : differences(old['items'], fresh['items'], `${path}[]`)),
    ...['oneOf', 'anyOf', 'allOf'].flatMap((key) => branchDifferences(old[key], fresh[key], `${path}.${key}`)),
  ];
}

function propertyDifferences(before: JsonObject, after: JsonObject, path: string): readonly string[] {
  return Object.entries(before).flatMap(([name, schema]) =>
    Object.hasOwn(after, name) ? differences(schema, after[name], `${path}.${name}`) : [`${path}.${name} is gone`],
  );
}

function branchDifferences(before: JsonValue | undefined, after: JsonValue | undefined, path: string): string[] {
  const [old, fresh] = [before, after].map((value) => (Array.isArray(value) ? value : []));
  return (old ?? []).flatMap((branch, index) => {
    const next = fresh?.[index];
    return next === undefined ? [`${path}[${index}] is gone`] : differences(branch, next, `${path}[${index}]`);
  });
}

function objectOr(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
