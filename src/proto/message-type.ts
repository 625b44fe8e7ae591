import type { FieldDescriptor } from './descriptor.ts';
import { ProtoUnknownKindError } from './errors.ts';
import { kinds, messages } from './generated/descriptors.ts';

/** A message with the lookups that encoding and decoding need. */
export interface MessageType {
  readonly fields: readonly FieldDescriptor[];
  readonly byNumber: ReadonlyMap<number, FieldDescriptor>;
  /** The members of each oneof. */
  readonly oneofs: readonly (readonly FieldDescriptor[])[];
  /** Every name that a member of its JSON may have, those of inline messages too. */
  readonly jsonNames: ReadonlySet<string>;
}

/** Made when first needed: an object is made of a few of the messages. */
const types = new Map<string, MessageType>();

const kindNames: ReadonlySet<string> = new Set(kinds);

/** The message of a whole object: type_meta, metadata, spec, status. */
export function rootMessage(kind: string): MessageType {
  const type = kindNames.has(kind) ? findMessage(`michelangelo.api.v2.${kind}`) : undefined;
  if (type === undefined) throw new ProtoUnknownKindError(kind);
  return type;
}

/** Undefined for google.protobuf types, which have no descriptor. */
export function findMessage(name: string): MessageType | undefined {
  const known = types.get(name);
  if (known !== undefined || !Object.hasOwn(messages, name)) return known;
  const type = messageType(messages[name] ?? []);
  types.set(name, type);
  return type;
}

function messageType(fields: readonly FieldDescriptor[]): MessageType {
  const oneofs = Map.groupBy(
    fields.filter((field) => field.oneof !== undefined),
    (field) => field.oneof,
  );
  return {
    fields,
    byNumber: new Map(fields.map((field) => [field.number, field])),
    oneofs: [...oneofs.values()],
    jsonNames: new Set(fields.flatMap(jsonNamesOf)),
  };
}

function jsonNamesOf(field: FieldDescriptor): readonly string[] {
  const inner = field.inline === true && field.type === 'message' ? (findMessage(field.of)?.jsonNames ?? []) : [];
  return [field.name, field.protoName, ...inner];
}
