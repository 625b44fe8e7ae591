import { CodedError } from '../../src/base/errors.ts';

const colour = process.stdout.isTTY && process.env['NO_COLOR'] === undefined;
const paint = (code: number, text: string): string => (colour ? `\u001b[${code}m${text}\u001b[0m` : text);

/** What the demo prints: chapters, the commands it runs with their real output, and what each proves. */
export class Narrator {
  readonly #started = performance.now();
  #chapters = 0;
  /** Whether the line that the cursor is in makes room for the next output. */
  #passing = false;

  chapter(title: string): void {
    this.#chapters += 1;
    this.#write(`\n${paint(1, `${this.#chapters}. ${title}`)}\n`);
  }

  say(text: string): void {
    this.#write(`   ${text}\n`);
  }

  command(line: string): void {
    this.#write(`   ${paint(36, `$ ${line}`)}\n`);
  }

  sql(statement: string): void {
    this.#write(`   ${paint(36, `mysql> ${statement};`)}\n`);
  }

  output(text: string): void {
    const lines = text.trimEnd().split('\n');
    this.#write(lines.map((line) => `     ${line}\n`).join(''));
  }

  /** A fact the demo has just checked. */
  proved(fact: string): void {
    this.#write(`   ${paint(32, '✔')} ${fact}\n`);
  }

  progress(message: string): void {
    this.#write(`   ${paint(2, `[${this.seconds()} s] ${message}`)}\n`);
  }

  /** A last line for now, in a terminal only. */
  passing(text: string): void {
    if (!process.stdout.isTTY) return;
    const [line = ''] = text.trim().split('\n');
    // Only the line of the cursor can be taken back, so it must not wrap.
    this.#write(paint(2, `   ${line}`.slice(0, (process.stdout.columns || 80) - 1)));
    this.#passing = true;
  }

  #write(text: string): void {
    process.stdout.write(this.#passing ? `\r\u001b[K${text}` : text);
    this.#passing = false;
  }

  seconds(): number {
    return Math.round((performance.now() - this.#started) / 1000);
  }
}

export class DemoError extends CodedError {
  constructor(expected: string, seen: string) {
    super('DEMO_FAILED', `Expected ${expected}, but ${seen}`);
  }
}

/** Columns of text, as a database client prints them. */
export function table(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const names = Object.keys(rows[0] ?? {});
  const cells = [names, ...rows.map((row) => names.map((name) => textOf(row[name])))];
  const widths = names.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  return cells
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
