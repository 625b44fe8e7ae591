// Finds places in JSON text without parsing it: an object costs its parser ten times more than its scanner. The text is
// bytes, as received. Structure is ASCII, and no byte of a longer UTF-8 character looks like it.
//
// Positions are exact for every JSON text, whatever its order of keys, spacing and escapes. For bytes that are not JSON
// only one thing is promised: the scan ends. The parser of the result reports the error.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;
const LAST_ASCII = 0x7f;

/** What a byte means outside of strings. */
const NOTHING = 0;
const STRING = 1;
const OPENS = 2;
const meanings = new Uint8Array(256);
for (const byte of Buffer.from('{[')) meanings[byte] = OPENS;
for (const byte of Buffer.from('}]')) meanings[byte] = 3;
meanings[QUOTE] = STRING;

/** Outside of strings, what is not above the space is white space. */
function afterSpace(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && (bytes[at] ?? 0) <= SPACE) at += 1;
  return at;
}

/** Position after the string whose opening quote is at `from`. */
function afterString(bytes: Buffer, from: number, end: number): number {
  for (let at = from + 1; at < end; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at += 1;
  }
  return end;
}

/** Position after the value that starts at `from`, whatever it is. */
export function afterValue(bytes: Buffer, from: number): number {
  const end = bytes.length;
  const first = bytes[from];
  if (first === QUOTE) return afterString(bytes, from, end);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return afterScalar(bytes, from, end);
  const known = first === OPEN_BRACKET ? afterFlatArray(bytes, from) : undefined;
  if (known !== undefined) return known;
  let depth = 0;
  for (let at = from; at < end; at += 1) {
    const meaning = meanings[bytes[at] ?? 0];
    if (meaning === NOTHING) continue;
    if (meaning === STRING) at = afterString(bytes, at, end) - 1;
    else if (meaning === OPENS) depth += 1;
    else if ((depth -= 1) === 0) return at + 1;
  }
  return end;
}

const COMMA_THEN_QUOTE = Buffer.from(',"');

/**
 * Position after an array that is followed by a key and has no bracket inside, not even in a text: as the managedFields
 * are. It is found by a search of the runtime instead of byte by byte, which pays for arrays of objects. Undefined where
 * that proves nothing.
 *
 * The first closing bracket closes this array, because no other one was opened, unless it is part of a text. It is none
 * where `,"` and a letter follow: the quote would close that text, and what follows a text is no letter.
 */
function afterFlatArray(bytes: Buffer, from: number): number | undefined {
  if (bytes[from + 1] !== OPEN_BRACE) return undefined;
  const close = bytes.indexOf(CLOSE_BRACKET, from + 1);
  if (close === -1 || !holds(bytes, COMMA_THEN_QUOTE, close + 1) || !isLetter(bytes[close + 3] ?? 0)) return undefined;
  const nested = bytes.indexOf(OPEN_BRACKET, from + 1);
  return nested === -1 || nested > close ? close + 1 : undefined;
}

function isLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

function afterScalar(bytes: Buffer, from: number, end: number): number {
  let at = from;
  for (; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === COMMA || byte <= SPACE || (meanings[byte] ?? 0) > OPENS) break;
  }
  return at;
}

/** Whether the bytes between the positions are exactly the name, which has only ASCII characters. */
export function isName(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (end - start !== name.length) return false;
  for (let index = 0; index < name.length; index += 1) {
    if (bytes[start + index] !== name.charCodeAt(index)) return false;
  }
  return true;
}

/** The ASCII text between the quotes of a string without escapes; undefined for any other value. */
export function plainString(bytes: Buffer, start: number, end: number): string | undefined {
  if (bytes[start] !== QUOTE || bytes[end - 1] !== QUOTE) return undefined;
  for (let at = start + 1; at < end - 1; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < SPACE || byte === BACKSLASH || byte > LAST_ASCII) return undefined;
  }
  return bytes.toString('latin1', start + 1, end - 1);
}

/** A visitor says this to end the visit. */
export const STOP = -1;

/** Told where a key stands, without its quotes, and where its value starts; answers where the value ends, or STOP. */
export type Visitor = (keyStart: number, keyEnd: number, valueStart: number) => number;

/**
 * Visits the members of the object that starts at `from`, in order. Returns the position after the object. Undefined when
 * the visitor stopped, and where only a parser can read on: at a key that is written with escapes, and at what is no
 * object.
 */
export function visitMembers(bytes: Buffer, from: number, visit: Visitor): number | undefined {
  if (bytes[from] !== OPEN_BRACE) return undefined;
  const { length } = bytes;
  let at = afterSpace(bytes, from + 1, length);
  while (bytes[at] === QUOTE) {
    const keyEnd = afterString(bytes, at, length) - 1;
    if (hasBackslash(bytes, at, keyEnd)) return undefined;
    const colon = afterSpace(bytes, keyEnd + 1, length);
    if (bytes[colon] !== COLON) return undefined;
    const valueEnd = visit(at + 1, keyEnd, afterSpace(bytes, colon + 1, length));
    if (valueEnd === STOP) return undefined;
    at = afterSpace(bytes, valueEnd, length);
    if (bytes[at] !== COMMA) break;
    at = afterSpace(bytes, at + 1, length);
  }
  return bytes[at] === CLOSE_BRACE ? at + 1 : undefined;
}

function hasBackslash(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (bytes[at] === BACKSLASH) return true;
  return false;
}

export interface Member {
  /** Where the key's opening quote stands. */
  readonly start: number;
  readonly valueStart: number;
  /** Where the value, and with it the member, ends. */
  readonly end: number;
}

/** The one member that has the name, of the object that starts at `from`. Undefined where none, or not surely one, has. */
export function findMember(bytes: Buffer, from: number, name: string): Member | undefined {
  let member: Member | undefined;
  const end = visitMembers(bytes, from, (keyStart, keyEnd, valueStart) => {
    const valueEnd = afterValue(bytes, valueStart);
    if (!isName(bytes, keyStart, keyEnd, name)) return valueEnd;
    if (member !== undefined) return STOP;
    member = { start: keyStart - 1, valueStart, end: valueEnd };
    return valueEnd;
  });
  return end === undefined ? undefined : member;
}

/** The text of all bytes but those of a member, and of the comma between it and the others. */
export function textWithout(bytes: Buffer, member: Member): string {
  const [from, to] = cutOf(bytes, member);
  return bytes.toString('utf8', 0, from) + bytes.toString('utf8', to);
}

/** A copy, in memory of its own. */
export function bytesWithout(bytes: Buffer, member: Member): Buffer {
  const [from, to] = cutOf(bytes, member);
  const rest = Buffer.allocUnsafeSlow(bytes.length - (to - from));
  bytes.copy(rest, 0, 0, from);
  bytes.copy(rest, from, to);
  return rest;
}

function cutOf(bytes: Buffer, { start, end }: Member): readonly [from: number, to: number] {
  const next = afterSpace(bytes, end, bytes.length);
  if (bytes[next] === COMMA) return [start, next + 1];
  // The last member: the comma before it goes too, where it is not the only one.
  let previous = start - 1;
  while (previous > 0 && (bytes[previous] ?? 0) <= SPACE) previous -= 1;
  return [bytes[previous] === COMMA ? previous : start, end];
}

export interface ListText {
  /** The list without its items: metadata and the rest. */
  readonly envelope: string;
  readonly items: readonly Buffer[];
}

const NULL = Buffer.from('null');

/**
 * Takes the items of a list apart, so that each can be read by itself; undefined where there is no array of items. The
 * API server writes `null` for an empty list of metadata.
 */
export function splitList(bytes: Buffer): ListText | undefined {
  const member = findMember(bytes, afterSpace(bytes, 0, bytes.length), 'items');
  if (member === undefined) return undefined;
  if (bytes[member.valueStart] !== OPEN_BRACKET && !holds(bytes, NULL, member.valueStart)) return undefined;
  const items: Buffer[] = [];
  let at = afterSpace(bytes, member.valueStart + 1, member.end);
  while (bytes[at] === OPEN_BRACE) {
    const end = afterValue(bytes, at);
    items.push(bytes.subarray(at, end));
    at = afterSpace(bytes, end, member.end);
    if (bytes[at] === COMMA) at = afterSpace(bytes, at + 1, member.end);
  }
  const envelope = `${bytes.toString('utf8', 0, member.valueStart)}[]${bytes.toString('utf8', member.end)}`;
  return { envelope, items };
}

const EVENT_START = Buffer.from('{"type":"');
const EVENT_OBJECT = Buffer.from('","object":');
const CLOSED_TWICE = Buffer.from('}}');

/**
 * Type and object of a watch event, as the API server writes it: `{"type":"ADDED","object":{...}}`. Undefined for any
 * other line.
 */
export function splitEvent(line: Buffer): { readonly type: string; readonly object: Buffer } | undefined {
  const typeEnd = line.indexOf(QUOTE, EVENT_START.length);
  const objectStart = typeEnd + EVENT_OBJECT.length;
  const objectEnd = line.length - 1;
  if (!holds(line, EVENT_START, 0) || !holds(line, EVENT_OBJECT, typeEnd)) return undefined;
  if (line[objectStart] !== OPEN_BRACE || !holds(line, CLOSED_TWICE, objectEnd - 1)) return undefined;
  return {
    type: line.toString('latin1', EVENT_START.length, typeEnd),
    object: line.subarray(objectStart, objectEnd),
  };
}

function holds(bytes: Buffer, part: Buffer, at: number): boolean {
  for (let index = 0; index < part.length; index += 1) if (bytes[at + index] !== part[index]) return false;
  return true;
}
