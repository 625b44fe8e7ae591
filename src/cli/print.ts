// The only way of the commands to the terminal: text for users is escaped, output for programs is left as it is.

import { InvalidArgumentError, Option } from 'commander';
import { parseDurationMs } from '../base/duration.ts';
import { terminalText } from '../base/terminal-text.ts';

/** For users. */
export function printText(text: string): void {
  process.stdout.write(terminalText(text));
}

/** For programs: JSON, YAML, names, values. */
export function printRaw(text: string): void {
  process.stdout.write(text);
}

/** For programs; resolves when all of it has left. */
export function printWhole(text: string): Promise<void> {
  return new Promise((resolve) => void process.stdout.write(text, () => resolve()));
}

/** Made of cells that are escaped already, and coloured afterwards. */
export function printColoured(text: string): void {
  process.stdout.write(text);
}

/** How it goes, and what went wrong. */
export function note(text: string): void {
  process.stderr.write(terminalText(text));
}

/** One result in the form that was asked for. */
export function printResult(format: string, result: object, text: string): void {
  if (format === 'json') printRaw(`${JSON.stringify(result)}\n`);
  else printText(text);
}

/** An option that is a duration, in milliseconds; its default is shown as it is written. */
export function durationOption(flags: string, description: string, standard: string): Option {
  return new Option(flags, description).argParser(durationOf).default(durationOf(standard), standard);
}

function durationOf(text: string): number {
  const milliseconds = parseDurationMs(text);
  if (milliseconds === undefined) throw new InvalidArgumentError('expected a duration such as 30s, 10m or 1h');
  return milliseconds;
}
