import { InvalidArgumentError } from 'commander';
import { parseDurationMs } from '../base/duration.ts';

/** For options that are durations; milliseconds. */
export function durationOption(text: string): number {
  const milliseconds = parseDurationMs(text);
  if (milliseconds === undefined) throw new InvalidArgumentError('expected a duration such as 30s, 10m or 1h');
  return milliseconds;
}
