import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Environment } from '@marcbachmann/cel-js';
import fc from 'fast-check';
import { protectedMarks, validatingWebhooks } from '../../hack/generate/admission.ts';
import { permittedBy } from '../../src/api/ingester/permitted.ts';
import {
  INGESTER_GROUP,
  INGESTER_KIND,
  INGESTER_PLURAL,
  INGESTER_VERSION,
  VERSION_PATH,
} from '../../src/api/ingester/spec.ts';
import { GROUP, VERSION } from '../../src/api/names.ts';
import type { JsonObject, JsonValue } from '../../src/base/json.ts';
import { compareVersions } from '../../src/base/semver.ts';
import { problemsIn } from '../../src/config/load.ts';
import { allKinds } from '../../src/kinds/kinds.ts';
import { validatingPolicies } from '../../webhooks/policies/registry.ts';
import { movementBetween } from '../../webhooks/policies/version-field.ts';
import { type Decision, runPolicies, type ValidatingPolicy } from '../../webhooks/policy.ts';
import { type AdmissionRequest, decodeReview } from '../../webhooks/review.ts';
import { aRecord } from '../support/admission-record.ts';
import { assertMessage } from '../support/policies.ts';

const context = { reconcilerUser: 'reconciler', signal: new AbortController().signal, audience: 'any-client' } as const;
const settings = {
  incomparableVersions: 'deny',
  contentDowngrades: Object.fromEntries(allKinds.map(({ kind }) => [kind, 'deny'])) as Record<string, 'deny'>,
  minimumApiVersion: 'v2',
  createMarked: 'deny',
  archivedNames: 'deny',
  ownedDeletions: 'deny',
  fieldRules: 'deny',
} as const;

/** Every rule as strict as it gets, in the worst world: no user may do anything, and everything has objects. */
const strict = validatingPolicies(settings, {
  access: { mayDelete: () => Promise.resolve('no') },
  census: { hasObjects: () => Promise.resolve('some'), heldPlaces: (_resource, places) => Promise.resolve(places) },
  tombstones: { find: () => ({ uid: 'a-uid', end: 'evicted', versions: [10, 10] }) },
  record: aRecord({ state: 'unknown' }, { state: 'unknown' }),
  bounds: { permitted: () => Promise.resolve(permittedBy({}, undefined)) },
  configurationProblems: problemsIn,
});
/** The rules that refuse nothing. */
const warnOnly = ['protobuf-form', 'known-names', 'unwise-settings'];
const refuseAll: ValidatingPolicy = {
  name: 'refuse-all',
  appliesTo: () => true,
  review: () => ({ allowed: false, message: 'no' }),
};

const word = fc.constantFrom(
  '1.0.0',
  '0.9.0',
  'latest',
  'true',
  'false',
  'x-9',
  'x-10',
  'field is immutable',
  '\nconflict',
);
const text = fc.oneof(word, fc.string({ unit: 'binary', maxLength: 60 }));
const leaf: fc.Arbitrary<JsonValue> = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null));
const annotations = fc.dictionary(
  fc.constantFrom(
    'michelangelo/Deleting',
    'michelangelo/Immutable',
    'michelangelo/Unguarded',
    'michelangelo/allow-downgrade',
    'michelangelo/deleting',
    'other',
  ),
  fc.constantFrom('true', 'false', 'True', '1.0.0', 'x-9, 3', '') as fc.Arbitrary<JsonValue>,
);
const versionPaths = allKinds.flatMap(({ versionFields }) => versionFields.map(({ path }) => path));

function nest(path: readonly string[], value: JsonValue): JsonObject {
  return path.reduceRight<JsonValue>((inner, key) => ({ [key]: inner }), value) as JsonObject;
}

const deep = fc.integer({ min: 20, max: 40 }).map((levels) => nest(Array<string>(levels).fill('a'), 1));
const content: fc.Arbitrary<JsonObject> = fc.oneof(
  deep.map((spec) => ({ spec })),
  fc.tuple(fc.constantFrom(...versionPaths, ['spec', 'version']), leaf).map(([path, value]) => nest(path, value)),
  fc.dictionary(fc.constantFrom('spec', 'status', 'rest'), fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<JsonValue>),
);
const managedFields = fc.array(
  fc.record({ apiVersion: fc.constantFrom('michelangelo.api/v3', 'michelangelo.api/v1', 'x') }),
  {
    maxLength: 2,
  },
);
/** Ordinary ones more often than those that no create may have. */
const born = fc.constantFrom<JsonObject>({}, {}, {}, { deletionTimestamp: 'x' }, { deletionGracePeriodSeconds: 0 });
const object: fc.Arbitrary<JsonObject> = fc
  .tuple(content, annotations, managedFields, fc.constantFrom('michelangelo.api', 'example.com'), born)
  .map(([rest, marks, managed, group, times]) => ({
    kind: 'Model',
    apiVersion: 'michelangelo.api/v2',
    metadata: { name: 'a', annotations: marks, managedFields: managed, ...times },
    ...rest,
    ...(group === 'example.com' ? { spec: { group, names: { plural: 'models' }, versions: [rest] } } : {}),
  }));

function served(plural: string): { readonly group: string; readonly version: string } {
  const isIngester = plural === INGESTER_PLURAL;
  return isIngester ? { group: INGESTER_GROUP, version: INGESTER_VERSION } : { group: GROUP, version: VERSION };
}

/** A change of one version field, of a kind that has it. */
const change = fc
  .constantFrom(
    ...allKinds.flatMap(({ kind, plural, versionFields }) => versionFields.map(({ path }) => ({ kind, plural, path }))),
    { kind: INGESTER_KIND, plural: INGESTER_PLURAL, path: VERSION_PATH },
  )
  .chain((target) => fc.record({ target: fc.constant(target), before: leaf, after: leaf, migrated: word }));

const versionChange: fc.Arbitrary<JsonObject> = change.map(({ target, before, after, migrated }) => ({
  uid: 'u',
  operation: 'UPDATE',
  name: 'a',
  kind: { ...served(target.plural), kind: target.kind },
  resource: { ...served(target.plural), resource: target.plural },
  userInfo: { username: 'a-user' },
  oldObject: { ...nest(target.path, before), status: { migratedVersion: migrated } },
  object: nest(target.path, after),
}));

const ownedMark: fc.Arbitrary<JsonObject> = text.map((release) => ({
  uid: 'u',
  operation: 'UPDATE',
  kind: { group: 'michelangelo.api', version: 'v2', kind: 'Model' },
  resource: { group: 'michelangelo.api', version: 'v2', resource: 'models' },
  oldObject: {},
  object: { metadata: { annotations: { 'michelangelo/Deleting': 'true', 'meta.helm.sh/release-name': release } } },
}));

const crdChange: fc.Arbitrary<JsonObject> = fc
  .record({ operation: fc.constantFrom('UPDATE', 'DELETE'), before: text, after: text, name: text })
  .map(({ operation, before, after, name }) => {
    const schema = (property: string): JsonObject => ({
      schema: { openAPIV3Schema: { type: 'object', properties: { [property]: { type: 'string' } } } },
    });
    const crd = (property: string): JsonObject => ({
      spec: { group: 'michelangelo.api', versions: [{ name, served: true, storage: true, ...schema(property) }] },
    });
    return {
      uid: 'u',
      operation,
      name: `${name}.michelangelo.api`,
      resource: { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' },
      userInfo: { username: 'a-user' },
      oldObject: crd(before),
      object: crd(after),
    };
  });

const ingesterAsks: fc.Arbitrary<JsonObject> = fc
  .record({ host: text, secret: text, label: text, sync: leaf, stateMode: fc.oneof(text, fc.constant('Stateless')) })
  .map(({ host, secret, label, sync, stateMode }) => ({
    uid: 'u',
    operation: 'CREATE',
    name: 'a',
    kind: { ...served(INGESTER_PLURAL), kind: INGESTER_KIND },
    resource: { ...served(INGESTER_PLURAL), resource: INGESTER_PLURAL },
    object: {
      spec: {
        database: { host, credentialsSecret: secret },
        podTemplate: { labels: { [label]: 'a' } },
        components: { sync },
        lifecycle: { stateMode },
      },
    },
  }));

const plurals = [
  ...allKinds.map(({ plural, kind }) => ({ plural, kind })),
  { plural: INGESTER_PLURAL, kind: INGESTER_KIND },
];
const request: fc.Arbitrary<JsonObject> = fc
  .record({
    operation: fc.constantFrom('CREATE', 'UPDATE', 'DELETE', 'CONNECT'),
    subResource: fc.constantFrom('', 'status'),
    target: fc.constantFrom(...plurals),
    crd: fc.boolean(),
    version: fc.constantFrom('v2', 'v1', 'v3'),
    username: text,
    name: text,
    object: fc.option(object),
    oldObject: fc.option(object),
  })
  .map(({ target, crd, version, username, ...rest }) => ({
    uid: 'u',
    ...rest,
    kind: { ...served(target.plural), kind: target.kind },
    requestKind: { ...served(target.plural), version, kind: target.kind },
    resource: crd
      ? { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' }
      : { ...served(target.plural), resource: target.plural },
    userInfo: { username },
  }));

const decode = (each: JsonObject): AdmissionRequest =>
  decodeReview(
    Buffer.from(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: each })),
  );
const decide = (each: JsonObject, policies: readonly ValidatingPolicy[] = [...strict, refuseAll]): Promise<Decision> =>
  runPolicies(policies, decode(each), context);

describe('the validating rules, for any request', () => {
  it('answer, and say nothing that is long, broken or dangerous', async () => {
    const seen = new Set<string>();
    // So often that each rule is reached a dozen times.
    const any = { weight: 8, arbitrary: request };
    await fc.assert(
      fc.asyncProperty(fc.oneof(any, versionChange, crdChange, ownedMark, ingesterAsks), async (each) => {
        for (const policy of strict) {
          const decision = await decide(each, [policy]);
          if (!decision.allowed) {
            // All problems of an Ingester are told at once, ten at most.
            decision.message.split('; ').forEach(assertMessage);
            assert.ok(decision.message.length < (decision.policy === 'ingester-permitted' ? 3000 : 200));
            seen.add(decision.policy);
          }
          decision.warnings.forEach(assertMessage);
          if (warnOnly.includes(policy.name) && decision.warnings.length > 0) seen.add(policy.name);
        }
      }),
      { numRuns: 4000 },
    );
    // Otherwise this would prove nothing about the messages.
    assert.deepEqual([...seen].sort(), strict.map(({ name }) => name).sort());
  });

  it('never refuse what the reconciler does to our objects', async () => {
    await fc.assert(
      fc.asyncProperty(request, async (each) => {
        const resource = { group: 'michelangelo.api', version: 'v2', resource: 'models' };
        const { allowed } = await decide({ ...each, resource, userInfo: { username: 'reconciler' } });
        assert.ok(allowed);
      }),
    );
  });

  it('never refuse what happens to an object that is being deleted', async () => {
    await fc.assert(
      fc.asyncProperty(request, object, fc.constantFrom('UPDATE', 'DELETE'), async (each, old, operation) => {
        const metadata = { ...(old['metadata'] as JsonObject), deletionTimestamp: '2026-01-01T00:00:00Z' };
        const { allowed } = await decide({ ...each, operation, oldObject: { ...old, metadata } });
        assert.ok(allowed);
      }),
    );
  });

  it('never refuse an update of nothing but finalizers and status', async () => {
    await fc.assert(
      fc.asyncProperty(
        request,
        object,
        fc.array(fc.string(), { maxLength: 3 }),
        fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>,
        async (each, old, finalizers, status) => {
          const metadata = { ...(old['metadata'] as JsonObject), finalizers, resourceVersion: '2', managedFields: [] };
          const changed = { ...old, metadata, status };
          const { allowed } = await decide({
            ...each,
            operation: 'UPDATE',
            subResource: '',
            oldObject: old,
            object: changed,
          });
          assert.ok(allowed);
        },
      ),
    );
  });

  it('never refuse a write of the subresource status', async () => {
    await fc.assert(
      fc.asyncProperty(request, object, object, async (each, old, changed) => {
        const resource = { group: 'michelangelo.api', version: 'v2', resource: 'models' };
        const kind = { group: 'michelangelo.api', version: 'v2', kind: 'Model' };
        const write = { ...each, resource, kind, operation: 'UPDATE', subResource: 'status' };
        const { allowed } = await decide({ ...write, oldObject: old, object: changed }, strict);
        assert.ok(allowed);
      }),
    );
  });
});

describe('a create, for any object', () => {
  const callsAgain = isValidated();
  const create = fc.tuple(request, object).map(([each, sent]) => {
    const names = { ...served('models'), kind: 'Model' };
    const resource = { ...served('models'), resource: 'models' };
    return { ...each, operation: 'CREATE', subResource: '', kind: names, resource, oldObject: null, object: sent };
  });
  /** What the API server makes of one rule by its calls, where nothing else changes the object. */
  const inItsCalls = async (each: JsonObject, rule: ValidatingPolicy): Promise<Decision> => {
    const sent = await decide(each, rule.storedOnly === true ? [] : [rule]);
    return sent.allowed && callsAgain(each) ? decide(each, [rule]) : sent;
  };

  it('gets from the calls that are made what each rule says of it', async () => {
    const refused = new Set<string>();
    await fc.assert(
      fc.asyncProperty(create, async (each) => {
        for (const rule of strict) {
          const decision = await decide(each, [rule]);
          const { allowed, warnings } = await inItsCalls(each, rule);
          assert.deepEqual([allowed, warnings], [decision.allowed, decision.warnings], rule.name);
          if (!allowed) refused.add(rule.name);
        }
      }),
      { numRuns: 1000 },
    );
    for (const rule of ['born-deleting', 'nesting-depth', 'protect-marks', 'archived-name', 'content-downgrade'])
      assert.ok(refused.has(rule), rule);
  });

  it('is judged again where it carries a mark, which a later webhook may have set', () => {
    fc.assert(
      fc.property(create, fc.constantFrom(...protectedMarks), (each, mark) => {
        const metadata = each.object['metadata'] as JsonObject;
        const marked = { ...each.object, metadata: { ...metadata, annotations: { [mark]: 'true' } } };
        assert.ok(callsAgain({ ...each, object: marked }));
      }),
    );
  });
});

/** The match condition as it is installed, evaluated as the API server does: whether it calls `POST /validate`. */
function isValidated(): (request: JsonObject) => boolean {
  const { webhooks } = validatingWebhooks(allKinds, []);
  const [{ matchConditions }] = webhooks as readonly [
    { readonly matchConditions: readonly { readonly name: string; readonly expression: string }[] },
  ];
  const condition = matchConditions.find(({ name }) => name === 'concerns-a-rule');
  assert.ok(condition !== undefined);
  const evaluate = new Environment({ enableOptionalTypes: true, limits: { maxAstNodes: 10_000, maxDepth: 500 } })
    .registerVariable('object', 'dyn')
    .registerVariable('oldObject', 'dyn')
    .registerVariable('request', 'dyn')
    // Kubernetes has it, this library not; creates do not reach it.
    .registerOperator('optional<dyn> != optional<dyn>', () => assert.fail('an update'))
    .parse(condition.expression);
  return (each) => evaluate({ object: each['object'], oldObject: null, request: each }) === true;
}

describe('versions, for any two', () => {
  const number = fc.integer({ min: 0, max: 3 });
  const suffix = fc.constantFrom(
    '',
    '-rc1',
    '-rc2',
    '-rc10',
    '-alpha',
    '-beta.2',
    '-py310',
    '-dev',
    '-rc1-py310',
    '+b',
  );
  const version = fc.tuple(number, number, number, suffix).map(([a, b, c, end]) => `${a}.${b}.${c}${end}`);
  const opposite = { older: 'newer', newer: 'older', same: 'same' } as const;

  it('are in the opposite order the other way round', () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        const order = compareVersions(a, b);
        assert.ok(order !== undefined);
        assert.equal(compareVersions(b, a), opposite[order]);
      }),
    );
  });

  it('stay in order over a third one', () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        if (compareVersions(a, b) !== 'older' || compareVersions(b, c) === 'newer') return;
        assert.equal(compareVersions(a, c), 'older');
      }),
      { numRuns: 2000 },
    );
  });

  it('never throw for text that is not a version', () => {
    fc.assert(fc.property(text, text, (a, b) => void compareVersions(a, b)));
  });
});

describe('version fields, for any two values', () => {
  const fields = allKinds.flatMap(({ versionFields }) => versionFields);

  it('never go back both ways, except between final states, nor where nothing changes', () => {
    fc.assert(
      fc.property(fc.constantFrom(...fields), leaf, leaf, (field, a, b) => {
        assert.equal(movementBetween(field, a, a).kind, 'forward');
        if (field.order === 'terminal' || movementBetween(field, a, b).kind !== 'backward') return;
        assert.notEqual(movementBetween(field, b, a).kind, 'backward');
      }),
      { numRuns: 2000 },
    );
  });
});
