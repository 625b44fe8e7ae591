import type { JsonValue } from '../base/json.ts';
import type { FieldDescriptor, FieldLabel, ScalarType } from './descriptor.ts';
import { findMessage, type MessageType, rootMessage } from './message-type.ts';
import { scalarCodec } from './scalar.ts';
import { type WellKnownType, wellKnownType } from './well-known.ts';

/** What the definitions say about one place in the JSON of a kind. */
export interface FieldInfo {
  readonly type: ScalarType | 'enum' | 'message' | WellKnownType['json'];
  /** Full name of the message or enum. */
  readonly of?: string;
  readonly collection?: 'array' | 'map';
  /** What an absent field stands for: '' or 0 or false, the name of an enum's value 0, null for everything else. */
  readonly zero: JsonValue;
  readonly blob: boolean;
  readonly sensitive: boolean;
}

/**
 * The field at a path of JSON names, e.g. `fieldAt('Model', ['spec', 'kind'])`; undefined where the kind has no such
 * field. A step into a map is any key, a step into an array has no place in a path and finds nothing.
 */
export function fieldAt(kind: string, path: readonly string[]): FieldInfo | undefined {
  const type = rootMessage(kind);
  if (path[0] === 'apiVersion' || path[0] === 'kind') return find(type, ['typeMeta', ...path]);
  return path[0] === 'typeMeta' ? undefined : find(type, path);
}

function find(type: MessageType | undefined, path: readonly string[]): FieldInfo | undefined {
  const [name, ...rest] = path;
  const field = type?.fields.find((candidate) => candidate.name === name);
  if (field === undefined || rest.length === 0) return field && describe(field, field.label);
  if (field.label === 'repeated') return undefined;
  if (field.label !== 'map') return find(contentOf(field), rest);
  return rest.length === 1 ? describe(field, undefined) : find(contentOf(field), rest.slice(1));
}

function describe(field: FieldDescriptor, label: FieldLabel | undefined): FieldInfo {
  const isCollection = label === 'repeated' || label === 'map';
  const hasZero = label === undefined && field.oneof === undefined;
  return {
    type: (field.type === 'message' ? wellKnownType(field.of)?.json : undefined) ?? field.type,
    ...('of' in field ? { of: field.of } : {}),
    ...(isCollection ? { collection: label === 'map' ? 'map' : 'array' } : {}),
    zero: hasZero ? (scalarCodec(field)?.zero ?? null) : null,
    blob: field.blob === true,
    sensitive: field.sensitive === true,
  };
}

/** Structs, times and opaque objects have no fields to step into. */
function contentOf(field: FieldDescriptor): MessageType | undefined {
  return field.type === 'message' && wellKnownType(field.of) === undefined ? findMessage(field.of) : undefined;
}
