// What a new version of a CustomResourceDefinition takes away from the old one. Pure.
//
// The API server itself keeps only versions that are stored. A property that is gone is dropped from an object at its
// next write, without a word; a narrower rule makes objects that exist unwritable, and then even their finalizer stays.
import { compareApiVersions } from '../../src/api/api-version.ts';
import { INGESTER_GROUP } from '../../src/api/ingester/spec.ts';
import { isJsonObject, type JsonObject, valueAt } from '../../src/base/json.ts';
import { compareSchemas, type Finding, RULE_ADDED } from './crd-schema.ts';

/** Whole CRDs, as `kubectl get crd -o json` shows them. */
export function compareCrds(before: JsonObject, after: JsonObject): readonly Finding[] {
  const [old, fresh] = [versionsOf(before), versionsOf(after)];
  const findings = [
    ...compareIdentity(before, after),
    ...[...old.values()].flatMap((version) => compareVersion(version, fresh.get(nameOf(version)))),
    ...compareStorage(old, fresh, after),
  ];
  // A release may bring rules for what an Ingester says. The API server asks them of values that change, so that one that
  // is there stays writable, and there is nothing in it that Git does not have.
  return valueAt(before, ['spec', 'group']) === INGESTER_GROUP
    ? findings.filter(({ what }) => what !== RULE_ADDED)
    : findings;
}

const identity = [
  ['spec', 'group'],
  ['spec', 'scope'],
  ['spec', 'names', 'kind'],
  ['spec', 'names', 'listKind'],
  ['spec', 'names', 'plural'],
  ['spec', 'names', 'singular'],
] as const;

function* compareIdentity(before: JsonObject, after: JsonObject): Iterable<Finding> {
  for (const path of identity) {
    if (valueAt(before, path) !== valueAt(after, path)) yield { path: path.join('.'), what: 'changed' };
  }
  const unknownFields = ['spec', 'preserveUnknownFields'];
  if (valueAt(before, unknownFields) === true && valueAt(after, unknownFields) !== true) {
    yield { path: unknownFields.join('.'), what: 'removed' };
  }
  if (strategyOf(before) === 'Webhook' && strategyOf(after) !== 'Webhook') {
    yield { path: 'spec.conversion', what: 'webhook removed' };
  }
}

function strategyOf(crd: JsonObject): unknown {
  return valueAt(crd, ['spec', 'conversion', 'strategy']);
}

function compareVersion(before: JsonObject, after: JsonObject | undefined): readonly Finding[] {
  const name = nameOf(before);
  if (after === undefined) return [{ path: name, what: 'version removed' }];
  const findings = compareSchemas(schemaOf(before), schemaOf(after), `${name}: `);
  if (before['served'] === true && after['served'] !== true) findings.push({ path: name, what: 'no longer served' });
  for (const subresource of Object.keys(subresourcesOf(before))) {
    if (Object.hasOwn(subresourcesOf(after), subresource)) continue;
    findings.push({ path: name, what: `subresource ${subresource} removed` });
  }
  return findings;
}

/** Where another version is stored from now on, it must hold what the old one held. */
function compareStorage(
  before: ReadonlyMap<string, JsonObject>,
  after: ReadonlyMap<string, JsonObject>,
  crd: JsonObject,
): readonly Finding[] {
  const [old, fresh] = [storedOf(before), storedOf(after)];
  if (old === undefined || fresh === undefined || nameOf(old) === nameOf(fresh)) return [];
  const path = `${nameOf(old)} -> ${nameOf(fresh)}`;
  if (compareApiVersions(nameOf(old), nameOf(fresh)) !== 'newer') return [{ path, what: 'storage version goes back' }];
  return strategyOf(crd) === 'Webhook' ? [] : compareSchemas(schemaOf(old), schemaOf(fresh), `${path}: `);
}

/** A version through which the objects can be read; undefined where there is none. */
export function servedVersionOf(crd: JsonObject): string | undefined {
  const served = [...versionsOf(crd).values()].filter((version) => version['served'] === true);
  const version = served.find((each) => each['storage'] === true) ?? served[0];
  return version === undefined ? undefined : nameOf(version);
}

function storedOf(versions: ReadonlyMap<string, JsonObject>): JsonObject | undefined {
  return [...versions.values()].find((version) => version['storage'] === true);
}

function versionsOf(crd: JsonObject): ReadonlyMap<string, JsonObject> {
  const versions = valueAt(crd, ['spec', 'versions']);
  const list = Array.isArray(versions) ? versions.filter((version) => isJsonObject(version)) : [];
  return new Map(list.map((version) => [nameOf(version), version]));
}

function nameOf(version: JsonObject): string {
  const { name } = version;
  return typeof name === 'string' ? name : '';
}

function schemaOf(version: JsonObject): JsonObject {
  const schema = valueAt(version, ['schema', 'openAPIV3Schema']);
  return isJsonObject(schema) ? schema : { 'x-kubernetes-preserve-unknown-fields': true };
}

function subresourcesOf(version: JsonObject): JsonObject {
  const { subresources } = version;
  return isJsonObject(subresources) ? subresources : {};
}
