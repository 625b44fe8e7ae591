// What the user sees while a command works: one line on the terminal, rewritten, and gone at the end.

export interface Progress {
  add(count: number): void;
  end(): void;
}

interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Nothing is shown without a terminal, nor for work that is over at once. */
const QUIET_MS = 500;
const WIDTH = 24;

export function startProgress(stream: Terminal, what: string, clock: () => number = () => performance.now()): Progress {
  const started = clock();
  let done = 0;
  let shown = false;
  return {
    add: (count) => {
      done += count;
      const elapsed = clock() - started;
      if (stream.isTTY !== true || elapsed < QUIET_MS) return;
      shown = true;
      stream.write(
        `\r\u001B[2K${barAt(elapsed)} ${done.toLocaleString('en')} ${what}, ${Math.round(elapsed / 1000)} s`,
      );
    },
    end: () => {
      if (shown) stream.write('\r\u001B[2K');
    },
  };
}

/** The total is unknown, so the bar shows that work goes on, not how far it is. */
function barAt(elapsedMs: number): string {
  const at = Math.floor(elapsedMs / 150) % WIDTH;
  return `[${' '.repeat(at)}#${' '.repeat(WIDTH - at - 1)}]`;
}
