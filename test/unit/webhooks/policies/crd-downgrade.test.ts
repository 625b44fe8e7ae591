import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Recorded, RecordedCrd } from '../../../../src/api/admission-record.ts';
import { hasValueAt, type Place } from '../../../../src/api/place.ts';
import type { JsonObject, JsonValue } from '../../../../src/base/json.ts';
import { crdDowngrade } from '../../../../webhooks/policies/crd-downgrade.ts';
import type { ValidatingPolicy } from '../../../../webhooks/policy.ts';
import type { ServedResource } from '../../../../webhooks/ports.ts';
import { aRecord } from '../../../support/admission-record.ts';
import { assertDenied, assertWarned, verdictOf } from '../../../support/policies.ts';

type Answer = 'some' | 'none' | 'unknown';

/** `some` holds every value that is asked for, unless the object says what there is. */
class FakeCensus {
  readonly asked: ServedResource[] = [];
  readonly #answer: Answer;
  readonly #object: JsonObject | undefined;

  constructor(answer: Answer, object?: JsonObject) {
    this.#answer = answer;
    this.#object = object;
  }

  heldPlaces(resource: ServedResource, places: readonly Place[]): Promise<readonly Place[] | 'unknown'> {
    this.asked.push(resource);
    if (this.#answer === 'unknown') return Promise.resolve('unknown');
    if (this.#answer === 'none') return Promise.resolve([]);
    const held = places.filter((place) => this.#object === undefined || hasValueAt(this.#object, place));
    return Promise.resolve(held);
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
  const verdict = await verdictOf(crdDowngrade(new FakeCensus('some'), aRecord()), request);
  assert.ok(!verdict.allowed);
  const [, target] = /allow-downgrade=([0-9a-f]{12})$/.exec(verdict.message) ?? [];
  assert.ok(target !== undefined, verdict.message);
  return target;
}

describe('rule crd-downgrade', () => {
  it('refuses an update that removes a part of the schema while there are objects, and says where', async () => {
    const census = new FakeCensus('some');
    assertDenied(
      await verdictOf(crdDowngrade(census, aRecord()), update(crd(both), crd(less))),
      /^v2: spec\.b: property removed; it has objects with a value there; to permit it set annotation michelangelo\/allow-downgrade=[0-9a-f]{12}$/,
    );
    assert.deepEqual(census.asked, [{ group: 'michelangelo.api', plural: 'models', version: 'v2' }]);
  });

  it('refuses the update too while it is unknown whether there are objects', async () => {
    const census = new FakeCensus('unknown');
    assertDenied(await verdictOf(crdDowngrade(census, aRecord()), update(crd(both), crd(less))), /it may have objects/);
  });

  it('does not ask where no version is served, because nothing can be listed, and refuses', async () => {
    const census = new FakeCensus('none');
    const request = update(crd(both, {}, { served: false }), crd(less, {}, { served: false }));
    assertDenied(await verdictOf(crdDowngrade(census, aRecord()), request), /it may have objects/);
    assert.deepEqual(census.asked, []);
  });

  it('warns of the removal where no object has a value there', async () => {
    const verdict = await verdictOf(crdDowngrade(new FakeCensus('none'), aRecord()), update(crd(both), crd(less)));
    assertWarned(verdict, /property removed; it has no objects with a value there/);
    const census = new FakeCensus('some', { spec: { a: 'x' } });
    assertWarned(await verdictOf(crdDowngrade(census, aRecord()), update(crd(both), crd(less))), /no objects with a/);
  });

  it('names of several removals those that objects have a value for', async () => {
    const census = new FakeCensus('some', { spec: { b: 'x' } });
    const request = update(crd(both), crd({}));
    assertDenied(await verdictOf(crdDowngrade(census, aRecord()), request), /^v2: spec\.b: property removed; it has/);
  });

  it('counts every object, archived ones too, where more than a part of the schema goes', async () => {
    const request = update(crd(both), crd(both, {}, { name: 'v3' }));
    const census = new FakeCensus('some', {});
    assertDenied(
      await verdictOf(crdDowngrade(census, aRecord()), request),
      /^v2: version removed.*; it has objects; to permit/,
    );
    assertWarned(await verdictOf(crdDowngrade(new FakeCensus('none'), aRecord()), request), /; it has no objects$/);
  });

  it('asks nothing and says nothing where nothing is removed', async () => {
    const census = new FakeCensus('some');
    assert.deepEqual(await verdictOf(crdDowngrade(census, aRecord()), update(crd(less), crd(both))), { allowed: true });
    assert.deepEqual(census.asked, []);
  });

  it('lets a release bring rules for an Ingester, and none for a kind of the platform, but removes no field of either', async () => {
    const ruled = { a: { type: 'string', 'x-kubernetes-validations': [{ rule: 'self != "x"' }] } };
    const change = (group: string, to: JsonObject): JsonObject => {
      const [before, after] = [both, to].map((properties) => {
        const { spec, ...rest } = crd(properties);
        return { ...rest, spec: { ...(spec as JsonObject), group } };
      });
      return update(before ?? {}, after ?? {});
    };
    const judge = (group: string, to: JsonObject) =>
      verdictOf(crdDowngrade(new FakeCensus('some'), aRecord()), change(group, to));
    const settings = 'ingester.michelangelo.api';
    assert.deepEqual(await judge(settings, { ...both, ...ruled }), { allowed: true });
    assertDenied(await judge('michelangelo.api', { ...both, ...ruled }), /spec\.a: validation rule added or changed/);
    assertDenied(await judge(settings, ruled), /spec\.b: property removed/);
  });

  it('counts the further removals', async () => {
    const request = update(crd({ ...both, c: { type: 'string' }, d: { type: 'string' } }), crd({}));
    assertDenied(
      await verdictOf(crdDowngrade(new FakeCensus('some'), aRecord()), request),
      /property removed \(and 3 more\);/,
    );
  });

  it('allows the removal with the annotation that names this very spec, and lists all that goes', async () => {
    const target = await targetOf(update(crd(both), crd(less)));
    const permitted = update(crd(both), crd(less, { 'michelangelo/allow-downgrade': target }));
    assertWarned(
      await verdictOf(crdDowngrade(new FakeCensus('some'), aRecord()), permitted),
      /spec\.b: property removed$/,
    );
  });

  it('refuses the removal with the annotation of another spec', async () => {
    const target = await targetOf(update(crd(both), crd(less)));
    const other = update(crd(both), crd({ b: { type: 'string' } }, { 'michelangelo/allow-downgrade': target }));
    assertDenied(await verdictOf(crdDowngrade(new FakeCensus('some'), aRecord()), other), /spec\.a: property removed/);
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
    assertDenied(
      await verdictOf(crdDowngrade(new FakeCensus('some'), aRecord()), request),
      /^\.{3}.*\.last: property removed/,
    );
    const words = update(crd({ immutable: { type: 'string' } }), crd({}));
    assertDenied(
      await verdictOf(crdDowngrade(new FakeCensus('some'), aRecord()), words),
      /^\(hidden\): property removed/,
    );
  });

  it('does not apply to CRDs of other groups, creates of new CRDs, deletes and status', async () => {
    const request = update(crd(both), crd(less));
    const foreign = { ...crd(both), spec: { group: 'example.com' } };
    const rule = crdDowngrade(new FakeCensus('some'), aRecord());
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

describe('rule crd-downgrade, for a CRD that is created', () => {
  type Rows = RecordedCrd['rows'];
  const create = (object: JsonObject): JsonObject => {
    const { oldObject: _, ...request } = update(object, object);
    return { ...request, operation: 'CREATE' };
  };
  const noCensus = {
    hasObjects: (): Promise<Answer> => assert.fail('a CRD that is created has no objects to be listed'),
    heldPlaces: (): Promise<never> => assert.fail('a CRD that is created has no objects to be listed'),
  };
  const ruleFor = (crdBefore: Recorded<RecordedCrd>): ValidatingPolicy =>
    crdDowngrade(noCensus, aRecord(undefined, crdBefore));
  const rule = (rows: Rows): ValidatingPolicy =>
    ruleFor({ state: 'known', value: { spec: crd(both)['spec'] as JsonObject, rows } });

  it('refuses a CRD that is narrower than the last one where rows are left', async () => {
    assertDenied(
      await verdictOf(rule('some'), create(crd(less))),
      /^v2: spec\.b: property removed; it has archived objects; to permit it set annotation michelangelo\/allow-downgrade=[0-9a-f]{12}$/,
    );
  });

  it('refuses the create too while it is unknown whether rows are left', async () => {
    assertDenied(await verdictOf(rule('unknown'), create(crd(less))), /it may have archived objects/);
  });

  it('allows a narrower CRD with a warning where no rows are left, and without a word where it is as wide', async () => {
    assertWarned(await verdictOf(rule('none'), create(crd(less))), /property removed; it has no archived objects$/);
    assert.deepEqual(await verdictOf(rule('some'), create(crd(both))), { allowed: true });
    assert.deepEqual(await verdictOf(rule('some'), create(crd({ ...both, c: {} }))), { allowed: true });
  });

  it('allows a narrower CRD with the annotation that names this very spec', async () => {
    const verdict = await verdictOf(rule('some'), create(crd(less)));
    const target = /=([0-9a-f]{12})$/.exec(verdict.allowed ? '' : verdict.message)?.[1] ?? '';
    const annotations = { 'michelangelo/allow-downgrade': target };
    assertWarned(await verdictOf(rule('some'), create(crd(less, annotations))), /property removed$/);
    assertDenied(await verdictOf(rule('some'), create(crd({}, annotations))), /property removed/);
  });

  it('allows a CRD without a record, and refuses it while the record cannot be read unless the annotation permits it', async () => {
    assert.deepEqual(await verdictOf(ruleFor({ state: 'nothing' }), create(crd(less))), { allowed: true });
    const doubt = ruleFor({ state: 'unknown' });
    const verdict = await verdictOf(doubt, create(crd(less)));
    assertDenied(verdict, /^what this CRD was before is unknown, and it may have archived objects; to permit/);
    const target = /=([0-9a-f]{12})$/.exec(verdict.allowed ? '' : verdict.message)?.[1] ?? '';
    const permitted = crd(less, { 'michelangelo/allow-downgrade': target });
    assertWarned(await verdictOf(doubt, create(permitted)), /what this CRD was before is unknown/);
  });
});
