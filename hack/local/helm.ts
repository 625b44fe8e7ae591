import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { cacheDirectory } from './cache-directory.ts';
import { cachedFolder } from './cached-folder.ts';
import { findGo } from './control-plane-build.ts';
import { tailOf } from './log-tail.ts';
import type { Preparation, ReapedPreparation } from './preparation.ts';
import { withElapsedTime } from './progress.ts';
import { runCommand } from './run-command.ts';

const sources = join(import.meta.dirname, 'helm');

/** Helm, built once from its Go module; undefined where there is no Go. */
export async function findHelm(preparation: Preparation): Promise<string | undefined> {
  if ((await findGo(preparation.env)) === undefined) return undefined;
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}`);
  for (const file of ['go.mod', 'go.sum']) hash.update(readFileSync(join(sources, file)));
  const path = join(cacheDirectory(preparation.env), 'helm', hash.digest('hex').slice(0, 12));
  await cachedFolder({ path, what: 'Helm', fill: build }, preparation);
  return join(path, 'helm');
}

async function build(folder: string, { env, progress, reaper, signal }: ReapedPreparation): Promise<void> {
  const args = ['build', '-mod=readonly', '-trimpath', '-ldflags', '-s -w', '-o', join(folder, 'helm')];
  const result = await withElapsedTime(
    progress,
    () => 'Building Helm from its Go module, only needed once',
    () =>
      runCommand('go', [...args, 'helm.sh/helm/v3/cmd/helm'], {
        cwd: sources,
        env: { ...env, CGO_ENABLED: '0', GOWORK: 'off' },
        reaper,
        signal,
      }),
  );
  signal?.throwIfAborted();
  if (result.code !== 0) throw new CodedError('LOCAL_BUILD_FAILED', `Building Helm failed: ${tailOf(result.stderr)}`);
}
