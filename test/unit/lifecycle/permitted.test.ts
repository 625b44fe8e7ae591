import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { claimsOf } from '../../../src/api/ingester/permitted.ts';
import { leaves } from '../../../src/api/ingester/schema.ts';
import { secretName } from '../../../src/api/ingester/spec-fields.ts';
import { specSchema } from '../../../src/api/ingester/spec-schema.ts';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';

/** A specification with nothing but this. */
const holding = (path: string, value: JsonValue): JsonObject =>
  path.split('.').reduceRight<JsonValue>((inner, key) => ({ [key]: inner }), value) as JsonObject;

describe('fields of an Ingester that name a Secret', () => {
  const all = leaves(specSchema);
  const named = all.filter(({ path, leaf }) => {
    const isKeyInside = leaf.description.startsWith('Key in ');
    return !isKeyInside && (/secret/i.test(path) || /\bSecrets?\b/.test(leaf.description));
  });

  it('all have the schema by which they are bounded, and no other field has that schema', () => {
    const bounded = all.filter(({ leaf: { schema } }) => schema === secretName || schema['items'] === secretName);
    assert.ok(bounded.length >= 12);
    assert.deepEqual(
      named.map(({ path }) => path),
      bounded.map(({ path }) => path),
    );
  });

  it('have to be permitted, each of them', () => {
    for (const { path, leaf } of named) {
      const value = leaf.schema['type'] === 'array' ? ['theirs'] : 'theirs';
      const claims = claimsOf(holding(path, value)).filter(({ what }) => what === 'secrets');
      assert.deepEqual(claims, [{ what: 'secrets', path: `spec.${path}`, value: 'theirs' }]);
    }
  });
});
