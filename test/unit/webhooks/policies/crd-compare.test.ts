import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import type { JsonObject, JsonValue } from '../../../../src/base/json.ts';
import { compareCrds } from '../../../../webhooks/policies/crd-compare.ts';

interface Case {
  readonly name: string;
  readonly before: JsonValue;
  readonly after: JsonValue;
  /** What is found, as `path: what`; none where the change loses nothing. */
  readonly findings: readonly string[];
}

const string = { type: 'string' };
const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const list = (more: JsonObject): JsonObject => ({ type: 'array', items: { type: 'object' }, ...more });
const rule = (text: string): JsonObject => ({ rule: text, message: 'm' });

/** Schemas of the property `spec.x`. */
const propertyCases: readonly Case[] = [
  { name: 'the same', before: string, after: string, findings: [] },
  {
    name: 'another type',
    before: string,
    after: { type: 'integer' },
    findings: ['type changed from string to integer'],
  },
  { name: 'an integer becomes a number', before: { type: 'integer' }, after: { type: 'number' }, findings: [] },
  {
    name: 'a number becomes an integer',
    before: { type: 'number' },
    after: { type: 'integer' },
    findings: ['type changed from number or integer to integer'],
  },
  {
    name: 'a string may be a number too',
    before: string,
    after: { 'x-kubernetes-int-or-string': true },
    findings: [],
  },
  {
    name: 'a number or string becomes a string',
    before: { 'x-kubernetes-int-or-string': true },
    after: string,
    findings: ['type changed from integer or string to string'],
  },
  {
    name: 'a free value gets a type',
    before: { 'x-kubernetes-preserve-unknown-fields': true },
    after: string,
    findings: ['type changed from any to string', 'x-kubernetes-preserve-unknown-fields removed'],
  },
  {
    name: 'unknown fields are dropped',
    before: free,
    after: { type: 'object' },
    findings: ['x-kubernetes-preserve-unknown-fields removed'],
  },
  { name: 'unknown fields are kept', before: { type: 'object' }, after: free, findings: [] },
  { name: 'no longer null', before: { ...string, nullable: true }, after: string, findings: ['nullable removed'] },
  { name: 'also null', before: string, after: { ...string, nullable: true }, findings: [] },
  {
    name: 'a value leaves the enum',
    before: { ...string, enum: ['A', 'B'] },
    after: { ...string, enum: ['B', 'C'] },
    findings: ['enum value removed'],
  },
  { name: 'an enum', before: string, after: { ...string, enum: ['A'] }, findings: ['enum added'] },
  {
    name: 'values join the enum, in any order',
    before: { ...string, enum: ['A', 'B'] },
    after: { ...string, enum: ['C', 'B', 'A'] },
    findings: [],
  },
  { name: 'the enum goes', before: { ...string, enum: ['A'] }, after: string, findings: [] },
  ...['minimum', 'minLength', 'minItems', 'minProperties'].flatMap((key) => [
    { name: `${key} added`, before: string, after: { ...string, [key]: 1 }, findings: [`${key} raised`] },
    {
      name: `${key} raised`,
      before: { ...string, [key]: 1 },
      after: { ...string, [key]: 2 },
      findings: [`${key} raised`],
    },
    { name: `${key} lowered`, before: { ...string, [key]: 2 }, after: { ...string, [key]: 1 }, findings: [] },
    { name: `${key} removed`, before: { ...string, [key]: 2 }, after: string, findings: [] },
  ]),
  ...['maximum', 'maxLength', 'maxItems', 'maxProperties'].flatMap((key) => [
    { name: `${key} added`, before: string, after: { ...string, [key]: 1 }, findings: [`${key} lowered`] },
    {
      name: `${key} lowered`,
      before: { ...string, [key]: 2 },
      after: { ...string, [key]: 1 },
      findings: [`${key} lowered`],
    },
    { name: `${key} raised`, before: { ...string, [key]: 1 }, after: { ...string, [key]: 2 }, findings: [] },
    { name: `${key} removed`, before: { ...string, [key]: 2 }, after: string, findings: [] },
  ]),
  ...['uniqueItems', 'exclusiveMinimum', 'exclusiveMaximum'].flatMap((key) => [
    { name: `${key} on`, before: string, after: { ...string, [key]: true }, findings: [`${key} added`] },
    { name: `${key} off`, before: { ...string, [key]: true }, after: { ...string, [key]: false }, findings: [] },
  ]),
  ...(['pattern', 'multipleOf', 'not'] as const).flatMap((key) => {
    const [one, two] = key === 'not' ? [{ enum: ['a'] }, { enum: ['b'] }] : key === 'pattern' ? ['^a', '^b'] : [2, 3];
    return [
      { name: `${key} added`, before: string, after: { ...string, [key]: one }, findings: [`${key} added`] },
      {
        name: `${key} changed`,
        before: { ...string, [key]: one },
        after: { ...string, [key]: two },
        findings: [`${key} changed`],
      },
      { name: `${key} removed`, before: { ...string, [key]: one }, after: string, findings: [] },
    ];
  }),
  { name: 'a format', before: string, after: { ...string, format: 'date-time' }, findings: ['format added'] },
  {
    name: 'another format',
    before: { ...string, format: 'date' },
    after: { ...string, format: 'date-time' },
    findings: ['format changed'],
  },
  {
    name: 'a wider format',
    before: { type: 'integer', format: 'int32' },
    after: { type: 'integer', format: 'int64' },
    findings: [],
  },
  {
    name: 'a narrower format',
    before: { type: 'integer', format: 'int64' },
    after: { type: 'integer', format: 'int32' },
    findings: ['format changed'],
  },
  { name: 'no format', before: { ...string, format: 'date' }, after: string, findings: [] },
  {
    name: 'a property becomes required',
    before: { type: 'object', properties: { a: string } },
    after: { type: 'object', properties: { a: string }, required: ['a'] },
    findings: ['a became required'],
  },
  {
    name: 'a property with a default becomes required',
    before: { type: 'object', properties: { a: string } },
    after: { type: 'object', properties: { a: { ...string, default: 'x' } }, required: ['a'] },
    findings: [],
  },
  {
    name: 'a property is no longer required',
    before: { type: 'object', properties: { a: string }, required: ['a'] },
    after: { type: 'object', properties: { a: string } },
    findings: [],
  },
  {
    name: 'a rule in CEL',
    before: string,
    after: { ...string, 'x-kubernetes-validations': [rule('self != ""')] },
    findings: ['validation rule added or changed'],
  },
  {
    name: 'a rule in CEL goes, another gets a new message',
    before: { ...string, 'x-kubernetes-validations': [rule('a'), rule('b')] },
    after: { ...string, 'x-kubernetes-validations': [{ rule: 'b', message: 'n' }] },
    findings: [],
  },
  {
    name: 'a set instead of a list',
    before: list({}),
    after: list({ 'x-kubernetes-list-type': 'set' }),
    findings: ['x-kubernetes-list-type changed'],
  },
  {
    name: 'a list that says it is atomic',
    before: list({}),
    after: list({ 'x-kubernetes-list-type': 'atomic' }),
    findings: [],
  },
  {
    name: 'other keys of a map list',
    before: list({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a'] }),
    after: list({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['a', 'b'] }),
    findings: ['x-kubernetes-list-map-keys changed'],
  },
  {
    name: 'an atomic map',
    before: { type: 'object' },
    after: { type: 'object', 'x-kubernetes-map-type': 'atomic' },
    findings: ['x-kubernetes-map-type changed'],
  },
  {
    name: 'no embedded resource any more',
    before: { ...free, 'x-kubernetes-embedded-resource': true },
    after: free,
    findings: ['x-kubernetes-embedded-resource changed'],
  },
  ...['anyOf', 'oneOf'].flatMap((key) => [
    {
      name: `${key} added`,
      before: string,
      after: { ...string, [key]: [{ enum: ['a'] }] },
      findings: [`${key} added`],
    },
    {
      name: `a branch of ${key} goes`,
      before: { ...string, [key]: [{ enum: ['a'] }, { enum: ['b'] }] },
      after: { ...string, [key]: [{ enum: ['a'] }] },
      findings: [`${key} branch removed or changed`],
    },
    {
      name: `a branch of ${key} comes`,
      before: { ...string, [key]: [{ enum: ['a'] }] },
      after: { ...string, [key]: [{ enum: ['b'] }, { enum: ['a'] }] },
      findings: [],
    },
  ]),
  {
    name: 'allOf comes',
    before: string,
    after: { ...string, allOf: [{ minLength: 1 }] },
    findings: ['allOf added or changed'],
  },
  { name: 'allOf goes', before: { ...string, allOf: [{ minLength: 1 }] }, after: string, findings: [] },
  {
    name: 'other words',
    before: { ...string, description: 'a' },
    after: { ...string, description: 'b' },
    findings: [],
  },
];

/** Schemas of `spec` itself; findings name paths. */
const structureCases: readonly Case[] = [
  {
    name: 'a property goes',
    before: { type: 'object', properties: { a: string, b: string } },
    after: { type: 'object', properties: { a: string } },
    findings: ['v2: spec.b: property removed'],
  },
  {
    name: 'a property comes',
    before: { type: 'object', properties: { a: string } },
    after: { type: 'object', properties: { a: string, b: { ...string, maxLength: 1 } } },
    findings: [],
  },
  {
    name: 'a nested property goes',
    before: { type: 'object', properties: { a: { type: 'object', properties: { b: string, c: string } } } },
    after: { type: 'object', properties: { a: { type: 'object', properties: { c: string } } } },
    findings: ['v2: spec.a.b: property removed'],
  },
  {
    name: 'a property inside a list goes',
    before: {
      type: 'object',
      properties: { a: { type: 'array', items: { type: 'object', properties: { b: string } } } },
    },
    after: { type: 'object', properties: { a: { type: 'array', items: { type: 'object' } } } },
    findings: ['v2: spec.a[].b: property removed'],
  },
  {
    name: 'the items of a list change type',
    before: { type: 'object', properties: { a: { type: 'array', items: string } } },
    after: { type: 'object', properties: { a: { type: 'array', items: { type: 'integer' } } } },
    findings: ['v2: spec.a[]: type changed from string to integer'],
  },
  {
    name: 'a property goes where unknown fields are kept',
    before: { type: 'object', properties: { a: string } },
    after: free,
    findings: [],
  },
  {
    name: 'a property comes where anything was allowed',
    before: free,
    after: { ...free, properties: { a: string } },
    findings: ['v2: spec.a: was free and now has a schema'],
  },
  {
    name: 'the values of a map change type',
    before: { type: 'object', additionalProperties: string },
    after: { type: 'object', additionalProperties: { type: 'integer' } },
    findings: ['v2: spec.*: type changed from string to integer'],
  },
  {
    name: 'a map loses its keys',
    before: { type: 'object', additionalProperties: string },
    after: { type: 'object', properties: { a: string } },
    findings: ['v2: spec: keys of a map removed'],
  },
  {
    name: 'a map of anything gets a type',
    before: { type: 'object', additionalProperties: true },
    after: { type: 'object', additionalProperties: string },
    findings: ['v2: spec.*: had no schema and now has one'],
  },
  {
    name: 'properties become a map',
    before: { type: 'object', properties: { a: string, b: { type: 'integer' } } },
    after: { type: 'object', additionalProperties: string },
    findings: ['v2: spec.b: type changed from integer to string'],
  },
  {
    name: 'a property called like a method',
    before: { type: 'object', properties: { toString: string, constructor: string } },
    after: { type: 'object', properties: { constructor: string } },
    findings: ['v2: spec.toString: property removed'],
  },
];

function version(name: string, spec: JsonValue, more: JsonObject = {}): JsonObject {
  const openAPIV3Schema = { type: 'object', properties: { spec } };
  return { name, served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema }, ...more };
}

function crd(versions: readonly JsonObject[], spec: JsonObject = {}): JsonObject {
  const names = { kind: 'Model', listKind: 'ModelList', plural: 'models', singular: 'model' };
  return { spec: { group: 'michelangelo.api', scope: 'Namespaced', names, versions: [...versions], ...spec } };
}

const found = (before: JsonObject, after: JsonObject): readonly string[] =>
  compareCrds(before, after).map(({ path, what }) => `${path}: ${what}`);

describe('comparing CRDs', () => {
  for (const { name, before, after, findings } of propertyCases) {
    it(`of a property: ${name}: ${findings.join(', ') || 'loses nothing'}`, () => {
      const spec = (x: JsonValue): JsonValue => ({ type: 'object', properties: { x } });
      const expected = findings.map((finding) => `v2: spec.x: ${finding}`);
      assert.deepEqual(found(crd([version('v2', spec(before))]), crd([version('v2', spec(after))])), expected);
    });
  }

  for (const { name, before, after, findings } of structureCases) {
    it(`of a structure: ${name}: ${findings.join(', ') || 'loses nothing'}`, () =>
      assert.deepEqual(found(crd([version('v2', before)]), crd([version('v2', after)])), findings));
  }

  const v1 = version('v1', { type: 'object', properties: { a: string } }, { storage: false });
  const v2 = version('v2', { type: 'object', properties: { a: string } });
  const without = { storage: false };

  it('of versions: one that goes, one that is no longer served, one that comes', () => {
    assert.deepEqual(found(crd([v1, v2]), crd([v2])), ['v1: version removed']);
    assert.deepEqual(found(crd([v1, v2]), crd([{ ...v1, served: false }, v2])), ['v1: no longer served']);
    assert.deepEqual(found(crd([v2]), crd([v1, v2])), []);
    assert.deepEqual(found(crd([v2]), crd([])), ['v2: version removed']);
    assert.deepEqual(found(crd([]), crd([v2])), []);
  });

  it('of the storage version: forward where it holds as much, never back', () => {
    const v3 = version('v3', { type: 'object', properties: { a: string, b: string } });
    const narrow = version('v3', { type: 'object', properties: { b: string } });
    assert.deepEqual(found(crd([v2]), crd([{ ...v2, ...without }, v3])), []);
    assert.deepEqual(found(crd([v2]), crd([{ ...v2, ...without }, narrow])), ['v2 -> v3: spec.a: property removed']);
    const converted = { conversion: { strategy: 'Webhook' } };
    assert.deepEqual(found(crd([v2]), crd([{ ...v2, ...without }, narrow], converted)), []);
    const back = crd([v2, { ...v3, ...without }]);
    assert.deepEqual(found(crd([{ ...v2, ...without }, v3]), back), ['v3 -> v2: storage version goes back']);
  });

  it('of a subresource that goes', () => {
    assert.deepEqual(found(crd([v2]), crd([{ ...v2, subresources: {} }])), ['v2: subresource status removed']);
  });

  it('of names, scope, group and conversion', () => {
    const change = (spec: JsonObject): readonly string[] => found(crd([v2]), crd([v2], spec));
    const names = { kind: 'Model', listKind: 'ModelList', plural: 'models', singular: 'model' };
    assert.deepEqual(change({ scope: 'Cluster' }), ['spec.scope: changed']);
    assert.deepEqual(change({ group: 'example.com' }), ['spec.group: changed']);
    for (const key of Object.keys(names)) {
      assert.deepEqual(change({ names: { ...names, [key]: 'other' } }), [`spec.names.${key}: changed`]);
    }
    assert.deepEqual(change({ names: { ...names, shortNames: ['m'] } }), []);
    const converted = crd([v2], { conversion: { strategy: 'Webhook' }, preserveUnknownFields: true });
    assert.deepEqual(found(converted, crd([v2])), [
      'spec.preserveUnknownFields: removed',
      'spec.conversion: webhook removed',
    ]);
  });

  it('of something that is no CRD finds nothing and does not fail', () => {
    for (const broken of [{}, { spec: null }, { spec: { versions: [null, 1, { name: 7 }] } }] as JsonObject[]) {
      assert.doesNotThrow(() => compareCrds(broken, broken));
      assert.deepEqual(compareCrds(broken, broken), []);
    }
  });

  it('of the CRDs of the bundle with themselves finds nothing, and with less finds every property that goes', () => {
    const folder = join(import.meta.dirname, '../../../../crds');
    for (const file of readdirSync(folder).filter((name) => name.includes('.michelangelo.api.'))) {
      const text = readFileSync(join(folder, file), 'utf8');
      const [shipped, changed] = [parse(text), parse(text)] as [JsonObject, { spec: { versions: Version[] } }];
      assert.deepEqual(compareCrds(shipped, shipped), [], file);
      const { properties } = changed.spec.versions[0]!.schema.openAPIV3Schema.properties.spec;
      const [first] = Object.keys(properties ?? {});
      if (first === undefined || properties === undefined) continue;
      Reflect.deleteProperty(properties, first);
      const { name } = changed.spec.versions[0]!;
      assert.deepEqual(found(shipped, changed as never), [`${name}: spec.${first}: property removed`], file);
    }
  });
});

interface Version {
  name: string;
  schema: { openAPIV3Schema: { properties: { spec: { properties?: Record<string, JsonValue> } } } };
}
