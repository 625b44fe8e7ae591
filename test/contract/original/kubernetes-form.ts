// A pod template in the form of Kubernetes, out of the form that the original writes: what is `inline` is a member of the
// object around it, and numbers of 64 bits are numbers.
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/base/json.ts';
import type { FieldDescriptor } from '../../../src/proto/descriptor.ts';
import { messages } from '../../../src/proto/generated/descriptors.ts';

export function kubernetesForm(object: JsonObject, message = 'k8s.io.api.core.v1.PodTemplateSpec'): JsonObject {
  const members = Object.entries(object).flatMap(([name, value]): readonly (readonly [string, JsonValue])[] => {
    const field = messages[message]?.find((one) => one.name === name);
    if (field === undefined || value === undefined) return [[name, value ?? null]];
    const inner = fieldForm(field, value);
    return field.inline === true && isJsonObject(inner)
      ? (Object.entries(inner) as [string, JsonValue][])
      : [[name, inner]];
  });
  return Object.fromEntries(members);
}

function fieldForm(field: FieldDescriptor, value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => fieldForm({ ...field, label: 'optional' }, item));
  if (field.label === 'map' && isJsonObject(value)) {
    const entries = Object.entries(value).map(([key, item]) => [
      key,
      fieldForm({ ...field, label: 'optional' }, item ?? null),
    ]);
    return Object.fromEntries(entries) as JsonObject;
  }
  if (field.type === 'int64') return Number(value);
  return field.type === 'message' && isJsonObject(value) ? kubernetesForm(value, field.of) : value;
}
