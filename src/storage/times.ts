// Times as a DATETIME(6) column can hold them. JSON has more of them, and one that does not fit must not keep an object
// from being stored.
const FIRST_YEAR = 1000;
const LAST_YEAR = 9999;
const FIRST = new Date(Date.UTC(FIRST_YEAR, 0, 1));
const LAST = new Date(Date.UTC(LAST_YEAR, 11, 31, 23, 59, 59));

/** What a row has where its object has no time that can be stored. */
export const NO_TIME = '1970-01-01T00:00:00.0Z';

/** RFC 3339 in UTC with the fraction kept, or undefined where the value is no time that fits. */
export function storableTime(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const time = new Date(value);
  // Not so for what is no time at all.
  const fits = time.getUTCFullYear() >= FIRST_YEAR && time.getUTCFullYear() <= LAST_YEAR;
  if (!fits) return undefined;
  const fraction = /\.(\d+)/.exec(value)?.[1] ?? '0';
  return `${time.toISOString().slice(0, 19)}.${fraction}Z`;
}

/** The nearest time that fits: a row that has ended must say so. */
export function storableDate(time: Date): Date {
  if (Number.isNaN(time.getTime()) || time < FIRST) return FIRST;
  return time > LAST ? LAST : time;
}
