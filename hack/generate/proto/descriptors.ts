import protobuf from 'protobufjs';
import type {
  EnumTable,
  FieldDescriptor,
  FieldLabel,
  FieldType,
  MessageTable,
  ScalarType,
} from '../../../src/proto/descriptor.ts';
import { wellKnownType } from '../../../src/proto/well-known.ts';
import { UnsupportedProtoError } from './errors.ts';
import { parseDefinitions } from './parse.ts';

const kindPackage = 'michelangelo.api.v2';
const rootFields = ['type_meta', 'metadata', 'spec', 'status'];
const anyType = 'google.protobuf.Any';
const scalarTypes: ReadonlySet<string> = new Set(['string', 'bytes', 'bool', 'int32', 'int64', 'float', 'double']);

export interface DescriptorSet {
  /** Names of the root messages, e.g. `Model`. */
  readonly kinds: readonly string[];
  readonly messages: MessageTable;
  readonly enums: EnumTable;
}

/** The descriptors of schema/proto. */
export async function loadDescriptors(): Promise<DescriptorSet> {
  return describeDefinitions(await parseDefinitions());
}

/**
 * The table that the codec and the CRDs are made from: messages sorted by name, fields by number.
 * Throws UnsupportedProtoError for definitions that have no rule.
 */
export function describeDefinitions(root: protobuf.Root): DescriptorSet {
  const { types, enums } = collect(root);
  return {
    kinds: types.filter(isKind).map((type) => type.name),
    messages: Object.fromEntries(types.map((type) => [fullName(type), fieldsOf(type)])),
    enums: Object.fromEntries(enums.map((type) => [fullName(type), valuesOf(type)])),
  };
}

interface Collected {
  readonly types: protobuf.Type[];
  readonly enums: protobuf.Enum[];
}

function collect(root: protobuf.Root): Collected {
  const found: Collected = { types: [], enums: [] };
  const visit = (parent: protobuf.NamespaceBase): void => {
    for (const nested of parent.nestedArray) {
      if (nested instanceof protobuf.Type && isDescribed(nested)) found.types.push(nested);
      if (nested instanceof protobuf.Enum && isDescribed(nested)) found.enums.push(nested);
      if (nested instanceof protobuf.Namespace) visit(nested);
    }
  };
  visit(root);
  found.types.sort(byFullName);
  found.enums.sort(byFullName);
  return found;
}

/** Of Google's types only Any is a plain message in JSON; the codec writes the others by hand. */
function isDescribed(object: protobuf.ReflectionObject): boolean {
  return !fullName(object).startsWith('google.') || fullName(object) === anyType;
}

function byFullName(left: protobuf.ReflectionObject, right: protobuf.ReflectionObject): number {
  return fullName(left) < fullName(right) ? -1 : 1;
}

/** protobufjs puts a dot in front. */
function fullName(object: protobuf.ReflectionObject): string {
  return object.fullName.replace(/^\./, '');
}

function isKind(type: protobuf.Type): boolean {
  if (fullName(type) !== `${kindPackage}.${type.name}`) return false;
  const names = type.fieldsArray.map((field) => field.name);
  return names.length === rootFields.length && rootFields.every((name) => names.includes(name));
}

function valuesOf(type: protobuf.Enum): [number, string][] {
  const values = Object.entries(type.values).map(([name, number]): [number, string] => [number, name]);
  values.sort(([left], [right]) => left - right);
  if (values[0]?.[0] !== 0) throw new UnsupportedProtoError(fullName(type), 'an enum needs a value 0');
  if (new Set(values.map(([number]) => number)).size !== values.length) {
    throw new UnsupportedProtoError(fullName(type), 'two names for one number would make JSON ambiguous');
  }
  return values;
}

function fieldsOf(type: protobuf.Type): FieldDescriptor[] {
  const fields = type.fieldsArray.map((field) => describe(field)).sort((left, right) => left.number - right.number);
  const names = new Set(fields.flatMap((field) => [...new Set([field.name, field.protoName])]));
  const expected = fields.flatMap((field) => [...new Set([field.name, field.protoName])]).length;
  if (names.size !== expected) throw new UnsupportedProtoError(fullName(type), 'two fields share a name in JSON');
  return fields;
}

function describe(field: protobuf.Field): FieldDescriptor {
  const label = labelOf(field);
  // protobufjs puts each optional field into a oneof of its own.
  const oneof = label === 'optional' ? undefined : field.partOf?.name;
  const descriptor: FieldDescriptor = {
    number: field.id,
    name: jsonName(field),
    protoName: field.name,
    ...typeOf(field),
    ...(label === undefined ? {} : { label }),
    ...(oneof === undefined ? {} : { oneof }),
    ...(hasOption(field, 'michelangelo.api.external_storage') ? { blob: true } : {}),
    ...(hasOption(field, 'michelangelo.api.sensitive') ? { sensitive: true } : {}),
    ...(hasOption(field, 'ingester.inline') ? { inline: true } : {}),
    ...(field.options?.['packed'] === false ? { unpacked: true } : {}),
  };
  return descriptor;
}

function typeOf(field: protobuf.Field): FieldType {
  if (field instanceof protobuf.MapField && field.keyType !== 'string') {
    throw new UnsupportedProtoError(fullName(field), 'the keys of a map must be strings');
  }
  if (field.resolvedType instanceof protobuf.Type)
    return { type: 'message', of: messageName(field, field.resolvedType) };
  if (field.resolvedType instanceof protobuf.Enum) return { type: 'enum', of: fullName(field.resolvedType) };
  if (!scalarTypes.has(field.type))
    throw new UnsupportedProtoError(fullName(field), `the type ${field.type} has no rule`);
  return { type: field.type as ScalarType };
}

function messageName(field: protobuf.Field, type: protobuf.Type): string {
  const name = fullName(type);
  if (!isDescribed(type) && wellKnownType(name) === undefined) {
    throw new UnsupportedProtoError(fullName(field), `${name} has no rule`);
  }
  return name;
}

function labelOf(field: protobuf.Field): FieldLabel | undefined {
  if (field.map) return 'map';
  if (field.repeated) return 'repeated';
  return field.options?.['proto3_optional'] === true ? 'optional' : undefined;
}

function hasOption(field: protobuf.Field, name: string): boolean {
  return field.options?.[`(${name})`] === true;
}

function jsonName(field: protobuf.Field): string {
  // The original never expands an Any: JSON shows the type URL under this name and the raw bytes.
  return fullName(field) === `${anyType}.type_url` ? '@type' : lowerCamel(field.name);
}

/** protoc's rule: an underscore goes, the letter after it becomes a capital, all other letters stay. */
function lowerCamel(name: string): string {
  return name.replace(/_+(.?)/g, (_match, next: string) => next.toUpperCase());
}
