import { enums } from './generated/descriptors.ts';

export interface EnumType {
  readonly numbers: ReadonlyMap<string, number>;
  readonly names: ReadonlyMap<number, string>;
  /** The name of value 0, which an absent field stands for. */
  readonly zero: string;
}

const types: ReadonlyMap<string, EnumType> = new Map(
  Object.entries(enums).map(([name, values]) => [
    name,
    {
      numbers: new Map(values.map(([number, value]) => [value, number])),
      names: new Map(values),
      zero: values[0]?.[1] ?? '',
    },
  ]),
);

const empty: EnumType = { numbers: new Map(), names: new Map(), zero: '' };

/** The generator gives every enum that a field names, so the empty one is never met. */
export function enumType(name: string): EnumType {
  return types.get(name) ?? empty;
}

/** E.g. `MODEL_KIND_INVALID` for `michelangelo.api.v2.ModelKind`. */
export function zeroEnumName(name: string): string {
  return enumType(name).zero;
}
