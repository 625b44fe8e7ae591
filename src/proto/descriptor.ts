/** Scalar types of the definitions. Unsigned, fixed and zigzag types are refused by the generator. */
export type ScalarType = 'string' | 'bytes' | 'bool' | 'int32' | 'int64' | 'float' | 'double';

/** `of` is the full name of the message or enum, e.g. `michelangelo.api.v2.ModelSpec`. */
export type FieldType =
  | { readonly type: ScalarType }
  | { readonly type: 'enum'; readonly of: string }
  | { readonly type: 'message'; readonly of: string };

/**
 * - `repeated`: a JSON array
 * - `map`: a JSON object; keys are always strings, the field's type is that of the values
 * - `optional`: absent and zero differ, as for the members of a oneof
 */
export type FieldLabel = 'repeated' | 'map' | 'optional';

export type FieldDescriptor = FieldType & {
  readonly number: number;
  /** The name in JSON, lowerCamel. */
  readonly name: string;
  /** The name in the proto file. */
  readonly protoName: string;
  readonly label?: FieldLabel;
  /** Name of the oneof the field is a member of. */
  readonly oneof?: string;
  /** A large field that a list may leave out. */
  readonly blob?: true;
  /** A field whose content must not be shown. */
  readonly sensitive?: true;
  /** A message whose members the JSON of Kubernetes has in the object around it; protobuf's JSON has them under `name`. */
  readonly inline?: true;
  /** A list of numbers that has a tag for each. */
  readonly unpacked?: true;
};

/** Fields by full message name, ordered by number. */
export type MessageTable = Readonly<Record<string, readonly FieldDescriptor[]>>;

/** Numbers and names by full enum name, ordered by number. */
export type EnumTable = Readonly<Record<string, readonly (readonly [number, string])[]>>;
