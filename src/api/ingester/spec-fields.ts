// Schemas and groups of fields that the specification uses more than once.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ChangeClass, Group, Leaf } from './schema.ts';
import type { PodSpec, SecretKey } from './spec.ts';

export function leaf(change: ChangeClass, schema: JsonObject, description: string, initial?: JsonValue): Leaf {
  return { kind: 'leaf', change, schema, description, ...(initial === undefined ? {} : { default: initial }) };
}

export const text: JsonObject = { type: 'string', maxLength: 1024 };
export const name: JsonObject = { type: 'string', minLength: 1, maxLength: 253 };
/** Name of a Secret. Every field that names a Secret has this very schema: the fields that have to be permitted are found by it. */
export const secretName: JsonObject = { ...name };
export const statement: JsonObject = { type: 'string', minLength: 1, maxLength: 8192 };
export const flag: JsonObject = { type: 'boolean' };
export const texts: JsonObject = { type: 'object', additionalProperties: { type: 'string' } };
export const whole = (minimum: number, maximum: number): JsonObject => ({ type: 'integer', minimum, maximum });
export const oneOf = (...values: readonly string[]): JsonObject => ({ type: 'string', enum: [...values] });
export const list = (items: JsonObject, maxItems = 100): JsonObject => ({ type: 'array', items, maxItems });
export const any: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
export const duration: JsonObject = { type: 'string', pattern: '^([0-9]+(ms|s|m|h))+$', maxLength: 32 };

export function secretKey(description: string): Group<SecretKey> {
  return {
    kind: 'group',
    description,
    required: ['name', 'key'],
    fields: {
      name: leaf('upgrade', secretName, 'Name of the Secret.'),
      key: leaf('upgrade', name, 'Key in the Secret.'),
    },
  };
}

export function podSchema(description: string): Group<PodSpec> {
  const pod = (schema: JsonObject, what: string): Leaf => leaf('upgrade', schema, what);
  return {
    kind: 'group',
    description,
    fields: {
      labels: pod(
        texts,
        'Labels of the pods. Keys with the prefix app.kubernetes.io/ or one of the bundle, such as michelangelo/, are ignored: the lifecycle controller sets them.',
      ),
      annotations: pod(texts, 'Annotations of the pods; the same prefixes are ignored.'),
      env: pod(
        list(any),
        'Environment variables, merged by name. Variables of the lifecycle controller take precedence.',
      ),
      resources: pod(any, 'Resource requests and limits of the container; replaces the default as a whole.'),
      nodeSelector: pod(texts, 'Node selector, merged by key.'),
      tolerations: pod(list(any), 'Tolerations, appended to those of spec.podTemplate.'),
      affinity: pod(any, 'Affinity; replaces that of spec.podTemplate as a whole.'),
      topologySpreadConstraints: pod(list(any), 'Topology spread constraints, appended to those of spec.podTemplate.'),
      priorityClassName: pod(text, 'Name of the PriorityClass.'),
      volumes: pod(list(any), 'Volumes, merged by name. Volumes of the lifecycle controller take precedence.'),
      volumeMounts: pod(
        list(any),
        'Volume mounts, merged by mountPath. Mounts of the lifecycle controller take precedence.',
      ),
    },
  };
}
