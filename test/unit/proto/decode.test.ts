import { deepStrictEqual, throws } from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeObject } from '../../../src/proto/decode.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { ProtoDecodingError } from '../../../src/proto/errors.ts';

function decode(kind: string, hex: string): object {
  return decodeObject(kind, Uint8Array.from(Buffer.from(hex.replace(/\s/g, ''), 'hex')));
}

describe('decodeObject', () => {
  it('leaves out zero values that a writer has written all the same', () => {
    // metadata: name "", generation 0, an empty creationTimestamp, as Kubernetes writes an object's metadata.
    deepStrictEqual(decode('Model', '0a00 1206 0a00 3800 4200 1a00 2200'), { metadata: {}, spec: {}, status: {} });
  });

  it('skips fields it does not know', () => {
    // spec: 1000 varint, 1001 eight bytes, 1002 length, 1003 four bytes; then algorithm "a".
    const unknown = 'c03e01 c93e0000000000000000 d23e0161 dd3e00000000';
    deepStrictEqual(decode('Model', `1a1a ${unknown} 220161`), { spec: { algorithm: 'a' } });
  });

  it('reads a list of numbers packed, unpacked and mixed', () => {
    // input_schema { schema_items { shape } }
    const shapes = ['1a03018001', '1801188001', '18011a028001'];
    for (const shape of shapes) {
      const [spec, schema, item] = [4, 2, 0].map((more) => (shape.length / 2 + more).toString(16).padStart(2, '0'));
      const hex = `1a${spec} 42${schema} 0a${item} ${shape}`;
      deepStrictEqual(decode('Model', hex), { spec: { inputSchema: { schemaItems: [{ shape: [1, 128] }] } } });
    }
  });

  it('keeps the last member of a oneof', () => {
    // trigger { cron_schedule {} interval_schedule {} cron_schedule { cron "x" } }
    deepStrictEqual(decode('TriggerRun', '1a0b 1a09 0a00 3200 0a030a0178'), {
      spec: { trigger: { cronSchedule: { cron: 'x' } } },
    });
    deepStrictEqual(decode('TriggerRun', '1a06 1a04 0a00 3200'), { spec: { trigger: { intervalSchedule: {} } } });
  });

  it('reads map entries whose key or value was left out', () => {
    // spark_conf: {}, { key "a" }, { value "b" }
    deepStrictEqual(decode('SparkJob', '1a07 2a00 2a030a0161'), { spec: { sparkConf: { '': '', a: '' } } });
    deepStrictEqual(decode('SparkJob', '1a05 2a03120162'), { spec: { sparkConf: { '': 'b' } } });
  });

  it('reads an empty Kubernetes time as absent and an empty Timestamp as 1970', () => {
    deepStrictEqual(decode('RayCluster', '2202 1200'), { status: {} });
    deepStrictEqual(decode('PipelineRun', '2202 3200'), { status: { endTime: '1970-01-01T00:00:00Z' } });
  });

  it('gives an Any without a value an empty one, which the JSON parser of the original asks for', () => {
    // content { type_url "a/b" }
    deepStrictEqual(decode('Revision', '1a07 1a05 0a03 612f62'), { spec: { content: { '@type': 'a/b', value: '' } } });
  });

  it('gives object metadata the numbers that Kubernetes has there', () => {
    const metadata = { generation: 3, deletionGracePeriodSeconds: 0 };
    deepStrictEqual(decodeObject('Model', encodeObject('Model', { metadata })), { metadata });
  });

  it('leaves the numbers of embedded metadata strings, as in all embedded messages', () => {
    const status = { sourcePipeline: { pipeline: { typeMeta: { kind: 'Pipeline' }, metadata: { generation: '3' } } } };
    deepStrictEqual(decodeObject('PipelineRun', encodeObject('PipelineRun', { status })), { status });
  });

  it('reads a number that JSON has no text for as a string', () => {
    // decision_threshold: NaN and infinity
    deepStrictEqual(decode('Model', '1a09 69000000000000f87f'), { spec: { decisionThreshold: 'NaN' } });
    deepStrictEqual(decode('Model', '1a09 69000000000000f0ff'), { spec: { decisionThreshold: '-Infinity' } });
  });

  const damaged: Readonly<Record<string, readonly [kind: string, hex: string, message: RegExp]>> = {
    'is cut off': ['Model', '1a05 2201', /^object: premature EOF/],
    'has a length beyond its end': ['Model', '1aff01 22', /^object: premature EOF/],
    'has an invalid tag': ['Model', '0001', /^object: illegal tag/],
    'has another wire type': ['Model', '1a02 2005', /^spec\.algorithm: another type was written here/],
    'has a number where a message belongs': ['Model', '1801', /^spec: another type was written here/],
    'holds text that is not UTF-8': ['Model', '1a04 2202 ffff', /^object: /],
    'holds a time outside of RFC 3339': [
      'PipelineRun',
      '220c 320a 08ffffffffffffffff7f',
      /^status\.endTime: a time out of/,
    ],
    'holds negative nanoseconds': [
      'PipelineRun',
      '220d 320b 10ffffffffffffffffff01',
      /^status\.endTime: a time out of/,
    ],
    'holds a duration of two signs': [
      'Deployment',
      '1a11 5a0f 120d 0801 10ffffffffffffffffff01',
      /^spec\.shadowSpec\.duration: a duration out of range/,
    ],
    'holds a Struct with an endless number': [
      'PipelineRun',
      '1a12 2210 0a0e 0a0161 1209 11000000000000f07f',
      /^spec\.input\.a: a number that JSON cannot hold/,
    ],
    'embeds text that is not JSON': [
      'Model',
      '120a 8a0107 3a05 0a03 7b7365',
      /^metadata\.managedFields\[0\]\.fieldsV1: the embedded text/,
    ],
    'embeds JSON that is not an object': [
      'Model',
      '120b 8a0108 3a06 0a04 6e756c6c',
      /^metadata\.managedFields\[0\]\.fieldsV1: the embedded text/,
    ],
    'has a packed list that ends inside a number': [
      'Model',
      '1a08 4206 0a04 1a01 8001',
      /schemaItems\[0\]\.shape: a packed list/,
    ],
  };
  for (const [what, [kind, hex, message]] of Object.entries(damaged)) {
    it(`refuses a message that ${what}`, () => {
      throws(
        () => decode(kind, hex),
        (error) =>
          error instanceof ProtoDecodingError && error.code === 'PROTO_UNDECODABLE' && message.test(error.message),
      );
    });
  }

  it('refuses more than 100 nested levels', () => {
    // input = 4 holds a Struct, entry, value, Struct, entry, … without end in sight.
    let struct: Buffer = Buffer.alloc(0);
    for (let level = 0; level < 200; level += 1) struct = field(1, field(2, field(5, struct)));
    throws(() => decodeObject('PipelineRun', field(3, field(4, struct))), /more than 100 nested levels/);
  });
});

/** A length-delimited field. */
function field(number: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = content.length; ; rest >>= 7) {
    length.push(rest > 127 ? (rest & 127) | 128 : rest);
    if (rest <= 127) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), content]);
}
