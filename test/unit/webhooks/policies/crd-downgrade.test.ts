import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject, JsonValue } from '../../../../src/base/json.ts';
import { crdDowngrade } from '../../../../webhooks/policies/crd-downgrade.ts';
import type { ServedResource } from '../../../../webhooks/ports.ts';
import { assertDenied, assertWarned, verdictOf } from '../../../support/policies.ts';

type Answer = 'some' | 'none' | 'unknown';

class FakeCensus {
  readonly asked: ServedResource[] = [];
  readonly #answer: Answer;

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  hasObjects(resource: ServedResource): Promise<Answer> {
    this.asked.push(resource);
    return Promise.resolve(this.#answer);
  }
}

const both = { a: { type: 'string' }, b: { type: 'string' } };
const less = { a: { type: 'string' } };

function crd(properties: JsonValue, annotations: JsonObject = {}, more: JsonObject = {}): JsonObject {
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties } } };
  const version = { name: 'v2', served: true, storage: true, schema: { openAPIV3Schema }, ...more };
  return {
    metadata: { name: 'models.michelangelo.api', annotations },
    spec: { group: 'michelangelo.api', scope: 'Namespaced', names: { plural: 'models' }, versions: [version] },
  };
}

const update = (oldObject: JsonObject, object: JsonObject): JsonObject => ({
  operation: 'UPDATE',
  kind: { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
  resource: { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' },
  namespace: '',
  name: 'models.michelangelo.api',
  oldObject,
  object,
});

async function targetOf(request: JsonObject): Promise<string> {
  const verdict = await verdictOf(crdDowngrade(new FakeCensus('some')), request);
  assert.ok(!verdict.allowed);
  const [, target] = /allow-downgrade=([0-9a-f]{12})$/.exec(verdict.message) ?? [];
  assert.ok(target !== undefined, verdict.message);
  return target;
}

describe('rule crd-downgrade', () => {
  it('refuses what takes something away while there are objects, and says where', async () => {
    const census = new FakeCensus('some');
    assertDenied(
      await verdictOf(crdDowngrade(census), update(crd(both), crd(less))),
      /^v2: spec\.b: property removed; it has objects; to permit it set annotation michelangelo\/allow-downgrade=[0-9a-f]{12}$/,
    );
    assert.deepEqual(census.asked, [{ plural: 'models', version: 'v2' }]);
  });

  it('refuses it too when nobody knows whether there are any', async () => {
    const census = new FakeCensus('unknown');
    assertDenied(await verdictOf(crdDowngrade(census), update(crd(both), crd(less))), /it may have objects/);
  });

  it('does not ask where no version is served, because nothing can be listed, and refuses', async () => {
    const census = new FakeCensus('none');
    const request = update(crd(both, {}, { served: false }), crd(less, {}, { served: false }));
    assertDenied(await verdictOf(crdDowngrade(census), request), /it may have objects/);
    assert.deepEqual(census.asked, []);
  });

  it('warns where there is neither an object nor an archived row', async () => {
    const verdict = await verdictOf(crdDowngrade(new FakeCensus('none')), update(crd(both), crd(less)));
    assertWarned(verdict, /property removed; it has no objects/);
  });

  it('asks nothing and says nothing where nothing is taken away', async () => {
    const census = new FakeCensus('some');
    assert.deepEqual(await verdictOf(crdDowngrade(census), update(crd(less), crd(both))), { allowed: true });
    assert.deepEqual(census.asked, []);
  });

  it('counts what else is taken away', async () => {
    const request = update(crd({ ...both, c: { type: 'string' }, d: { type: 'string' } }), crd({}));
    assertDenied(await verdictOf(crdDowngrade(new FakeCensus('some')), request), /property removed \(and 3 more\);/);
  });

  it('allows it with the annotation that names this very spec, and says all that goes', async () => {
    const target = await targetOf(update(crd(both), crd(less)));
    const permitted = update(crd(both), crd(less, { 'michelangelo/allow-downgrade': target }));
    assertWarned(await verdictOf(crdDowngrade(new FakeCensus('some')), permitted), /spec\.b: property removed$/);
  });

  it('refuses it with the annotation of another spec', async () => {
    const target = await targetOf(update(crd(both), crd(less)));
    const other = update(crd(both), crd({ b: { type: 'string' } }, { 'michelangelo/allow-downgrade': target }));
    assertDenied(await verdictOf(crdDowngrade(new FakeCensus('some')), other), /spec\.a: property removed/);
  });

  it('names the same target for the same spec, whatever the order of its keys', async () => {
    const one = await targetOf(update(crd(both), crd({ a: { type: 'string', maxLength: 3 } })));
    const two = await targetOf(update(crd(both), crd({ a: { maxLength: 3, type: 'string' } }, { other: 'x' })));
    assert.equal(one, two);
  });

  it('keeps the end of a long path, and words that clients misread out of the message', async () => {
    const long = 'very-long-name-of-a-property-'.repeat(10);
    const deep = (properties: JsonObject): JsonObject => ({ [long]: { type: 'object', properties } });
    const request = update(crd(deep({ last: { type: 'string' } })), crd(deep({})));
    assertDenied(await verdictOf(crdDowngrade(new FakeCensus('some')), request), /^\.{3}.*\.last: property removed/);
    const words = update(crd({ immutable: { type: 'string' } }), crd({}));
    assertDenied(await verdictOf(crdDowngrade(new FakeCensus('some')), words), /^\(hidden\): property removed/);
  });

  it('has nothing to say of CRDs of others, creates, deletes and status', async () => {
    const request = update(crd(both), crd(less));
    const foreign = { ...crd(both), spec: { group: 'example.com' } };
    const rule = crdDowngrade(new FakeCensus('some'));
    for (const change of [
      { operation: 'CREATE' },
      { operation: 'DELETE' },
      { subResource: 'status' },
      { oldObject: foreign, name: 'models.example.com' },
    ]) {
      assert.deepEqual(await verdictOf(rule, { ...request, ...change }), { allowed: true });
    }
  });
});
