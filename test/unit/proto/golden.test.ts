// Bytes worked out by hand from the field numbers. A tag is number × 8 + wire type (0 varint, 1 eight bytes, 2 length).
import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeObject } from '../../../src/proto/decode.ts';
import { encodeObject } from '../../../src/proto/encode.ts';

/** Hex digits of all lines; what follows `#` is a comment. */
function bytesOf(listing: string): Uint8Array {
  const digits = listing.replace(/#.*$/gm, '').replace(/\s/g, '');
  return Uint8Array.from(Buffer.from(digits, 'hex'));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

const apiVersion = `
    12 13 6d 69 63 68 65 6c 61 6e 67 65 6c 6f   # type_meta.apiVersion = 2, 19 bytes: "michelangelo
          2e 61 70 69 2f 76 32                  # .api/v2"`;

const cases = [
  {
    name: 'a Model with an enum, a double, numbers and a packed list',
    object: {
      kind: 'Model',
      apiVersion: 'michelangelo.api/v2',
      metadata: { name: 'm' },
      spec: {
        kind: 'MODEL_KIND_REGRESSION',
        inputSchema: { schemaItems: [{ name: 'x', dataType: 'DATA_TYPE_DOUBLE', shape: [1, 128] }] },
        decisionThreshold: 0.5,
        revisionId: 300,
        sealed: true,
        modelFamily: { name: 'f' },
      },
    },
    bytes: `
0a 1c                                           # type_meta = 1, 28 bytes
    0a 05 4d 6f 64 65 6c                        # kind = 1 "Model"
    ${apiVersion}
12 03                                           # metadata = 2, 3 bytes
    0a 01 6d                                    # name = 1 "m"
1a 26                                           # spec = 3, 38 bytes
    18 02                                       # kind = 3, value 2
    42 0c                                       # input_schema = 8, 12 bytes
        0a 0a                                   # schema_items = 1, 10 bytes
            0a 01 78                            # name = 1 "x"
            10 15                               # data_type = 2, value 21
            1a 03 01 80 01                      # shape = 3, packed, 3 bytes: 1, 128
    69 00 00 00 00 00 00 e0 3f                  # decision_threshold = 13, 0.5
    88 01 ac 02                                 # revision_id = 17, 300
    90 01 01                                    # sealed = 18, true
    ba 01 03                                    # model_family = 23, 3 bytes
        12 01 66                                # name = 2 "f"`,
  },
  {
    name: 'a PipelineRun with a Struct and a Timestamp',
    object: {
      kind: 'PipelineRun',
      apiVersion: 'michelangelo.api/v2',
      spec: { input: { flags: [true, null], kw_args: { name: 'sst2' }, n: 1.5 } },
      status: { state: 'PIPELINE_RUN_STATE_SUCCEEDED', endTime: '2024-01-01T00:00:00.5Z' },
    },
    bytes: `
0a 22                                           # type_meta = 1, 34 bytes
    0a 0b 50 69 70 65 6c 69 6e 65 52 75 6e      # kind = 1 "PipelineRun"
    ${apiVersion}
1a 46                                           # spec = 3, 70 bytes
    22 44                                       # input = 4, 68 bytes
        0a 13                                   # entry = 1, 19 bytes
            0a 05 66 6c 61 67 73                # key = 1 "flags"
            12 0a                               # value = 2, 10 bytes
                32 08                           # list_value = 6, 8 bytes
                    0a 02 20 01                 # values = 1: bool_value = 4, true
                    0a 02 08 00                 # values = 1: null_value = 1
        0a 1d                                   # entry = 1, 29 bytes
            0a 07 6b 77 5f 61 72 67 73          # key = 1 "kw_args"
            12 12                               # value = 2, 18 bytes
                2a 10                           # struct_value = 5, 16 bytes
                    0a 0e                       # entry = 1, 14 bytes
                        0a 04 6e 61 6d 65       # key = 1 "name"
                        12 06                   # value = 2, 6 bytes
                            1a 04 73 73 74 32   # string_value = 3 "sst2"
        0a 0e                                   # entry = 1, 14 bytes
            0a 01 6e                            # key = 1 "n"
            12 09                               # value = 2, 9 bytes
                11 00 00 00 00 00 00 f8 3f      # number_value = 2, 1.5
22 10                                           # status = 4, 16 bytes
    08 03                                       # state = 1, value 3
    32 0c                                       # end_time = 6, 12 bytes
        08 80 81 c8 ac 06                       # seconds = 1, 1704067200
        10 80 ca b5 ee 01                       # nanos = 2, 500000000`,
  },
  {
    name: 'a Revision with an Any and a nested type',
    object: {
      kind: 'Revision',
      apiVersion: 'michelangelo.api/v2',
      spec: {
        baseType: { kind: 'Pipeline', apiVersion: 'michelangelo.api/v2' },
        content: { '@type': 'type.googleapis.com/michelangelo.api.TypedStruct', value: 'CgFh' },
      },
    },
    bytes: `
0a 1f                                           # type_meta = 1, 31 bytes
    0a 08 52 65 76 69 73 69 6f 6e               # kind = 1 "Revision"
    ${apiVersion}
1a 5a                                           # spec = 3, 90 bytes
    0a 1f                                       # base_type = 1, 31 bytes
        0a 08 50 69 70 65 6c 69 6e 65           # kind = 1 "Pipeline"
        ${apiVersion}
    1a 37                                       # content = 3, 55 bytes
        0a 30 74 79 70 65 2e                    # type_url = 1, 48 bytes: "type.
              67 6f 6f 67 6c 65 61 70 69 73     # googleapis
              2e 63 6f 6d 2f                    # .com/
              6d 69 63 68 65 6c 61 6e 67 65 6c 6f  # michelangelo
              2e 61 70 69 2e                    # .api.
              54 79 70 65 64 53 74 72 75 63 74  # TypedStruct"
        12 03 0a 01 61                          # value = 2, the 3 bytes of CgFh`,
  },
  {
    name: 'a RayCluster with a pod template and a Kubernetes time',
    object: {
      kind: 'RayCluster',
      apiVersion: 'michelangelo.api/v2',
      spec: { head: { pod: { metadata: { name: 'p' }, spec: { hostNetwork: true } } } },
      status: { lastUpdateTime: '1970-01-01T00:02:00Z' },
    },
    bytes: `
0a 21                                           # type_meta = 1, 33 bytes
    0a 0a 52 61 79 43 6c 75 73 74 65 72         # kind = 1 "RayCluster"
    ${apiVersion}
1a 0d                                           # spec = 3, 13 bytes
    1a 0b                                       # head = 3, 11 bytes
        12 09                                   # pod = 2, 9 bytes
            0a 03                               # metadata = 1, 3 bytes
                0a 01 70                        # name = 1 "p"
            12 02                               # spec = 2, 2 bytes
                58 01                           # hostNetwork = 11, true
22 04                                           # status = 4, 4 bytes
    12 02                                       # last_update_time = 2, 2 bytes
        08 78                                   # seconds = 1, 120`,
  },
  {
    name: 'a SparkJob with a map, a label selector and an explicit false',
    object: {
      kind: 'SparkJob',
      apiVersion: 'michelangelo.api/v2',
      metadata: { ownerReferences: [{ controller: false }] },
      spec: {
        affinity: {
          resourceAffinity: { selector: { matchExpressions: [{ key: 'k', operator: 'In', values: ['v'] }] } },
        },
        sparkConf: { a: '', b: '2' },
      },
    },
    bytes: `
0a 1f                                           # type_meta = 1, 31 bytes
    0a 08 53 70 61 72 6b 4a 6f 62               # kind = 1 "SparkJob"
    ${apiVersion}
12 04                                           # metadata = 2, 4 bytes
    6a 02                                       # ownerReferences = 13, 2 bytes
        30 00                                   # controller = 6, false
1a 21                                           # spec = 3, 33 bytes
    12 10                                       # affinity = 2, 16 bytes
        12 0e                                   # resource_affinity = 2, 14 bytes
            0a 0c                               # selector = 1, 12 bytes
                12 0a                           # matchExpressions = 2, 10 bytes
                    0a 01 6b                    # key = 1 "k"
                    12 02 49 6e                 # operator = 2 "In"
                    1a 01 76                    # values = 3 "v"
    2a 05                                       # spark_conf = 5, entry of 5 bytes
        0a 01 61                                # key = 1 "a"
        12 00                                   # value = 2, empty and yet written
    2a 06                                       # spark_conf = 5, entry of 6 bytes
        0a 01 62                                # key = 1 "b"
        12 01 32                                # value = 2 "2"`,
  },
];

describe('protobuf bytes by hand', () => {
  for (const { name, object, bytes } of cases) {
    it(`encodes ${name}`, () => {
      strictEqual(hex(encodeObject(object.kind, object)), hex(bytesOf(bytes)));
    });

    it(`decodes ${name}`, () => {
      deepStrictEqual(decodeObject(object.kind, bytesOf(bytes)), object);
    });
  }
});
