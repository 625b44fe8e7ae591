// How long ago something was, as kubectl shows it.

const SECOND = 1;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

interface Step {
  /** The step holds below this many seconds. */
  readonly below: number;
  readonly unit: readonly [seconds: number, letter: string];
  /** Shown after the unit where it is not zero. */
  readonly rest?: readonly [seconds: number, letter: string];
}

/** Coarser as it gets longer, as in kubectl's AGE column (HumanDuration of apimachinery). */
const steps: readonly Step[] = [
  { below: 2 * MINUTE, unit: [SECOND, 's'] },
  { below: 10 * MINUTE, unit: [MINUTE, 'm'], rest: [SECOND, 's'] },
  { below: 3 * HOUR, unit: [MINUTE, 'm'] },
  { below: 8 * HOUR, unit: [HOUR, 'h'], rest: [MINUTE, 'm'] },
  { below: 2 * DAY, unit: [HOUR, 'h'] },
  { below: 8 * DAY, unit: [DAY, 'd'], rest: [HOUR, 'h'] },
  { below: 2 * YEAR, unit: [DAY, 'd'] },
  { below: 8 * YEAR, unit: [YEAR, 'y'], rest: [DAY, 'd'] },
];

/** For example `45s`, `5m30s`, `3h`, `2d4h`, `3y12d`. Clocks that differ by a second or two show `0s`. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  const step = steps.find(({ below }) => seconds < below);
  if (step === undefined) return `${Math.floor(seconds / YEAR)}y`;
  const [size, letter] = step.unit;
  const [restSize, restLetter] = step.rest ?? [1, ''];
  const remainder = step.rest === undefined ? 0 : Math.floor((seconds % size) / restSize);
  return `${Math.floor(seconds / size)}${letter}${remainder === 0 ? '' : `${remainder}${restLetter}`}`;
}

/** The time since then, or `<unknown>` where there is none. */
export function age(since: string | undefined, now: Date): string {
  const time = Date.parse(since ?? '');
  return Number.isNaN(time) ? '<unknown>' : humanDuration(now.getTime() - time);
}
