import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject, JsonValue } from '../../../src/base/json.ts';
import { decodeObject } from '../../../src/proto/decode.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { ProtoEncodingError, ProtoUnknownKindError } from '../../../src/proto/errors.ts';
import type { LeftOut } from '../../../src/proto/left-out.ts';

function bytesOf(kind: string, object: JsonObject): string {
  return Buffer.from(encodeObject(kind, object)).toString('hex');
}

function roundTrip(kind: string, object: JsonObject): JsonObject {
  return decodeObject(kind, encodeObject(kind, object));
}

/** An object nested `levels` deep inside one Struct. */
function nestedStruct(levels: number): JsonObject {
  let value: JsonObject = {};
  for (let level = 1; level < levels; level += 1) value = { a: value };
  return value;
}

describe('encodeObject', () => {
  it('gives each object bytes of its own, also after an object that could not be encoded', () => {
    const small = { metadata: { name: 'a' } };
    const large = { metadata: { name: 'b' }, spec: { description: 'x'.repeat(100_000) } };
    const bytes = encodeObject('Model', small);
    const before = Buffer.from(bytes).toString('hex');
    throws(() => encodeObject('Model', { metadata: { name: 'c' }, spec: { modelFamily: 'none' } }), ProtoEncodingError);
    strictEqual(bytesOf('Model', small), before);
    for (const object of [large, small, large]) deepStrictEqual(roundTrip('Model', object), object);
    strictEqual(Buffer.from(bytes).toString('hex'), before);
  });

  it('takes a field by its JSON name and by its proto name', () => {
    const spec = { trainingFramework: 'sklearn', modelFamily: { name: 'f' } };
    const snake = { training_framework: 'sklearn', model_family: { name: 'f' } };
    strictEqual(bytesOf('Model', { spec: snake }), bytesOf('Model', { spec }));
  });

  it('lets the JSON name win where both names are there', () => {
    const spec = { training_framework: 'old', trainingFramework: 'new' };
    strictEqual(bytesOf('Model', { spec }), bytesOf('Model', { spec: { trainingFramework: 'new' } }));
  });

  it('takes the proto name where the JSON name is null', () => {
    const spec = { training_framework: 'old', trainingFramework: null };
    strictEqual(bytesOf('Model', { spec }), bytesOf('Model', { spec: { trainingFramework: 'old' } }));
  });

  it('ignores members that the definitions do not know', () => {
    const known = { spec: { algorithm: 'xgboost', owner: { name: 'o' } } };
    const more = { data: 1, spec: { algorithm: 'xgboost', later: [{}], owner: { name: 'o', later: null } } };
    strictEqual(bytesOf('Model', more), bytesOf('Model', known));
  });

  it('takes null for absent', () => {
    const spec = { algorithm: null, owner: null, qualityScores: null, kind: null, inputSchema: null };
    strictEqual(bytesOf('Model', { metadata: null, spec }), bytesOf('Model', { spec: {} }));
  });

  it('writes nothing for a zero value, an empty list and an empty map', () => {
    const spec = { algorithm: '', revisionId: 0, sealed: false, decisionThreshold: 0, kind: 'MODEL_KIND_INVALID' };
    strictEqual(bytesOf('Model', { spec: { ...spec, qualityScores: [] } }), bytesOf('Model', { spec: {} }));
    strictEqual(bytesOf('SparkJob', { spec: { sparkConf: {} } }), bytesOf('SparkJob', { spec: {} }));
    const schema = (item: JsonObject): JsonObject => ({ spec: { inputSchema: { schemaItems: [item] } } });
    strictEqual(bytesOf('Model', schema({ shape: [] })), bytesOf('Model', schema({})));
  });

  it('tells an empty message from an absent one', () => {
    deepStrictEqual(roundTrip('Model', { spec: { owner: {} } }), { spec: { owner: {} } });
    deepStrictEqual(roundTrip('Model', {}), {});
  });

  it('keeps minus zero apart from zero', () => {
    deepStrictEqual(roundTrip('Model', { spec: { decisionThreshold: -0 } }), { spec: { decisionThreshold: -0 } });
  });

  it('keeps the zero values of a oneof', () => {
    for (const baseline of [{ floatValue: 0 }, { stringValue: '' }, { boolValue: false }, { intValue: 0 }]) {
      const object = { spec: { featureImportanceList: [{ featureImportance: { a: { baseline } } }] } };
      deepStrictEqual(roundTrip('Model', object), object);
    }
    const empty = { spec: { inferenceServer: {} } };
    deepStrictEqual(roundTrip('Deployment', empty), empty);
  });

  it('takes a port as the message that the CRDs have, and no other', () => {
    const withPort = (port: JsonValue): JsonObject => ({
      spec: { head: { pod: { spec: { containers: [{ livenessProbe: { tcpSocket: { port } } }] } } } },
    });
    const same: readonly (readonly [JsonValue, JsonValue])[] = [
      [{}, 0],
      [{ type: '0', intVal: 80, strVal: 'left' }, 80],
      [{ type: 1, intVal: 80, strVal: 'http' }, 'http'],
      [{ type: '1' }, ''],
    ];
    for (const [message, value] of same) {
      strictEqual(bytesOf('RayCluster', withPort(message)), bytesOf('RayCluster', withPort(value)));
    }
    const wrong: readonly JsonObject[] = [
      ...[{ type: '2' }, { type: '1', strVal: 5 }, { intVal: '80' }, { intVal: 2 ** 31 }, { intVal: 80, more: 1 }],
      { type: '1', strVal: '\ud800' },
    ];
    for (const port of wrong) throws(() => bytesOf('RayCluster', withPort(port)), ProtoEncodingError);
  });

  it('keeps the zero of what Kubernetes holds as a pointer', () => {
    const metadata = {
      deletionGracePeriodSeconds: 0,
      ownerReferences: [{ controller: false, blockOwnerDeletion: false }],
    };
    deepStrictEqual(roundTrip('Model', { metadata }), { metadata });
  });

  it('takes an enum by name and by number', () => {
    strictEqual(bytesOf('Model', { spec: { kind: 2 } }), bytesOf('Model', { spec: { kind: 'MODEL_KIND_REGRESSION' } }));
  });

  it('keeps an enum number that this release has no name for', () => {
    deepStrictEqual(roundTrip('Model', { spec: { kind: 99 } }), { spec: { kind: 99 } });
  });

  it('takes a 64-bit number as a string and as a number', () => {
    const status = (observedGeneration: JsonValue): JsonObject => ({ status: { observedGeneration } });
    strictEqual(bytesOf('InferenceServer', status(12)), bytesOf('InferenceServer', status('12')));
    const limits = ['9223372036854775807', '-9223372036854775808'];
    for (const limit of limits) deepStrictEqual(roundTrip('InferenceServer', status(limit)), status(limit));
  });

  it('writes maps in one order whatever the order of their keys', () => {
    const one = { spec: { sparkConf: { b: '2', a: '1' }, driver: {} } };
    const two = { spec: { driver: {}, sparkConf: { a: '1', b: '2' } } };
    strictEqual(bytesOf('SparkJob', one), bytesOf('SparkJob', two));
    const structs = [
      { b: [{ y: 1, x: 2 }], a: 1 },
      { a: 1, b: [{ x: 2, y: 1 }] },
    ];
    const [left, right] = structs.map((input) => bytesOf('PipelineRun', { spec: { input } }));
    strictEqual(left, right);
  });

  it('carries the text of field sets in one order, whatever order they had', () => {
    const sets = [
      { b: { d: null, c: [1] }, a: 'x' },
      { a: 'x', b: { c: [1], d: null } },
    ];
    const objects = sets.map((fieldsV1) => ({ metadata: { managedFields: [{ fieldsV1 }] } }));
    strictEqual(bytesOf('Model', objects[0]!), bytesOf('Model', objects[1]!));
    deepStrictEqual(roundTrip('Model', objects[0]!), objects[1]);
  });

  it('never expands an Any', () => {
    const content = { '@type': 'type.googleapis.com/google.protobuf.Duration', value: 'CAM=' };
    deepStrictEqual(roundTrip('Revision', { spec: { content } }), { spec: { content } });
  });

  it('keeps keys that objects of JavaScript have a meaning for', () => {
    const text =
      '{"metadata":{"labels":{"__proto__":"a","constructor":"b","toString":"c"}},' +
      '"spec":{"input":{"__proto__":{"x":1},"hasOwnProperty":null}}}';
    const object = JSON.parse(text) as JsonObject;
    const decoded = roundTrip('PipelineRun', object);
    strictEqual(JSON.stringify(decoded), text);
  });

  it('does not read fields from a prototype', () => {
    const spec = JSON.parse('{"__proto__":{"algorithm":"inherited"}}') as JsonObject;
    strictEqual(bytesOf('Model', { spec }), bytesOf('Model', { spec: {} }));
    const inherited = Object.create({ algorithm: 'inherited' }) as JsonObject;
    strictEqual(bytesOf('Model', { spec: inherited }), bytesOf('Model', { spec: {} }));
  });

  it('accepts 100 nested levels and refuses more', () => {
    const within = { spec: { input: nestedStruct(99) } };
    deepStrictEqual(roundTrip('PipelineRun', within), within);
    throws(() => encodeObject('PipelineRun', { spec: { input: nestedStruct(100) } }), /no more than 100 nested levels/);
    throws(() => encodeObject('PipelineRun', { spec: { input: nestedStruct(100_000) } }), ProtoEncodingError);
    const metadata = { managedFields: [{ fieldsV1: nestedStruct(100_000) }] };
    throws(() => encodeObject('RayCluster', { metadata }), ProtoEncodingError);
  });

  it('refuses a kind without a definition', () => {
    throws(() => encodeObject('Pod', {}), ProtoUnknownKindError);
    throws(() => encodeObject('ModelSpec', {}), ProtoUnknownKindError);
    throws(() => encodeObject('__proto__', {}), ProtoUnknownKindError);
  });
});

const wrongShapes: readonly [kind: string, object: JsonValue, message: RegExp][] = [
  ['Model', 'text', /^object: expected an object\./],
  ['Model', [], /^object: expected an object\./],
  ['Model', { kind: 7 }, /^kind: expected a string/],
  ['Model', { spec: [] }, /^spec: expected an object\./],
  ['Model', { spec: { algorithm: 7 } }, /^spec\.algorithm: expected a string/],
  ['Model', { spec: { algorithm: '\ud800' } }, /^spec\.algorithm: expected a string of valid Unicode\./],
  ['Model', { spec: { sealed: 'true' } }, /^spec\.sealed: expected true or false\./],
  ['Model', { spec: { revisionId: 1.5 } }, /^spec\.revisionId: expected a whole number of 32 bits\./],
  ['Model', { spec: { revisionId: 2 ** 31 } }, /^spec\.revisionId: expected a whole number of 32 bits\./],
  ['Model', { spec: { revisionId: ['5'] } }, /^spec\.revisionId: expected a whole number of 32 bits\./],
  ['Model', { spec: { decisionThreshold: '0.5' } }, /^spec\.decisionThreshold: expected a number\./],
  ['Model', { spec: { kind: 'MODEL_KIND_NOPE' } }, /^spec\.kind: expected a value of ModelKind\./],
  ['Model', { spec: { kind: 'constructor' } }, /^spec\.kind: expected a value of ModelKind\./],
  ['Model', { spec: { qualityScores: {} } }, /^spec\.qualityScores: expected an array\./],
  ['Model', { spec: { qualityScores: [{}, null] } }, /^spec\.qualityScores\[1\]: expected an object\./],
  [
    'Model',
    { spec: { qualityScores: [{ metadata: [] }] } },
    /^spec\.qualityScores\[0\]\.metadata: expected an object\./,
  ],
  [
    'Model',
    { spec: { inputSchema: { schemaItems: [{ shape: [1, 'x'] }] } } },
    /^spec\.inputSchema\.schemaItems\[0\]\.shape\[1\]: expected a whole number/,
  ],
  [
    'Model',
    { spec: { featureImportanceList: [{ featureImportance: { a: { baseline: { floatValue: 1e39 } } } }] } },
    /^spec\.featureImportanceList\[0\]\.featureImportance\.a\.baseline\.floatValue: expected a number in the range of a float\./,
  ],
  ['SparkJob', { spec: { sparkConf: [] } }, /^spec\.sparkConf: expected an object\./],
  ['SparkJob', { spec: { sparkConf: { 'spark.x y': 1 } } }, /^spec\.sparkConf\["spark\.x y"\]: expected a string/],
  ['SparkJob', { spec: { sparkConf: { '\ud800': '' } } }, /expected a key of valid Unicode\./],
  ['PipelineRun', { spec: { input: { '\ud800': '' } } }, /expected a key of valid Unicode\./],
  ['PipelineRun', { spec: { input: { a: ['\ud800'] } } }, /^spec\.input\.a\[0\]: expected a string of valid Unicode\./],
  ['PipelineRun', { status: { endTime: 'yesterday' } }, /^status\.endTime: expected an RFC 3339 time\./],
  ['PipelineRun', { status: { endTime: { seconds: '1' } } }, /^status\.endTime: expected an RFC 3339 time\./],
  [
    'PipelineRun',
    { metadata: { creationTimestamp: 5 } },
    /^metadata\.creationTimestamp: expected an RFC 3339 time, or its seconds and nanos\./,
  ],
  [
    'RayCluster',
    { status: { lastUpdateTime: { seconds: '253402300800' } } },
    /^status\.lastUpdateTime: expected an RFC 3339 time, or its seconds and nanos\./,
  ],
  [
    'TriggerRun',
    { spec: { trigger: { intervalSchedule: { interval: '5 minutes' } } } },
    /^spec\.trigger\.intervalSchedule\.interval: expected a duration such as 3\.5s or 1h30m\./,
  ],
  [
    'TriggerRun',
    { spec: { trigger: { cronSchedule: {}, intervalSchedule: {} } } },
    /^spec\.trigger\.cronSchedule: expected only one of cronSchedule, batchRerun, intervalSchedule\./,
  ],
  ['Revision', { spec: { content: { value: '*' } } }, /^spec\.content\.value: expected bytes as base64\./],
  ['Revision', { spec: { content: { '@type': 1 } } }, /^spec\.content\.@type: expected a string/],
  [
    'InferenceServer',
    { status: { observedGeneration: 2 ** 53 } },
    /^status\.observedGeneration: expected a whole number of 64/,
  ],
  [
    'InferenceServer',
    { status: { observedGeneration: '9223372036854775808' } },
    /^status\.observedGeneration: expected a whole/,
  ],
  ['InferenceServer', { status: { observedGeneration: '1e3' } }, /^status\.observedGeneration: expected a whole/],
  ['RayCluster', { spec: { head: { pod: 'x' } } }, /^spec\.head\.pod: expected an object\./],
  [
    'RayCluster',
    { spec: { head: { pod: { spec: { containers: [{ resources: { limits: { cpu: 'much' } } }] } } } } },
    /^spec\.head\.pod\.spec\.containers\[0\]\.resources\.limits\.cpu: expected a quantity such as 500m or 2Gi\./,
  ],
  [
    'RayCluster',
    { spec: { head: { pod: { spec: { containers: [{ livenessProbe: { httpGet: { port: 1.5 } } }] } } } } },
    /livenessProbe\.httpGet\.port: expected a whole number of 32 bits or a string\./,
  ],
  [
    'RayCluster',
    {
      spec: {
        head: { pod: { spec: { containers: [{ ports: [], livenessProbe: { tcpSocket: { port: { type: '2' } } } }] } } },
      },
    },
    /livenessProbe\.tcpSocket\.port: expected a whole number of 32 bits or a string\./,
  ],
];

describe('a value of the wrong shape', () => {
  for (const [kind, object, message] of wrongShapes) {
    it(`is refused with its path: ${kind} ${message.source}`, () => {
      throws(
        () => encodeObject(kind, object as JsonObject),
        (error) =>
          error instanceof ProtoEncodingError && error.code === 'PROTO_UNENCODABLE' && message.test(error.message),
      );
    });
  }

  it('is never quoted in the message', () => {
    const secret = 'hunter2';
    const objects: [string, JsonObject][] = [
      ['Model', { spec: { kind: secret } }],
      ['Revision', { spec: { content: { value: `*${secret}` } } }],
      ['PipelineRun', { status: { endTime: secret } }],
    ];
    for (const [kind, object] of objects) {
      throws(
        () => encodeObject(kind, object),
        (error) => error instanceof Error && !error.message.includes(secret),
      );
    }
  });

  it('has a path of bounded length', () => {
    const key = 'k'.repeat(10_000);
    throws(
      () => encodeObject('SparkJob', { spec: { sparkConf: { [key]: 1 } } }),
      (error) => error instanceof ProtoEncodingError && error.path.length < 400,
    );
    throws(
      () => encodeObject('PipelineRun', { spec: { input: { [key]: { wrong: '\ud800' } } } }),
      (error) => error instanceof ProtoEncodingError && error.path.endsWith('.wrong'),
    );
    let input: JsonObject = { wrong: '\ud800' };
    for (let level = 0; level < 50; level += 1) input = { [key.slice(0, 60)]: input };
    throws(
      () => encodeObject('PipelineRun', { spec: { input } }),
      (error) => error instanceof ProtoEncodingError && error.path.length < 400,
    );
  });
});

describe('what does not fit', () => {
  const encodeLeaving = (kind: string, object: JsonObject): { object: JsonObject; left: LeftOut[] } => {
    const left: LeftOut[] = [];
    const bytes = encodeObject(kind, object, (one) => left.push(one));
    return { object: decodeObject(kind, bytes), left };
  };

  for (const [kind, object, message] of wrongShapes) {
    if (typeof object !== 'object' || object === null || Array.isArray(object)) continue;
    it(`is left out alone and told: ${kind} ${message.source}`, () => {
      const metadata = object['metadata'] === undefined ? { name: 'beside' } : object['metadata'];
      const { object: decoded, left } = encodeLeaving(kind, { ...object, metadata });
      strictEqual(left.length, 1);
      ok(message.test(`${left[0]!.path}: expected ${left[0]!.expected ?? ''}. `), left[0]!.path);
      if (object['metadata'] === undefined) deepStrictEqual(decoded['metadata'], { name: 'beside' });
    });
  }

  it('costs no more than the field, the item or the entry', () => {
    const spec = {
      description: 'kept',
      revisionId: 'wrong',
      inputSchema: { schemaItems: [{ name: 'a', shape: [1, 'x', 3] }, 'no item', { name: 'b' }] },
      featureImportanceList: [{ featureImportance: { bad: { mean: 'x', absMean: 2 }, worse: 7, good: { mean: 1 } } }],
      qualityScores: [{ name: 'q', metadata: { n: 1, list: ['a', '\ud800', 'b'], '\ud800': 1 } }],
    };
    const { object, left } = encodeLeaving('Model', { spec });
    deepStrictEqual(object['spec'], {
      description: 'kept',
      inputSchema: { schemaItems: [{ name: 'a', shape: [1, 3] }, { name: 'b' }] },
      qualityScores: [{ name: 'q', metadata: { n: 1, list: ['a', 'b'] } }],
      featureImportanceList: [{ featureImportance: { bad: { absMean: 2 }, good: { mean: 1 } } }],
    });
    deepStrictEqual(left.map(({ path }) => path).sort(), [
      'spec.featureImportanceList[0].featureImportance.bad.mean',
      'spec.featureImportanceList[0].featureImportance.worse',
      'spec.inputSchema.schemaItems[0].shape[1]',
      'spec.inputSchema.schemaItems[1]',
      'spec.qualityScores[0].metadata.list[1]',
      'spec.qualityScores[0].metadata["\\ud800"]',
      'spec.revisionId',
    ]);
  });

  it('is told of fields that no definition has, and of nothing inside them', () => {
    const { left } = encodeLeaving('RayCluster', {
      apiVersion: 'x',
      kind: 'RayCluster',
      extra: 1,
      metadata: { name: 'n', newer: true },
      spec: {
        proxyUser: 'a',
        rayVersion: '2',
        ray_conf: { any: 'key' },
        head: { pod: { spec: { brandNew: [{ a: 1 }] } } },
      },
    });
    deepStrictEqual(
      left.map(({ path, expected }) => [path, expected]),
      [
        ['metadata.newer', undefined],
        ['spec.proxyUser', undefined],
        ['spec.head.pod.spec.brandNew', undefined],
        ['extra', undefined],
      ],
    );
  });

  it('is told twenty times for one object and no more', () => {
    const shape = Array<string>(1000).fill('x');
    strictEqual(encodeLeaving('Model', { spec: { inputSchema: { schemaItems: [{ shape }] } } }).left.length, 20);
  });
});

describe('members of a oneof', () => {
  const baseline = (value: JsonObject): JsonValue | undefined => {
    const spec = { featureImportanceList: [{ featureImportance: { f: { baseline: value } } }] };
    const decoded = decodeObject(
      'Model',
      encodeObject('Model', { spec }, () => undefined),
    );
    return (decoded['spec'] as typeof spec).featureImportanceList[0]!.featureImportance.f.baseline;
  };

  it('give way to the last one that has a value', () => {
    deepStrictEqual(baseline({ floatValue: 1, stringValue: 'a' }), { stringValue: 'a' });
    deepStrictEqual(baseline({ stringValue: 'a', floatValue: 1 }), { floatValue: 1 });
  });

  it('count as absent where they are null beside one that has a value', () => {
    deepStrictEqual(baseline({ stringValue: null, floatValue: 1 }), { floatValue: 1 });
    deepStrictEqual(baseline({ floatValue: 1, stringValue: null }), { floatValue: 1 });
  });

  it('have the zero value where the only one is null', () => {
    deepStrictEqual(baseline({ stringValue: null }), { stringValue: '' });
  });
});

describe('null in a list or a map', () => {
  it('is the zero value, as in the original', () => {
    const spec = { sparkConf: { a: null, b: 'x' } };
    deepStrictEqual(roundTrip('SparkJob', { spec }), { spec: { sparkConf: { a: '', b: 'x' } } });
    const items = { inputSchema: { schemaItems: [{ shape: [null, 2] }] } };
    deepStrictEqual(roundTrip('Model', { spec: items }), {
      spec: { inputSchema: { schemaItems: [{ shape: [0, 2] }] } },
    });
  });
});
