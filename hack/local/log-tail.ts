import { readFileSync } from 'node:fs';

const shownLines = 20;
const shownCharacters = 4000;

/** The last lines of a log file, indented, for the message of an error. */
export function logTail(path: string): string {
  return tailOf(readLog(path));
}

export function readLog(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

export function tailOf(text: string): string {
  const lines = text.trimEnd().slice(-shownCharacters).split('\n').slice(-shownLines);
  return lines.map((line) => `  ${line}`).join('\n');
}
