// Fields of which a specification has several.
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { ChangeClass, Group, Leaf } from './schema.ts';
import type { PodSpec, SecretKey } from './spec.ts';

export function leaf(change: ChangeClass, schema: JsonObject, description: string, initial?: JsonValue): Leaf {
  return { kind: 'leaf', change, schema, description, ...(initial === undefined ? {} : { default: initial }) };
}

export const text: JsonObject = { type: 'string', maxLength: 1024 };
export const name: JsonObject = { type: 'string', minLength: 1, maxLength: 253 };
/** Name of a Secret. Every field with one has just this schema: by it the names are found that have to be permitted. */
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
      labels: pod(texts, 'Labels of the pods; keys below michelangelo/ and app.kubernetes.io/ are the lifecycle.'),
      annotations: pod(texts, 'Annotations of the pods.'),
      env: pod(list(any), 'Environment variables, merged by name; those of the lifecycle win.'),
      resources: pod(any, 'Requests and limits of the container; replaces the default as a whole.'),
      nodeSelector: pod(texts, 'Labels of nodes, merged by key.'),
      tolerations: pod(list(any), 'Tolerations; those of the component come after the common ones.'),
      affinity: pod(any, 'Affinity; replaces the common one as a whole.'),
      topologySpreadConstraints: pod(
        list(any),
        'Spread constraints; those of the component come after the common ones.',
      ),
      priorityClassName: pod(text, 'Priority class.'),
      volumes: pod(list(any), 'Volumes, merged by name.'),
      volumeMounts: pod(list(any), 'Mounts, merged by mountPath.'),
    },
  };
}
