import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** Where this project keeps what is expensive to make, shared by all checkouts of one user. */
export function cacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const base = env['XDG_CACHE_HOME'];
  // The XDG specification tells programs to ignore a relative path.
  const home = env['HOME'] ?? homedir();
  return join(base !== undefined && isAbsolute(base) ? base : join(home, '.cache'), 'michelangelo-ingester');
}
