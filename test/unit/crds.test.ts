import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { newerPodFields } from '../../hack/generate/crds/newer-pod-fields.ts';
import { crdOutputs } from '../../hack/generate/crds/outputs.ts';
import type { Schema } from '../../hack/generate/crds/schema.ts';
import type { JsonValue } from '../../src/base/json.ts';
import { catalogue } from '../../src/kinds/catalogue.ts';
import type { FieldDescriptor } from '../../src/proto/descriptor.ts';
import { enums, messages } from '../../src/proto/generated/descriptors.ts';
import { wellKnownType } from '../../src/proto/well-known.ts';
import { everyFieldOf } from './proto/every-field.ts';

interface Crd {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: Readonly<Record<string, string>>;
    readonly scope: string;
    readonly versions: readonly {
      readonly name: string;
      readonly subresources: object;
      readonly additionalPrinterColumns: readonly {
        readonly name: string;
        readonly type: string;
        readonly jsonPath: string;
      }[];
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
}

const outputs = await crdOutputs(catalogue);
const crds = new Map(outputs.map(({ content }) => parse(content) as Crd).map((crd) => [crd.spec.names['kind']!, crd]));

function schemaOf(kind: string): Schema {
  return crds.get(kind)!.spec.versions[0]!.schema.openAPIV3Schema;
}

/** The schema at a path of property names; `[]` steps into an array, `*` into a map. */
function schemaAt(kind: string, path: string): Schema | undefined {
  return path.split('.').reduce<Schema | undefined>((schema, step) => {
    if (step === '[]') return schema?.items;
    return step === '*' ? schema?.additionalProperties : schema?.properties?.[step];
  }, schemaOf(kind));
}

function nodesOf(schema: Schema, path: string): [string, Schema][] {
  const children = Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    nodesOf(child, `${path}.${name}`),
  );
  const items = schema.items === undefined ? [] : nodesOf(schema.items, `${path}[]`);
  const values = schema.additionalProperties === undefined ? [] : nodesOf(schema.additionalProperties, `${path}.*`);
  return [[path, schema], ...children, ...items, ...values];
}

const int64: Schema = { type: 'string', format: 'int64', pattern: '^[-]?\\d{1,19}$' };
const kubernetesTime: Schema = {
  type: 'object',
  properties: { seconds: int64, nanos: { type: 'integer', format: 'int32' } },
};
/** Schemas of the original that do not fit what clients write; ours have to be the same. */
const asTheOriginal: readonly Schema[] = [
  kubernetesTime,
  { type: 'object', properties: { raw: { type: 'string', format: 'byte' } } },
  {
    type: 'object',
    properties: { type: int64, intVal: { type: 'integer', format: 'int32' }, strVal: { type: 'string' } },
  },
];

/** Why the API server would refuse or prune a value; empty where it keeps all of it. */
function complaints(schema: Schema | undefined, value: JsonValue, path: string): string[] {
  if (schema === undefined) return [`${path} is pruned`];
  if (asTheOriginal.some((node) => isDeepStrictEqual(node, schema))) return [];
  if (Array.isArray(value)) {
    return schema.type === 'array'
      ? value.flatMap((item) => complaints(schema.items, item, `${path}[]`))
      : [`${path} is a list`];
  }
  if (typeof value !== 'object' || value === null) return scalarComplaints(schema, value, path);
  if (schema.type !== 'object') return [`${path} is an object`];
  if (schema['x-kubernetes-preserve-unknown-fields']) return [];
  const missing = (schema.required ?? [])
    .filter((name) => value[name] === undefined)
    .map((name) => `${path} lacks ${name}`);
  const inside = Object.entries(value).flatMap(([name, member]) =>
    complaints(schema.additionalProperties ?? schema.properties?.[name], member ?? null, `${path}.${name}`),
  );
  return [...missing, ...inside];
}

function scalarComplaints(schema: Schema, value: string | number | boolean | null, path: string): string[] {
  if (schema['x-kubernetes-int-or-string'])
    return ['string', 'number'].includes(typeof value) ? [] : [`${path} is odd`];
  const type = { string: 'string', number: 'number', integer: 'number', boolean: 'boolean', object: '', array: '' }[
    schema.type ?? 'object'
  ];
  if (typeof value !== type) return [`${path} is not a ${schema.type}`];
  return textComplaints(schema, value, path);
}

function textComplaints(schema: Schema, value: string | number | boolean | null, path: string): string[] {
  const text = String(value);
  if (schema.type === 'integer' && !Number.isInteger(value)) return [`${path} is not whole`];
  if (schema.enum !== undefined && !schema.enum.includes(text)) return [`${path} is not in its enum`];
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(text)) return [`${path} does not match`];
  if (schema.format === 'date-time' && Number.isNaN(Date.parse(text))) return [`${path} is not a time`];
  return [];
}

describe('the CRDs', () => {
  it('are 13 files and CachedOutput in a folder of its own, named as the API server wants it', () => {
    deepStrictEqual(
      outputs.map(({ path }) => path),
      [
        'crds/projects.michelangelo.api.yaml',
        'crds/modelfamilys.michelangelo.api.yaml',
        'crds/models.michelangelo.api.yaml',
        'crds/pipelines.michelangelo.api.yaml',
        'crds/pipelineruns.michelangelo.api.yaml',
        'crds/inferenceservers.michelangelo.api.yaml',
        'crds/revisions.michelangelo.api.yaml',
        'crds/clusters.michelangelo.api.yaml',
        'crds/rayclusters.michelangelo.api.yaml',
        'crds/rayjobs.michelangelo.api.yaml',
        'crds/sparkjobs.michelangelo.api.yaml',
        'crds/triggerruns.michelangelo.api.yaml',
        'crds/deployments.michelangelo.api.yaml',
        'crds/optional/cachedoutputs.michelangelo.api.yaml',
      ],
    );
    for (const crd of crds.values()) strictEqual(crd.metadata.name, `${crd.spec.names['plural']!}.michelangelo.api`);
  });

  for (const { path, content } of outputs) {
    it(`fit into one client-side apply: ${path}`, () => {
      // kubectl keeps the JSON in an annotation; all annotations together have 256 KiB.
      ok(Buffer.byteLength(JSON.stringify(parse(content))) < 192 * 1024);
    });
  }

  for (const [kind, crd] of crds) {
    it(`describe ${kind} as the original does`, () => {
      strictEqual(crd.apiVersion, 'apiextensions.k8s.io/v1');
      strictEqual(crd.kind, 'CustomResourceDefinition');
      strictEqual(crd.spec.group, 'michelangelo.api');
      strictEqual(crd.spec.scope, 'Namespaced');
      const plural = crd.spec.names['plural'];
      deepStrictEqual(crd.spec.names, { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() });
      deepStrictEqual(
        crd.spec.versions.map(({ schema: _schema, additionalPrinterColumns: _columns, ...version }) => version),
        [{ name: 'v2', served: true, storage: true, subresources: { status: {} } }],
      );
      deepStrictEqual(Object.keys(schemaOf(kind).properties ?? {}), ['spec', 'status']);
    });

    it(`hold nothing that the API server owns or refuses: ${kind}`, () => {
      deepStrictEqual(Object.keys(crd), ['apiVersion', 'kind', 'metadata', 'spec']);
      deepStrictEqual(Object.keys(crd.metadata), ['name']);
      const allowed = [
        ...['type', 'format', 'pattern', 'enum', 'properties', 'required', 'items', 'additionalProperties'],
        ...['x-kubernetes-map-type', 'x-kubernetes-int-or-string', 'anyOf'],
      ];
      for (const [path, node] of nodesOf(schemaOf(kind), kind)) {
        const keys = Object.keys(node).filter((name) => name !== 'x-kubernetes-preserve-unknown-fields');
        ok(
          keys.every((name) => allowed.includes(name)),
          `${path}: ${keys.join()}`,
        );
        const typed = ['object', 'array', 'string', 'integer', 'number', 'boolean'].includes(node.type ?? '');
        strictEqual(typed, node['x-kubernetes-int-or-string'] !== true, path);
        strictEqual(node.items !== undefined, node.type === 'array', path);
        ok(node.type === 'object' || (node.properties ?? node.additionalProperties) === undefined, path);
        ok(node.properties === undefined || node.additionalProperties === undefined, path);
        if (node['x-kubernetes-preserve-unknown-fields'] !== undefined) deepStrictEqual(keys, ['type'], path);
      }
    });

    it(`end the columns of ${kind} with its age and show only fields that exist`, () => {
      const columns = crd.spec.versions[0]!.additionalPrinterColumns;
      deepStrictEqual(columns.at(-1), { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' });
      for (const { jsonPath, type } of columns.slice(0, -1)) {
        const field = schemaAt(kind, jsonPath.slice(1));
        ok(field, `${kind} ${jsonPath}`);
        strictEqual(type === 'date' ? 'string' : type, field.type, `${kind} ${jsonPath}`);
      }
    });

    it(`keep every field of ${kind} as the codec writes it`, () => {
      for (const { metadata: _m, apiVersion: _a, kind: _k, ...object } of everyFieldOf(kind).objects) {
        const found = complaints(schemaOf(kind), object, kind).filter((complaint) => !isNewerInPods(complaint));
        deepStrictEqual(found, []);
      }
    });

    it(`hold every field of every message of ${kind}`, () => {
      for (const part of ['Spec', 'Status']) {
        const missing = missingFields(schemaAt(kind, part.toLowerCase())!, `michelangelo.api.v2.${kind}${part}`);
        deepStrictEqual(missing, []);
      }
    });
  }
});

/** What the original prunes, because the Kubernetes that it is built with does not know it. */
function isNewerInPods(complaint: string): boolean {
  const [, name] = /([A-Za-z]+)(\[\])? is pruned$/.exec(complaint) ?? [];
  return [...newerPodFields].some((field) => complaint.includes('.pod.') && field.endsWith(`.${name ?? ''}`));
}

/** Fields of a message, at any depth, that its schema does not have. */
function missingFields(schema: Schema, message: string): string[] {
  if (schema['x-kubernetes-preserve-unknown-fields']) return [];
  return (messages[message] ?? []).flatMap((field) => {
    if (newerPodFields.has(`${message}.${field.name}`)) return [];
    const property = schema.properties?.[field.name];
    const value =
      field.label === 'repeated' ? property?.items : field.label === 'map' ? property?.additionalProperties : property;
    if (value === undefined) return [`${message}.${field.name}`];
    return isPlainMessage(field) ? missingFields(value, field.of) : [];
  });
}

function isPlainMessage(field: FieldDescriptor): field is Extract<FieldDescriptor, { type: 'message' }> {
  return field.type === 'message' && wellKnownType(field.of) === undefined;
}

describe('the schema of a field', () => {
  const time: Schema = { type: 'string', format: 'date-time' };
  const anyObject: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const typeMeta: Schema = { type: 'object', properties: { kind: { type: 'string' }, apiVersion: { type: 'string' } } };
  const samples: Readonly<Record<string, readonly [kind: string, path: string, schema: Schema]>> = {
    'is an object for the Kubernetes time of a RayCluster': ['RayCluster', 'status.lastUpdateTime', kubernetesTime],
    'is an object for the last attempt of a job': ['SparkJob', 'status.schedulingInfo.lastAttemptTime', kubernetesTime],
    'is an object for the time of a Kubernetes condition': [
      'SparkJob',
      'status.conditions.[].lastTransitionTime',
      kubernetesTime,
    ],
    'is a date-time string for a Timestamp': ['PipelineRun', 'status.endTime', time],
    'is a string for a Duration': ['TriggerRun', 'spec.trigger.intervalSchedule.interval', { type: 'string' }],
    'is an object of any content for a Struct': ['PipelineRun', 'spec.input', anyObject],
    'is the message of the original for a volume of a pod': [
      'RayCluster',
      'spec.workers.[].pod.spec.volumes.[].volumeSource.emptyDir.medium',
      { type: 'string' },
    ],
    'is a text of 64 bits for a number of a pod': [
      'RayCluster',
      'spec.head.pod.spec.terminationGracePeriodSeconds',
      int64,
    ],
    'is an object of any content for a step inside a step': ['PipelineRun', 'status.steps.[].subSteps.[]', anyObject],
    'is an object of any content for a step inside an attempt': [
      'PipelineRun',
      'status.steps.[].attemptDetails.[].stepInfo',
      anyObject,
    ],
    'is a string with a pattern for 64 bits': ['InferenceServer', 'status.observedGeneration', int64],
    'is an integer for 32 bits': ['Model', 'spec.revisionId', { type: 'integer', format: 'int32' }],
    'is a number for a double': ['Model', 'spec.decisionThreshold', { type: 'number', format: 'double' }],
    'is a map of maps where the message holds them': [
      'Pipeline',
      'spec.manifest.paramsMap.*.environ',
      { type: 'object', additionalProperties: { type: 'string' } },
    ],
    'is a map of objects of any content for a map of Structs': [
      'Pipeline',
      'spec.manifest.paramsMap.*.taskConfigs',
      { type: 'object', additionalProperties: anyObject },
    ],
    'is type and bytes for an Any': [
      'Revision',
      'spec.content',
      { type: 'object', properties: { '@type': { type: 'string' }, value: { type: 'string', format: 'byte' } } },
    ],
    'is kind and version for a nested type': ['Revision', 'spec.baseType', typeMeta],
    'is the selector of Kubernetes for a label selector': [
      'Deployment',
      'spec.selector',
      {
        type: 'object',
        'x-kubernetes-map-type': 'atomic',
        properties: {
          matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
          matchExpressions: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                key: { type: 'string' },
                operator: { type: 'string' },
                values: { type: 'array', items: { type: 'string' } },
              },
              required: ['key', 'operator'],
            },
          },
        },
      },
    ],
  };
  for (const [what, [kind, path, schema]] of Object.entries(samples)) {
    it(what, () => {
      deepStrictEqual(schemaAt(kind, path), schema);
    });
  }

  it('lists all names of an enum, the zero one included', () => {
    const names = enums['michelangelo.api.v2.ClusterSpec.SLAType']!.map(([, name]) => name);
    deepStrictEqual(schemaAt('Cluster', 'spec.sla'), { type: 'string', enum: names });
    match(names.join(), /^SLA_TYPE_INVALID,/);
  });
});
