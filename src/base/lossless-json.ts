// JSON numbers beyond 2^53 survive: they are kept as raw text inside the parsed value, and JSON.stringify writes that
// text again. Only objects that have such a number pay for it.

import { randomUUID } from 'node:crypto';

/** What an oversized number parses to; JSON.stringify gives back `rawJSON` as it is. */
export interface RawNumber {
  readonly rawJSON: string;
}

interface RawJson {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
}

/** Not in the compiler's library yet; in V8 since Node 21. */
const json = JSON as unknown as RawJson;

/** Whether the parser tells a reviver what it read; since Node 21. */
const tellsSource = sourceOf('1') !== undefined;

function sourceOf(text: string): string | undefined {
  let source: string | undefined;
  JSON.parse(text, ((_key: string, value: unknown, context?: { readonly source?: string }) => {
    source = context?.source;
    return value;
  }) as (key: string, value: unknown) => unknown);
  return source;
}

/** Sixteen digits in a row may be more than a double holds. Digits inside strings only cost time. */
const MAYBE_LARGE = /\d{16}/;

export function parseLossless(text: string): unknown {
  if (!MAYBE_LARGE.test(text)) return JSON.parse(text);
  try {
    return tellsSource ? withLargeNumbers(text) : deepWithLargeNumbers(text);
  } catch (error) {
    if (error instanceof RangeError) return deepWithLargeNumbers(text);
    throw error;
  }
}

function withLargeNumbers(text: string): unknown {
  return JSON.parse(text, ((_key: string, value: unknown, context: { readonly source?: string }) => {
    if (typeof value !== 'number' || context.source === undefined || survives(value, context.source)) return value;
    return json.rawJSON(context.source);
  }) as (key: string, value: unknown) => unknown);
}

const STRING_OR_INTEGER = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** Some 2,500 levels of objects and lists are too many for a reviver, but not for the parser. */
function deepWithLargeNumbers(text: string): unknown {
  const raw = new Map<unknown, RawNumber>();
  const secret = randomUUID();
  const marked = text.replace(STRING_OR_INTEGER, (token) => {
    if (token.startsWith('"') || survives(Number(token), token)) return token;
    const mark = `${secret}${token}`;
    raw.set(mark, json.rawJSON(token));
    return JSON.stringify(mark);
  });
  const root = [JSON.parse(marked) as unknown];
  for (const left: object[] = [root]; left.length > 0; ) {
    const container = left.pop() ?? {};
    for (const [key, value] of Object.entries(container) as [string, unknown][]) {
      if (typeof value === 'object' && value !== null) left.push(value);
      else if (raw.has(value)) Object.defineProperty(container, key, { value: raw.get(value) });
    }
  }
  return root[0];
}

/** Whether this is a number that was kept as text. */
export function isRawNumber(value: unknown): value is RawNumber {
  return json.isRawJSON(value);
}

function survives(value: number, source: string): boolean {
  if (Number.isSafeInteger(value)) return true;
  // Every JSON reader takes fractions as doubles; integers may be identifiers, so no digit may change.
  return !/^-?\d+$/.test(source);
}
