// JSON.stringify needs the stack, and fails from some 3,000 objects and lists inside each other on; the API server takes 9,990.
import type { JsonObject, JsonValue } from './json.ts';
import { isRawNumber } from './lossless-json.ts';

/** JSON.stringify for any depth. */
export function jsonText(value: object): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) return deepText(value as JsonObject);
    throw error;
  }
}

export function deepText(value: JsonValue): string {
  const texts: string[] = [];
  const left: (JsonValue | Verbatim)[] = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (next instanceof Verbatim) texts.push(next.text);
    else if (isContainer(next)) for (const part of partsOf(next).toReversed()) left.push(part);
    else texts.push(JSON.stringify(next));
  }
  return texts.join('');
}

class Verbatim {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

function partsOf(value: JsonObject | JsonValue[]): readonly (JsonValue | Verbatim)[] {
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const entries = Object.entries(value).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined);
  const inside = entries.flatMap(([key, child], index) => {
    const name = Array.isArray(value) ? '' : `${JSON.stringify(key)}:`;
    return [new Verbatim(`${index === 0 ? '' : ','}${name}`), child];
  });
  return [new Verbatim(open ?? ''), ...inside, new Verbatim(close ?? '')];
}

export function isContainer<T>(value: T): value is T & (JsonObject | JsonValue[]) {
  return typeof value === 'object' && value !== null && !isRawNumber(value);
}
