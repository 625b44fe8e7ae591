import { spawn } from 'node:child_process';
import { once } from 'node:events';

const silentMs = 1000;

/**
 * Runs `work` while no other process holds the lock on `path`. The kernel keeps the lock for a small helper that ends
 * with us, so a killed holder never leaves a lock behind. Without the program `flock` nothing is locked.
 */
export async function withFileLock<Result>(
  path: string,
  { onWait, signal }: { readonly onWait: () => void; readonly signal: AbortSignal | undefined },
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
  const ended = once(holder, 'exit').catch(() => undefined);
  const waiting = setTimeout(onWait, silentMs);
  try {
    await Promise.race([once(holder.stdout, 'data'), ended]);
    clearTimeout(waiting);
    signal?.throwIfAborted();
    return await work();
  } finally {
    clearTimeout(waiting);
    signal?.removeEventListener('abort', release);
    holder.stdin.end();
    await ended;
  }
}
