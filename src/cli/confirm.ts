import { createInterface } from 'node:readline/promises';
import { ArgumentError } from './errors.ts';
import { note } from './print.ts';

export interface Confirmation {
  readonly preview: string;
  readonly question: string;
  /** The error where there is no user to ask. */
  readonly withoutTerminal: string;
  /** The error where the answer is not yes. */
  readonly declined: string;
}

/** Shows what would happen, and goes on only with a yes. */
export async function confirm({ preview, question, withoutTerminal, declined }: Confirmation): Promise<void> {
  if (!process.stdin.isTTY) throw new ArgumentError(withoutTerminal);
  note(preview);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // The end of the input is no answer.
  const ended = new AbortController();
  terminal.once('close', () => ended.abort());
  const answer = await terminal.question(question, { signal: ended.signal }).catch(() => '');
  terminal.close();
  if (answer.trim().toLowerCase() !== 'yes') throw new ArgumentError(declined);
}
