/** Tells a person who waits what is going on. */
export type Progress = (message: string) => void;

export const progressOnStderr: Progress = (message) => {
  process.stderr.write(`${message}\n`);
};

const intervalMs = 5000;

/** Runs `work` and says every few seconds what it is doing and for how long already. */
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
