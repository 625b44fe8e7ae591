// The law behind comparing CRDs: where nothing is found, everything that the old schema accepted is accepted by the new
// one, and nothing of it is dropped.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { hasValueAt } from '../../src/api/place.ts';
import { isJsonObject, type JsonObject, type JsonValue, sameJson } from '../../src/base/json.ts';
import { compareSchemas } from '../../webhooks/policies/crd-schema.ts';

const PRESERVE = 'x-kubernetes-preserve-unknown-fields';

const names = ['a', 'b', 'c'] as const;
const some = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined, freq: 1 });

function withoutMissing(node: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(node).filter(([, value]) => value !== undefined));
}

const { schema } = fc.letrec<{
  schema: JsonObject;
  text: JsonObject;
  number: JsonObject;
  map: JsonObject;
  list: JsonObject;
  record: JsonObject;
}>((tie) => ({
  text: fc
    .record({
      type: fc.constant('string'),
      enum: some(fc.subarray(['x', 'xy', 'xyz'], { minLength: 1 })),
      minLength: some(fc.integer({ min: 0, max: 3 })),
      maxLength: some(fc.integer({ min: 1, max: 3 })),
      nullable: some(fc.boolean()),
    })
    .map(withoutMissing),
  number: fc
    .record({
      type: fc.constantFrom('integer', 'number'),
      minimum: some(fc.integer({ min: 0, max: 3 })),
      maximum: some(fc.integer({ min: 1, max: 3 })),
    })
    .map(withoutMissing),
  map: fc.record({ type: fc.constant('object'), additionalProperties: tie('schema') }).map(withoutMissing),
  list: fc
    .record({ type: fc.constant('array'), items: tie('schema'), maxItems: some(fc.integer({ min: 0, max: 2 })) })
    .map(withoutMissing),
  record: fc
    .record({
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom(...names), tie('schema') as fc.Arbitrary<JsonValue>, { maxKeys: 3 }),
      required: some(fc.subarray([...names]) as fc.Arbitrary<JsonValue>),
      [PRESERVE]: some(fc.constant(true)),
    })
    .map(withoutMissing),
  schema: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'schema' },
    tie('text'),
    tie('number'),
    tie('record'),
    tie('map'),
    tie('list'),
  ),
}));

const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<JsonValue>('x', 'xy', 'xyz', 'wxyz', 0, 1, 2, 3, 1.5, null, true),
    fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 3 }),
    fc.array(tie('value'), { maxLength: 2 }),
  ),
}));

/** A small change of a schema, so that many pairs differ in one thing only. */
function mutated(node: JsonObject): fc.Arbitrary<JsonObject> {
  const { properties, items, additionalProperties } = node;
  const changes: fc.Arbitrary<JsonObject>[] = [fc.constant(node), schema];
  for (const key of Object.keys(node).filter((each) => each !== 'type')) {
    const { [key]: _gone, ...rest } = node;
    if (key !== 'items') changes.push(fc.constant(rest));
  }
  if (node['type'] === 'string')
    changes.push(fc.constant({ ...node, maxLength: 2 }), fc.constant({ ...node, minLength: 1 }));
  if (isJsonObject(items)) changes.push(mutated(items).map((changed) => ({ ...node, items: changed })));
  if (isJsonObject(additionalProperties)) {
    changes.push(mutated(additionalProperties).map((changed) => ({ ...node, additionalProperties: changed })));
  }
  for (const [name, nested] of Object.entries(isJsonObject(properties) ? properties : {})) {
    const { [name]: _gone, ...others } = properties as JsonObject;
    changes.push(fc.constant({ ...node, properties: others }));
    if (isJsonObject(nested)) {
      changes.push(mutated(nested).map((changed) => ({ ...node, properties: { ...others, [name]: changed } })));
    }
  }
  if (properties !== undefined) {
    changes.push(schema.map((added) => ({ ...node, properties: { ...(properties as JsonObject), c: added } })));
  }
  return fc.oneof(...changes);
}

const pair = schema.chain((before) => mutated(before).map((after) => [before, after] as const));

/** What the API server does with a value, for the part of the schema that is generated here. */
function accepts(node: JsonObject, candidate: JsonValue): boolean {
  if (candidate === null) return node['nullable'] === true;
  switch (node['type']) {
    case 'string':
      return typeof candidate === 'string' && acceptsText(node, candidate);
    case 'integer':
    case 'number':
      return typeof candidate === 'number' && acceptsNumber(node, candidate);
    case 'array':
      if (!Array.isArray(candidate) || candidate.length > Number(node['maxItems'] ?? 9)) return false;
      return candidate.every((item) => accepts(node['items'] as JsonObject, item));
    default:
      return isJsonObject(candidate) && acceptsObject(node, candidate);
  }
}

function acceptsText(node: JsonObject, text: string): boolean {
  const values = node['enum'];
  if (Array.isArray(values) && !values.includes(text)) return false;
  return text.length >= Number(node['minLength'] ?? 0) && text.length <= Number(node['maxLength'] ?? 9);
}

function acceptsNumber(node: JsonObject, number: number): boolean {
  if (node['type'] === 'integer' && !Number.isInteger(number)) return false;
  return number >= Number(node['minimum'] ?? -9) && number <= Number(node['maximum'] ?? 9);
}

function acceptsObject(node: JsonObject, object: JsonObject): boolean {
  const required = (node['required'] ?? []) as readonly string[];
  if (!required.every((name) => Object.hasOwn(object, name))) return false;
  return Object.entries(object).every(([name, nested]) => {
    const rule = ruleOf(node, name);
    return rule === undefined || accepts(rule, nested ?? null);
  });
}

function ruleOf(node: JsonObject, name: string): JsonObject | undefined {
  const properties = (node['properties'] ?? {}) as JsonObject;
  const rule = Object.hasOwn(properties, name) ? properties[name] : node['additionalProperties'];
  return isJsonObject(rule) ? rule : undefined;
}

/** Without what the API server drops, because the schema does not know it. */
function pruned(node: JsonObject, candidate: JsonValue): JsonValue {
  if (Array.isArray(candidate)) return candidate.map((item) => pruned((node['items'] ?? {}) as JsonObject, item));
  if (!isJsonObject(candidate)) return candidate;
  const entries = Object.entries(candidate).flatMap(([name, nested]) => {
    const rule = ruleOf(node, name);
    if (rule === undefined) return node[PRESERVE] === true ? [[name, nested]] : [];
    return [[name, pruned(rule, nested ?? null)]];
  });
  return Object.fromEntries(entries) as JsonObject;
}

describe('comparing schemas, for any two', () => {
  it('finds a place at which each stored value that would be refused or lose anything has something', () => {
    let lossless = 0;
    fc.assert(
      fc.property(pair, fc.array(value, { minLength: 30, maxLength: 30 }), ([before, after], values) => {
        const findings = compareSchemas(before, after, 'x');
        for (const candidate of values) {
          const stored = pruned(before, candidate);
          if (!accepts(before, stored)) continue;
          if (findings.some(({ place }) => place === undefined || hasValueAt(stored, place))) continue;
          lossless += 1;
          assert.ok(accepts(after, stored), `refused: ${JSON.stringify(stored)}`);
          assert.ok(sameJson(pruned(after, stored), stored), `lost: ${JSON.stringify(stored)}`);
        }
      }),
      { numRuns: 5000 },
    );
    assert.ok(lossless > 1000, `only ${lossless} values were looked at`);
  });

  it('finds nothing between a schema and itself', () => {
    fc.assert(fc.property(schema, (each) => assert.deepEqual(compareSchemas(each, each, 'x'), [])));
  });

  it('finds nothing where an optional property is added', () => {
    fc.assert(
      fc.property(schema, schema, (each, added) => {
        if (each['properties'] === undefined || each[PRESERVE] === true) return;
        const after = { ...each, properties: { ...(each['properties'] as JsonObject), d: added } };
        assert.deepEqual(compareSchemas(each, after, 'x'), []);
      }),
    );
  });
});
