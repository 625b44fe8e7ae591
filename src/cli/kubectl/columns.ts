// What kubectl get has beside its usual table: columns of the user's choice, an order of the user's choice.
import type { JsonObject } from '../../base/json.ts';
import { isRawNumber } from '../../base/lossless-json.ts';
import { ArgumentError } from '../errors.ts';
import { compileJsonPath, valuesAt } from './jsonpath.ts';

export interface ChosenColumn {
  readonly head: string;
  readonly cell: (object: JsonObject) => string;
}

/** `NAME:.metadata.name,TEAM:.metadata.labels.team`. */
export function customColumns(text: string): readonly ChosenColumn[] {
  const columns = text.split(/,(?![^[(]*[\])])/).map((part): ChosenColumn => {
    const at = part.indexOf(':');
    if (at < 1 || at === part.length - 1) {
      throw new ArgumentError(`custom-columns: "${part.slice(0, 100)}" is not HEAD:path, such as NAME:.metadata.name`);
    }
    const template = compileJsonPath(pathTemplate(part.slice(at + 1)));
    return { head: part.slice(0, at), cell: (object) => template(object) || '<none>' };
  });
  return columns;
}

/** kubectl takes a path with and without braces, and with and without the first dot. */
export function pathTemplate(path: string): string {
  const inner = /^\{(?<inner>.*)\}$/s.exec(path)?.groups?.['inner'] ?? path;
  return `{${/^[.[$]/.test(inner) ? '' : '.'}${inner}}`;
}

/** Numbers by value, everything else as text; what has no value comes first, as with kubectl. */
export function sortedBy(path: string, items: readonly JsonObject[]): readonly JsonObject[] {
  const values = valuesAt(pathTemplate(path));
  const keyed = items.map((item) => ({ item, key: values(item)[0] }));
  return keyed.toSorted((a, b) => compare(a.key, b.key)).map(({ item }) => item);
}

function compare(a: unknown, b: unknown): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  const [left, right] = [numberOf(a), numberOf(b)];
  if (left !== undefined && right !== undefined) return left - right;
  const [first, second] = [textOf(a), textOf(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

function numberOf(value: unknown): number | undefined {
  if (isRawNumber(value)) return Number(value.rawJSON);
  return typeof value === 'number' ? value : undefined;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
