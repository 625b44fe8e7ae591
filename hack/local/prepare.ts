// Builds or unpacks the programs that tests run. As a script it does so at the lowest priority, beside tests that need
// none of them yet; a caller that needs one meanwhile waits for it.
import { setPriority } from 'node:os';
import { findBinaries } from './binaries.ts';
import { findChromium } from './chromium.ts';
import { findDatabasePrograms } from './database-programs.ts';
import { etcdTemplate } from './etcd-template.ts';
import { findGoProgram, gitopsPrograms, goPrograms } from './go-program.ts';
import type { Preparation } from './preparation.ts';

/** The control plane, MySQL and MariaDB. */
export async function prepareServers(preparation: Preparation): Promise<void> {
  await etcdTemplate(await findBinaries(preparation), preparation);
  if (preparation.env['INGESTER_MYSQL_URL'] === undefined) await findDatabasePrograms('mysql', preparation);
  if (preparation.env['INGESTER_MARIADB_URL'] === undefined) await findDatabasePrograms('mariadb', preparation);
}

/** The browser, and programs of other projects; with those that only `npm run gitops` needs, or without them. */
export async function preparePrograms(preparation: Preparation, gitops: boolean): Promise<void> {
  const programs = gitops ? gitopsPrograms : goPrograms;
  for (const program of Object.values(programs)) await findGoProgram(program, preparation);
  await findChromium(preparation);
}

if (import.meta.main) {
  setPriority(19);
  const quiet = { env: process.env, progress: () => undefined, signal: undefined };
  await prepareServers(quiet);
  await preparePrograms(quiet, false);
}
