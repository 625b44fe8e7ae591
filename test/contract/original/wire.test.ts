// The wire format of the original, from sources that know nothing of our encoder: the numbers on record, and protobufjs.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/base/json.ts';
import { decodeObject } from '../../../src/proto/decode.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import { kinds } from '../../../src/proto/generated/descriptors.ts';
import { arbitraryObject } from '../../unit/proto/arbitrary-object.ts';
import { everyFieldOf } from '../../unit/proto/every-field.ts';
import { definitionsOf } from './definitions.ts';
import { kubernetesForm } from './kubernetes-form.ts';
import { referenceBytes } from './reference-encoder.ts';

const definitions = await definitionsOf();
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

for (const kind of kinds) {
  describe(`the bytes of a ${kind}`, () => {
    const { objects } = everyFieldOf(kind);
    const type = definitions.lookupType(`michelangelo.api.v2.${kind}`);

    it('with every field set are those that the numbers on record give', () => {
      for (const object of objects) {
        const golden = referenceBytes(kind, object);
        strictEqual(hex(encodeObject(kind, object)), hex(golden));
        deepStrictEqual(decodeObject(kind, golden), object);
      }
    });

    it('with every field set are those that another implementation writes after it has read them', () => {
      for (const object of objects) {
        const golden = referenceBytes(kind, object);
        strictEqual(hex(type.encode(type.decode(golden)).finish()), hex(golden));
      }
    });

    it('are the same in both directions for random objects', () => {
      fc.assert(
        fc.property(arbitraryObject(kind), (object) => {
          const written = encodeObject(kind, object);
          strictEqual(hex(written), hex(referenceBytes(kind, object)));
          const others = type.encode(type.decode(written)).finish();
          deepStrictEqual(decodeObject(kind, others), object);
        }),
        { numRuns: 50 },
      );
    });
  });
}

/** Numbers beyond 2^53 have no JSON number, which Kubernetes writes. */
function withSmallNumbers(value: JsonValue): JsonValue {
  if (typeof value === 'string' && /^\d{16}$/.test(value)) return String(BigInt(value) % 1_000_000n);
  if (Array.isArray(value)) return value.map(withSmallNumbers);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withSmallNumbers(member ?? null)]));
}

describe('a pod template with every field of every message set', () => {
  const inHead = (content: JsonObject): JsonObject => ({ spec: { head: { pod: content } } });
  const podOf = (object: JsonObject): JsonObject =>
    ((object['spec'] as JsonObject)['head'] as JsonObject)['pod'] as JsonObject;
  const pod = withSmallNumbers(podOf(everyFieldOf('RayCluster').objects[0] ?? {})) as JsonObject;

  it('has every volume type, probe handler, affinity and source of environment variables', () => {
    const text = JSON.stringify(pod);
    for (const name of [
      ...['hostPath', 'emptyDir', 'gcePersistentDisk', 'awsElasticBlockStore', 'gitRepo', 'secret', 'nfs', 'iscsi'],
      ...[
        'glusterfs',
        'persistentVolumeClaim',
        'rbd',
        'flexVolume',
        'cinder',
        'cephfs',
        'flocker',
        'downwardAPI',
        'fc',
      ],
      ...['azureFile', 'configMap', 'vsphereVolume', 'quobyte', 'azureDisk', 'photonPersistentDisk', 'projected'],
      ...[
        'portworxVolume',
        'scaleIO',
        'storageos',
        'csi',
        'ephemeral',
        'image',
        'serviceAccountToken',
        'podCertificate',
      ],
      ...['exec', 'httpGet', 'tcpSocket', 'grpc', 'livenessProbe', 'readinessProbe', 'startupProbe', 'preStop'],
      ...['nodeAffinity', 'podAffinity', 'podAntiAffinity', 'fieldRef', 'resourceFieldRef', 'configMapKeyRef'],
      ...['secretKeyRef', 'configMapRef', 'secretRef', 'ephemeralContainers', 'initContainers', 'tolerations'],
    ]) {
      ok(text.includes(`"${name}":`), name);
    }
  });

  it('is read whole from bytes made of the numbers on record, in the form that the original shows', () => {
    deepStrictEqual(podOf(decodeObject('RayCluster', referenceBytes('RayCluster', inHead(pod)))), pod);
  });

  it('has the same bytes from either form of its JSON', () => {
    const original = encodeObject('RayCluster', inHead(pod));
    strictEqual(hex(original), hex(referenceBytes('RayCluster', inHead(pod))));
    strictEqual(hex(encodeObject('RayCluster', inHead(kubernetesForm(pod)))), hex(original));
    ok(JSON.stringify(kubernetesForm(pod)) !== JSON.stringify(pod));
    deepStrictEqual(podOf(decodeObject('RayCluster', original)), pod);
  });
});

describe('a duration as Go writes it', () => {
  const inInterval = (interval: string): JsonObject => ({ spec: { trigger: { intervalSchedule: { interval } } } });

  for (const [written, seconds] of Object.entries({ '1h': '3600s', '500ms': '0.5s', '1h30m': '5400s', '+5s': '5s' })) {
    it(`has the bytes that it has in seconds: ${written}`, () => {
      const bytes = hex(encodeObject('TriggerRun', inInterval(written)));
      strictEqual(bytes, hex(referenceBytes('TriggerRun', inInterval(seconds))));
      strictEqual(bytes.length > 0, true);
    });
  }
});

describe('a time of Kubernetes in the form of the CRDs', () => {
  const times = {
    '2026-01-02T03:04:05Z': { seconds: '1767323045' },
    '2026-01-02T03:04:05.25Z': { seconds: '1767323045', nanos: 250_000_000 },
    '1969-12-31T23:59:59.000000001Z': { seconds: '-1', nanos: 1 },
  };
  const places: Readonly<Record<string, (time: JsonValue) => JsonObject>> = {
    RayCluster: (lastUpdateTime) => ({ status: { lastUpdateTime } }),
    SparkJob: (lastTransitionTime) => ({ status: { conditions: [{ type: 'Ready', lastTransitionTime }] } }),
    PipelineRun: (creationTimestamp) => ({
      status: { sourcePipeline: { pipeline: { metadata: { creationTimestamp } } } },
    }),
  };
  for (const [kind, place] of Object.entries(places)) {
    for (const [text, object] of Object.entries(times)) {
      it(`has the bytes of its seconds and nanos, which are read as text: ${kind} ${text}`, () => {
        const golden = referenceBytes(kind, place(object));
        strictEqual(hex(encodeObject(kind, place(object))), hex(golden));
        strictEqual(hex(encodeObject(kind, place(text))), hex(golden));
        const type = definitions.lookupType(`michelangelo.api.v2.${kind}`);
        strictEqual(hex(type.encode(type.decode(golden)).finish()), hex(golden));
        deepStrictEqual(decodeObject(kind, golden), place(text));
      });
    }
  }
});

describe('a port or a percentage in the form of the CRDs', () => {
  const probe = (port: JsonValue): JsonObject => ({
    spec: { head: { pod: { spec: { containers: [{ livenessProbe: { handler: { httpGet: { port } } } }] } } } },
  });
  const values: readonly (readonly [value: JsonValue, message: JsonObject])[] = [
    [8080, { intVal: 8080 }],
    ['http', { type: '1', strVal: 'http' }],
  ];
  for (const [value, object] of values) {
    it(`has the bytes of the message, which are read as a number or a text: ${value as string | number}`, () => {
      const golden = referenceBytes('RayCluster', probe(object));
      strictEqual(hex(encodeObject('RayCluster', probe(object))), hex(golden));
      strictEqual(hex(encodeObject('RayCluster', probe(value))), hex(golden));
      deepStrictEqual(decodeObject('RayCluster', golden), probe(value));
    });
  }
});
