// One message definition to the OpenAPI schema of its JSON, by the rules of the original's generator: its API server
// compares the CRDs of the cluster with its own at every start, and does not start where a property is gone or a type
// differs (docs/adr/0024-definitions-of-the-original.md).
import type { FieldDescriptor, ScalarType } from '../../../src/proto/descriptor.ts';
import { wellKnownType } from '../../../src/proto/well-known.ts';
import type { DescriptorSet } from '../proto/descriptors.ts';
import { newerPodFields } from './newer-pod-fields.ts';

/** The part of JSONSchemaProps that is used. A structural schema has a `type` on every node but an integer or string. */
export interface Schema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly anyOf?: readonly Pick<Schema, 'type'>[];
  readonly 'x-kubernetes-preserve-unknown-fields'?: true;
  readonly 'x-kubernetes-int-or-string'?: true;
  readonly 'x-kubernetes-map-type'?: 'atomic';
}

const scalars: Readonly<Record<ScalarType, Schema>> = {
  string: { type: 'string' },
  bytes: { type: 'string', format: 'byte' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  // A JSON number would lose digits beyond 2^53.
  int64: { type: 'string', format: 'int64', pattern: '^[-]?\\d{1,19}$' },
  float: { type: 'number', format: 'float' },
  double: { type: 'number', format: 'double' },
};

const anyObject: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const wellKnown: Readonly<Partial<Record<string, Schema>>> = {
  timestamp: { type: 'string', format: 'date-time' },
  duration: { type: 'string' },
  struct: anyObject,
  opaque: anyObject,
};

const meta = 'k8s.io.apimachinery.pkg.apis.meta.v1';

/** What Kubernetes itself says of the types it shares. */
const additions: Readonly<Record<string, Omit<Schema, 'type' | 'properties'>>> = {
  [`${meta}.LabelSelectorRequirement`]: { required: ['key', 'operator'] },
  [`${meta}.LabelSelector`]: { 'x-kubernetes-map-type': 'atomic' },
};

/**
 * Types of Kubernetes that the original describes as the messages they are, although their JSON is a text or a number:
 * a time is an object of seconds and nanos there. Its API server insists on these types, and refuses or prunes what
 * clients of Kubernetes write; so do these CRDs.
 */
const asMessages: Readonly<Record<string, Schema>> = {
  [`${meta}.Time`]: { type: 'object', properties: { seconds: scalars.int64, nanos: scalars.int32 } },
  [`${meta}.FieldsV1`]: { type: 'object', properties: { raw: scalars.bytes } },
  'k8s.io.apimachinery.pkg.util.intstr.IntOrString': {
    type: 'object',
    properties: { type: scalars.int64, intVal: scalars.int32, strVal: scalars.string },
  },
  'k8s.io.apimachinery.pkg.api.resource.Quantity': {
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    pattern:
      '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
    'x-kubernetes-int-or-string': true,
  },
};

/**
 * The schema of a message. `outer` are the messages it is nested in: a schema cannot refer to itself, so a message
 * inside itself is an object of any content.
 */
export function messageSchema(set: DescriptorSet, name: string, outer: readonly string[] = []): Schema {
  const special = asMessages[name] ?? wellKnown[wellKnownType(name)?.json ?? ''];
  if (special !== undefined) return special;
  if (outer.includes(name)) return anyObject;
  const fields = (set.messages[name] ?? []).filter((field) => !newerPodFields.has(`${name}.${field.name}`));
  if (fields.length === 0) return { type: 'object' };
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(set, field, [...outer, name])])),
    ...additions[name],
  };
}

function fieldSchema(set: DescriptorSet, field: FieldDescriptor, outer: readonly string[]): Schema {
  const value = valueSchema(set, field, outer);
  if (field.label === 'repeated') return { type: 'array', items: value };
  if (field.label === 'map') return { type: 'object', additionalProperties: mapValue(value) };
  return value;
}

/** The original says no format of what a map holds. */
function mapValue({ format: _, ...value }: Schema): Schema {
  return value;
}

function valueSchema(set: DescriptorSet, field: FieldDescriptor, outer: readonly string[]): Schema {
  if (field.type === 'message') return messageSchema(set, field.of, outer);
  if (field.type === 'enum') return { type: 'string', enum: (set.enums[field.of] ?? []).map(([, name]) => name) };
  return scalars[field.type];
}
