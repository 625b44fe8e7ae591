// What a change of the specification means for the components; the classes are in the table of fields.
import { type AnyField, type ChangeClass, changeClasses } from '../../api/ingester/schema.ts';
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import { specSchema } from '../../api/ingester/spec-schema.ts';
import { isJsonObject, sameJson } from '../../base/json.ts';

export interface Change {
  readonly path: string;
  readonly class: ChangeClass;
}

export function changesBetween(before: IngesterSpec, after: IngesterSpec): readonly Change[] {
  return compare(specSchema, '', before, after);
}

/** The highest class of all changes; undefined where nothing changed. */
export function classOfChange(before: IngesterSpec, after: IngesterSpec): ChangeClass | undefined {
  const found = changesBetween(before, after).map((change) => changeClasses.indexOf(change.class));
  return found.length === 0 ? undefined : changeClasses[Math.max(...found)];
}

function compare(field: AnyField, path: string, before: unknown, after: unknown): readonly Change[] {
  if (sameJson(before, after)) return [];
  if (field.kind === 'leaf') return [{ path, class: field.change }];
  const appeared = (before === undefined) !== (after === undefined);
  const own: readonly Change[] = appeared && field.change !== undefined ? [{ path, class: field.change }] : [];
  const [left, right] = [isJsonObject(before) ? before : {}, isJsonObject(after) ? after : {}];
  const inner = Object.entries(field.fields).flatMap(([name, child]) =>
    compare(child, path === '' ? name : `${path}.${name}`, left[name], right[name]),
  );
  return [...own, ...inner];
}
