import { fractionText } from './timestamp.ts';

/** google.protobuf.Duration: both parts have the sign of the whole. */
export interface ProtoDuration {
  readonly seconds: number;
  readonly nanos: number;
}

/** 10 000 years, the range protobuf gives the type. */
const MAX_SECONDS = 315_576_000_000;

/** Undefined where the text is not seconds with an `s`, e.g. `3.5s` or `-0.001s`. */
export function parseProtoDuration(text: string): ProtoDuration | undefined {
  const match = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?s$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = ''] = match;
  const factor = sign === '-' ? -1 : 1;
  const duration = { seconds: factor * Number(whole) + 0, nanos: factor * Number(fraction.padEnd(9, '0')) + 0 };
  return isInRange(duration) ? duration : undefined;
}

/** The shortest exact text. Undefined out of range or with mixed signs. */
export function formatProtoDuration(duration: ProtoDuration): string | undefined {
  if (!isInRange(duration)) return undefined;
  const sign = duration.seconds < 0 || duration.nanos < 0 ? '-' : '';
  return `${sign}${Math.abs(duration.seconds)}${fractionText(Math.abs(duration.nanos))}s`;
}

function isInRange({ seconds, nanos }: ProtoDuration): boolean {
  if (Math.abs(seconds) > MAX_SECONDS || Math.abs(nanos) >= 1_000_000_000) return false;
  return seconds === 0 || nanos === 0 || Math.sign(seconds) === Math.sign(nanos);
}
