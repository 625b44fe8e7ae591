/** Tells the user what is going on. */
export type Progress = (message: string) => void;

export const progressOnStderr: Progress = (message) => {
  process.stderr.write(`${message}\n`);
};

/** At a terminal a user waits; a log is read afterwards. */
const intervalMs = process.stderr.isTTY ? 5000 : 60_000;

/** Runs `work` and says now and again what it is doing and for how long already. */
export async function withElapsedTime<Result>(
  progress: Progress,
  describe: () => string,
  work: () => Promise<Result>,
): Promise<Result> {
  const started = Date.now();
  const timer = setInterval(() => {
    progress(`${describe()}: ${Math.round((Date.now() - started) / 1000)} s`);
  }, intervalMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
