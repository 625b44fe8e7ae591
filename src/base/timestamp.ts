// Points in time, as text and as protobuf holds them.
import { isJsonObject } from './json.ts';

/** A point in time as google.protobuf.Timestamp and metav1.Time hold it: seconds since 1970 and 0 ≤ nanos < 10⁹. */
export interface Timestamp {
  readonly seconds: number;
  readonly nanos: number;
}

/** The first second of year 0 and the last of year 9999, the range of RFC 3339. */
const FIRST_SECOND = -62_167_219_200;
const LAST_SECOND = 253_402_300_799;

const rfc3339 = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:[.,](\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** Undefined where the text is not an RFC 3339 time that exists. Digits beyond nanoseconds are dropped, as Go does. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = rfc3339.exec(text);
  if (match === null) return undefined;
  const [, date = '', time = '', fraction = '', sign, hours, minutes] = match;
  const local = secondsOf(date, time);
  const offset = sign === undefined ? 0 : offsetSeconds(sign, Number(hours), Number(minutes));
  if (local === undefined || offset === undefined) return undefined;
  const timestamp = { seconds: local - offset, nanos: Number(fraction.slice(0, 9).padEnd(9, '0')) };
  return isTimeInRange(timestamp) ? timestamp : undefined;
}

/** Of an RFC 3339 text or of an object of `seconds` and `nanos`, each a whole number or its text, 0 where it is missing. */
export function timestampOf(value: unknown): Timestamp | undefined {
  if (typeof value === 'string') return parseTimestamp(value);
  if (!isJsonObject(value)) return undefined;
  const { seconds, nanos, ...others } = value;
  const parts = { seconds: wholeNumber(seconds ?? 0), nanos: wholeNumber(nanos ?? 0) };
  return Object.keys(others).length === 0 && isTimeInRange(parts) ? parts : undefined;
}

/** NaN for what is none; a text that is rounded is out of every range. */
function wholeNumber(value: unknown): number {
  const number = typeof value === 'string' && /^-?\d{1,19}$/.test(value) ? Number(value) : value;
  return Number.isInteger(number) ? Number(number) + 0 : Number.NaN;
}

/** What `momentOf` takes, for messages. */
export const MOMENT_FORMS = 'a time such as 2026-01-31T12:00:00Z, or a day in UTC such as 2026-01-31';

/** Whether the text is a day, such as `2026-01-31`, that exists. */
export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && momentOf(text) !== undefined;
}

/** In UTC, of an RFC 3339 time or of a day, which stands for its beginning; undefined for anything else. */
export function momentOf(text: string): string | undefined {
  const time = parseTimestamp(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  return time && formatTimestamp(time);
}

/** UTC with the shortest exact fraction. Undefined out of range: no RFC 3339 text exists for it. */
export function formatTimestamp(timestamp: Timestamp): string | undefined {
  if (!isTimeInRange(timestamp)) return undefined;
  const whole = new Date(timestamp.seconds * 1000).toISOString().slice(0, 19);
  return `${whole}${fractionText(timestamp.nanos)}Z`;
}

/** `.5` for 500 000 000 nanoseconds, nothing for 0. */
export function fractionText(nanos: number): string {
  return nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;
}

function isTimeInRange({ seconds, nanos }: Timestamp): boolean {
  return seconds >= FIRST_SECOND && seconds <= LAST_SECOND && nanos >= 0 && nanos < 1_000_000_000;
}

/** The date parser carries over (30 February is 1 March), so the result is read back. */
function secondsOf(date: string, time: string): number | undefined {
  const parsed = new Date(`${date}T${time}Z`);
  if (Number.isNaN(parsed.getTime()) || parsed.toISOString().slice(0, 19) !== `${date}T${time}`) return undefined;
  return parsed.getTime() / 1000;
}

function offsetSeconds(sign: string, hours: number, minutes: number): number | undefined {
  if (hours > 23 || minutes > 59) return undefined;
  return (sign === '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}
