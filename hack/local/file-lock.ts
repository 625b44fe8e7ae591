import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Progress, withElapsedTime } from './progress.ts';

export interface FileLockOptions {
  /** Tells that the lock is taken, and what for. */
  readonly waiting: string;
  readonly progress: Progress;
  readonly signal: AbortSignal | undefined;
}

/**
 * Runs `work` while no other process holds the lock on `path`. The kernel keeps the lock for a small helper that ends
 * with us, so a killed holder never leaves a lock behind. Without the program `flock` nothing is locked.
 */
export async function withFileLock<Result>(
  path: string,
  { waiting, progress, signal }: FileLockOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const holder = spawn('flock', ['-x', path, 'sh', '-c', 'echo locked; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    // Out of reach of the terminal's Ctrl-C: it ends when its input does.
    detached: true,
  });
  holder.stdin.on('error', () => undefined);
  const release = (): unknown => holder.kill('SIGKILL');
  signal?.addEventListener('abort', release);
  // Rejects only where there is no `flock`: then nothing is locked, as said above.
  const ended = once(holder, 'exit').catch(() => undefined);
  try {
    await withElapsedTime(
      progress,
      () => waiting,
      () => Promise.race([once(holder.stdout, 'data'), ended]),
    );
    signal?.throwIfAborted();
    return await work();
  } finally {
    signal?.removeEventListener('abort', release);
    holder.stdin.end();
    await ended;
  }
}
