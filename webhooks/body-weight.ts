// What parsing a body will take, before it is parsed: seven MiB of "{}," become 140 MiB of objects.

/** Bytes of memory for each character that begins a value or a member, measured on V8 of Node 24. */
const perCharacter: Readonly<Record<string, number>> = { '{': 64, '[': 48, ':': 48, ',': 12, '"': 12 };

const costs = new Uint8Array(256);
for (const [character, cost] of Object.entries(perCharacter)) costs[character.charCodeAt(0)] = cost;

/** Smaller ones are not worth looking at. */
const SMALL_BYTES = 64 * 1024;
/** The text twice, before and after it is decoded, and objects of ordinary JSON. */
const SMALL_FACTOR = 8;

/** Characters inside strings count too, so it may be less. */
export function parsedBytes(body: Buffer): number {
  if (body.length <= SMALL_BYTES) return body.length * SMALL_FACTOR;
  const { length } = body;
  let bytes = length;
  // By index, which is ten times as fast as an iterator or a callback, and this looks at every byte of large bodies.
  for (let at = 0; at < length; at += 1) bytes += costs[body[at] ?? 0] ?? 0;
  return bytes;
}
