// Finds places in JSON text without parsing it: an object costs its parser ten times more than its scanner. Every
// function gives up (undefined) on text that is not shaped as the API server writes it; the caller then parses it whole.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Position after the string that starts at `from`. */
function afterString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** Position after the value that starts at `from`, whatever it is. */
function afterValue(text: string, from: number): number {
  const first = text.charCodeAt(from);
  if (first === QUOTE) return afterString(text, from);
  if (first !== 0x7b && first !== 0x5b) return afterScalar(text, from);
  let depth = 0;
  for (let at = from; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = afterString(text, at);
      continue;
    }
    if (code === 0x7b || code === 0x5b) depth += 1;
    else if (code === 0x7d || code === 0x5d) depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
  return text.length;
}

function afterScalar(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === 0x7d || code === 0x5d || isSpace(code)) break;
  }
  return at;
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

interface Member {
  /** Where the key's opening quote stands. */
  readonly start: number;
  readonly valueStart: number;
  readonly valueEnd: number;
}

/** The member of the object that starts at `from`; undefined where there is none or the text is malformed. */
export function findMember(text: string, from: number, name: string): Member | undefined {
  if (text.charCodeAt(from) !== 0x7b) return undefined;
  for (let at = afterSpace(text, from + 1); text.charCodeAt(at) === QUOTE; ) {
    const start = at;
    const keyEnd = afterString(text, start);
    const colon = afterSpace(text, keyEnd);
    if (text.charCodeAt(colon) !== COLON) return undefined;
    const valueStart = afterSpace(text, colon + 1);
    const valueEnd = afterValue(text, valueStart);
    if (keyEnd - start === name.length + 2 && text.startsWith(name, start + 1)) return { start, valueStart, valueEnd };
    const comma = afterSpace(text, valueEnd);
    if (text.charCodeAt(comma) !== COMMA) return undefined;
    at = afterSpace(text, comma + 1);
  }
  return undefined;
}

/**
 * The object's text without `metadata.managedFields`: a quarter of a typical object, changed by every write, and of no
 * use here. Only the object's own metadata is looked at; a pod template inside its spec keeps everything.
 */
export function withoutManagedFields(text: string): string {
  const metadata = findMember(text, 0, 'metadata');
  if (metadata === undefined) return text;
  const fields = findMember(text, metadata.valueStart, 'managedFields');
  if (fields === undefined) return text;
  const next = afterSpace(text, fields.valueEnd);
  if (text.charCodeAt(next) === COMMA) return text.slice(0, fields.start) + text.slice(next + 1);
  // The last member: the comma before it goes too, where it is not the only one.
  const previous = lastBefore(text, fields.start);
  const from = text.charCodeAt(previous) === COMMA ? previous : fields.start;
  return text.slice(0, from) + text.slice(fields.valueEnd);
}

/** Position of the last character before `at` that is not space. */
function lastBefore(text: string, at: number): number {
  let position = at - 1;
  while (isSpace(text.charCodeAt(position))) position -= 1;
  return position;
}

export interface ListText {
  /** The list without its items: metadata and the rest. */
  readonly envelope: string;
  readonly items: readonly string[];
}

/** Takes the items of a list apart, so that each can be parsed by itself; undefined where the text has no item array. */
export function splitList(text: string): ListText | undefined {
  const member = findMember(text, 0, 'items');
  if (member === undefined || text.charCodeAt(member.valueStart) !== 0x5b) return undefined;
  const items: string[] = [];
  let at = afterSpace(text, member.valueStart + 1);
  while (text.charCodeAt(at) === 0x7b) {
    const end = afterValue(text, at);
    items.push(text.slice(at, end));
    const comma = afterSpace(text, end);
    at = text.charCodeAt(comma) === COMMA ? afterSpace(text, comma + 1) : comma;
  }
  return { envelope: `${text.slice(0, member.valueStart)}[]${text.slice(member.valueEnd)}`, items };
}

/** Type and object text of a watch event as the API server writes it: `{"type":"ADDED","object":{...}}`. */
export function splitEvent(line: string): { readonly type: string; readonly object: string } | undefined {
  const match = /^\{"type":"([A-Z]+)","object":/.exec(line);
  const end = line.lastIndexOf('}');
  if (match === null || end <= match[0].length) return undefined;
  return { type: match[1] ?? '', object: line.slice(match[0].length, end) };
}
