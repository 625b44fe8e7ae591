import type { FieldDescriptor } from './descriptor.ts';
import { ProtoUnknownKindError } from './errors.ts';
import { kinds, messages } from './generated/descriptors.ts';

/** A message with the lookups that encoding and decoding need. */
export interface MessageType {
  readonly fields: readonly FieldDescriptor[];
  readonly byNumber: ReadonlyMap<number, FieldDescriptor>;
  /** The members of each oneof. */
  readonly oneofs: readonly (readonly FieldDescriptor[])[];
}

const types: ReadonlyMap<string, MessageType> = new Map(
  Object.entries(messages).map(([name, fields]) => [name, messageType(fields)]),
);

const kindNames: ReadonlySet<string> = new Set(kinds);

/** The message of a whole object: type_meta, metadata, spec, status. */
export function rootMessage(kind: string): MessageType {
  const type = kindNames.has(kind) ? types.get(`michelangelo.api.v2.${kind}`) : undefined;
  if (type === undefined) throw new ProtoUnknownKindError(kind);
  return type;
}

/** Undefined for google.protobuf types, which have no descriptor. */
export function findMessage(name: string): MessageType | undefined {
  return types.get(name);
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
  };
}
