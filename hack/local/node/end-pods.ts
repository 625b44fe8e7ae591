// Ends processes of pods that no node looks after, by what their folders say.
import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../wait-until.ts';
import { isAlive, readIdentity, signalProcess } from './process-identity.ts';

const timeoutMs = 10_000;

/** Kills what runs below the folder and removes it. */
export async function endPod(folder: string): Promise<void> {
  const identities = globSync('**/*.pid', { cwd: folder, exclude: (name) => name === 'root' || name === 'volumes' })
    .map((file) => readIdentity(join(folder, file)))
    .filter((identity) => identity !== undefined);
  for (const identity of identities) signalProcess(identity, 'SIGKILL', 'group');
  await waitUntil(() => !identities.some(isAlive), { timeoutMs });
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
