// The only way of the commands to the terminal: what people read is escaped, what programs read is left as it is.
import { terminalText } from '../base/terminal-text.ts';

/** For people. */
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
