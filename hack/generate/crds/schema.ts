// One message definition to the OpenAPI schema of its JSON. The rules are those of the original's generator, except that
// a Kubernetes time is the RFC 3339 string that every client writes: the original had an object of seconds and nanos
// there, so the API server refused all such statuses.
import type { FieldDescriptor, ScalarType } from '../../../src/proto/descriptor.ts';
import { type WellKnownType, wellKnownType } from '../../../src/proto/well-known.ts';
import type { DescriptorSet } from '../proto/descriptors.ts';

/** The part of JSONSchemaProps that is used. A structural schema has a `type` on every node. */
export interface Schema {
  readonly type: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly 'x-kubernetes-preserve-unknown-fields'?: true;
}

const scalars: Readonly<Record<ScalarType, Schema>> = {
  string: { type: 'string' },
  bytes: { type: 'string', format: 'byte' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  // A JSON number would lose digits beyond 2^53.
  int64: { type: 'string', pattern: '^[-]?\\d{1,19}$' },
  float: { type: 'number', format: 'float' },
  double: { type: 'number', format: 'double' },
};

const anyObject: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const wellKnown: Readonly<Record<WellKnownType['json'], Schema>> = {
  timestamp: { type: 'string', format: 'date-time' },
  duration: { type: 'string' },
  struct: anyObject,
  opaque: anyObject,
};

/** What Kubernetes itself requires in the types it shares. */
const required: Readonly<Record<string, readonly string[]>> = {
  'k8s.io.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement': ['key', 'operator'],
};

/**
 * The schema of a message. `outer` are the messages it is nested in: a schema cannot refer to itself, so a message
 * inside itself is an object of any content.
 */
export function messageSchema(set: DescriptorSet, name: string, outer: readonly string[] = []): Schema {
  const special = wellKnownType(name);
  if (special !== undefined) return wellKnown[special.json];
  if (outer.includes(name)) return anyObject;
  const fields = set.messages[name] ?? [];
  if (fields.length === 0) return { type: 'object' };
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(set, field, [...outer, name])])),
    ...(required[name] === undefined ? {} : { required: required[name] }),
  };
}

function fieldSchema(set: DescriptorSet, field: FieldDescriptor, outer: readonly string[]): Schema {
  const value = valueSchema(set, field, outer);
  if (field.label === 'repeated') return { type: 'array', items: value };
  if (field.label === 'map') return { type: 'object', additionalProperties: value };
  return value;
}

function valueSchema(set: DescriptorSet, field: FieldDescriptor, outer: readonly string[]): Schema {
  if (field.type === 'message') return messageSchema(set, field.of, outer);
  if (field.type === 'enum') return { type: 'string', enum: (set.enums[field.of] ?? []).map(([, name]) => name) };
  return scalars[field.type];
}
