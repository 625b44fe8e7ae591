const OFFSET_HIGH = 0xcbf29ce4;
const OFFSET_LOW = 0x84222325;
/** The prime is 2^40 + this. */
const PRIME_LOW = 0x1b3;
const WORD = 2 ** 32;

/** FNV-1a of 64 bits over the bytes of the text, as two words: the higher and the lower half. */
export function fnv1a64(text: string): readonly [number, number] {
  let high = OFFSET_HIGH;
  let low = OFFSET_LOW;
  for (const byte of Buffer.from(text)) {
    low = (low ^ byte) >>> 0;
    const product = low * PRIME_LOW;
    high = (Math.imul(high, PRIME_LOW) + (low << 8) + Math.floor(product / WORD)) >>> 0;
    low = product >>> 0;
  }
  return [high, low];
}
