// A real MySQL or MariaDB server on loopback, for tests and the demo. Whatever happens to the process that started it,
// nothing of it stays behind.
import { tmpdir } from 'node:os';
import type { Authority } from './certificates.ts';
import { findDatabasePrograms } from './database-programs.ts';
import type { DatabaseServer } from './database-server.ts';
import { externalDatabase } from './external-database.ts';
import { type Flavour, flavours } from './flavours.ts';
import { startLocalDatabase } from './local-database.ts';
import { type Progress, progressOnStderr } from './progress.ts';

export type { DatabaseServer } from './database-server.ts';

export interface DatabaseOptions {
  readonly flavour?: Flavour;
  readonly progress?: Progress;
  readonly parentDirectory?: string;
  readonly signal?: AbortSignal;
  readonly env?: NodeJS.ProcessEnv;
  /** Signs a certificate of the server for `localhost`. No server of others has one, so one of our own is started. */
  readonly authority?: Authority;
  /** Options of the server, e.g. `autocommit: 'OFF'`. Then one of our own is started. */
  readonly settings?: Readonly<Record<string, string>>;
}

export async function startDatabase(options: DatabaseOptions = {}): Promise<DatabaseServer> {
  const { flavour = 'mysql', progress = progressOnStderr, parentDirectory = tmpdir(), signal } = options;
  const { env = process.env, authority, settings } = options;
  const url = env[flavours[flavour].urlVariable] ?? '';
  if (url !== '' && authority === undefined && settings === undefined) return externalDatabase(flavour, url);
  const preparation = { env, progress, signal };
  const programs = await findDatabasePrograms(flavour, preparation);
  return startLocalDatabase(programs, { parentDirectory, authority, settings }, preparation);
}
