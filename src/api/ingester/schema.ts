// How the fields of the Ingester resource are described. From one description come its CRD, the reference in the docs and
// the class of every change.
import type { JsonObject, JsonValue } from '../../base/json.ts';

/** What a change of a field means for the components, least first. */
export const changeClasses = ['ignore', 'patch', 'scale', 'upgrade', 'restore'] as const;
export type ChangeClass = (typeof changeClasses)[number];

export interface CelRule {
  readonly rule: string;
  readonly message: string;
}

interface Described {
  readonly description: string;
  readonly rules?: readonly CelRule[];
}

/** A field that is compared as a whole. */
export interface Leaf extends Described {
  readonly kind: 'leaf';
  readonly change: ChangeClass;
  readonly schema: JsonObject;
  readonly default?: JsonValue;
}

export interface Group<T> extends Described {
  readonly kind: 'group';
  readonly fields: Fields<T>;
  readonly required?: readonly (keyof T & string)[];
  /** Class of adding or removing the group, where its presence switches something on. */
  readonly change?: ChangeClass;
}

type IsGroup<T> = T extends readonly unknown[]
  ? false
  : T extends object
    ? string extends keyof T
      ? false
      : true
    : false;
export type FieldOf<T> = IsGroup<T> extends true ? Group<T> | Leaf : Leaf;
export type Fields<T> = { readonly [K in keyof T]-?: FieldOf<NonNullable<T[K]>> };
export type AnyField = Leaf | AnyGroup;

/** A group of any type. */
export interface AnyGroup extends Described {
  readonly kind: 'group';
  readonly fields: Readonly<Record<string, AnyField>>;
  readonly required?: readonly string[];
  readonly change?: ChangeClass;
}

/** The OpenAPI schema of a field, structural as the API server requires. */
export function openApi(field: AnyField): JsonObject {
  const rules =
    field.rules === undefined ? {} : { 'x-kubernetes-validations': field.rules.map((rule) => ({ ...rule })) };
  const { description } = field;
  if (field.kind === 'leaf') {
    return {
      description,
      ...field.schema,
      ...(field.default === undefined ? {} : { default: field.default }),
      ...rules,
    };
  }
  const { fields, required = [] } = field;
  const properties = Object.fromEntries(Object.entries(fields).map(([name, inner]) => [name, openApi(inner)]));
  return {
    description,
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required: [...required] }),
    ...rules,
  };
}

/** Every leaf with its dotted path. */
export function leaves(field: AnyField, path = ''): readonly { readonly path: string; readonly leaf: Leaf }[] {
  if (field.kind === 'leaf') return [{ path, leaf: field }];
  return Object.entries(field.fields).flatMap(([name, inner]) => leaves(inner, path === '' ? name : `${path}.${name}`));
}
