// Times as a reader sees them.

const units: readonly (readonly [name: string, seconds: number])[] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
];

/** Two units at most where the first is small: 2 d 3 h, 14 d, 8 min, 3 s. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const index = units.findIndex(([, size]) => whole >= size);
  const [name, size] = units[index] ?? ['s', 1];
  const count = Math.floor(whole / size);
  const [next, nextSize] = units[index + 1] ?? ['', 0];
  const rest = nextSize === 0 || count > 9 ? 0 : Math.floor((whole % size) / nextSize);
  return `${count} ${name}${rest === 0 ? '' : ` ${rest} ${next}`}`;
}

export function ago(time: string, now: number): string {
  const seconds = (now - Date.parse(time)) / 1000;
  if (Number.isNaN(seconds)) return time;
  return seconds < 1 ? 'now' : `${duration(seconds)} ago`;
}

/** As a reader compares it, in UTC: 2026-01-31 17:20:01. */
export function moment(time: string): string {
  const at = new Date(time);
  return Number.isNaN(at.getTime()) ? time : at.toISOString().slice(0, 19).replace('T', ' ');
}
