// Which bucket an object is in, and which replica is to have the bucket; pure.
//
// A bucket is a range of FNV-1a(uid), the same ranges that a shardSelector of Kubernetes can name. Targets are found by
// rendezvous hashing: each bucket goes to the slot that scores highest for it, so one that comes or goes moves only what it
// gets or had.
import { sha256Hex } from '../../base/hash.ts';

export const BUCKETS = 32;
/** The five highest bits of 32. */
const SHIFT = 27;

export const allBuckets: readonly number[] = Array.from({ length: BUCKETS }, (_, bucket) => bucket);

export function bucketOf(uid: string): number {
  return fnv1a64(uid)[0] >>> SHIFT;
}

const RANGE = 1n << 59n;

/** The buckets as the API server can select them, where its gate ShardedListAndWatch is on. Elsewhere it lists all objects. */
export function shardSelectorOf(buckets: Iterable<number>): string {
  const bound = (bucket: number): string => `0x${(BigInt(bucket) * RANGE).toString(16).padStart(16, '0')}`;
  const ranges: { first: number; end: number }[] = [];
  for (const bucket of [...buckets].sort((left, right) => left - right)) {
    const last = ranges.at(-1);
    if (last?.end === bucket) last.end += 1;
    else ranges.push({ first: bucket, end: bucket + 1 });
  }
  return ranges
    .map(({ first, end }) => `shardRange(object.metadata.uid, '${bound(first)}', '${bound(end)}')`)
    .join(' || ');
}

/** One of many of equal worth: with it the first slots, which are those in use, share evenly. */
const SALT = '1466';

/** The slot that is to have the bucket; undefined where there is none. */
export function targetOf(bucket: number, slots: Iterable<number>): number | undefined {
  let best: { readonly slot: number; readonly score: string } | undefined;
  for (const slot of slots) {
    const score = scoreOf(bucket, slot);
    if (best === undefined || score > best.score) best = { slot, score };
  }
  return best?.slot;
}

const scores = new Map<string, string>();

function scoreOf(bucket: number, slot: number): string {
  const name = `${SALT} ${bucket} ${slot}`;
  const known = scores.get(name);
  if (known !== undefined) return known;
  const score = sha256Hex(name);
  scores.set(name, score);
  return score;
}

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
