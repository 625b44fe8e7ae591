// Programs of other projects that tests run, built once from their Go modules.
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

interface GoProgram {
  /** For messages. */
  readonly what: string;
  /** Beside this file, with go.mod, go.sum and a main.go, or else the import that keeps them tidy. */
  readonly folder: string;
  /** The folder itself, unless given. */
  readonly package?: string;
}

export const goPrograms: Readonly<Record<'helm' | 'kustomizeController', GoProgram>> = {
  helm: { what: 'Helm', folder: 'helm', package: 'helm.sh/helm/v3/cmd/helm' },
  kustomizeController: {
    what: "Flux's kustomize-controller",
    folder: 'flux',
    package: 'github.com/fluxcd/kustomize-controller',
  },
};

/** What "npm run gitops" needs besides: minutes to build, and too long for every test run. */
export const gitopsPrograms: Readonly<Record<'argoCd' | 'certManager', GoProgram>> = {
  argoCd: { what: "Argo CD's controller and repo server", folder: 'argocd' },
  certManager: { what: "cert-manager's controllers", folder: 'cert-manager' },
};

/** The path of the program; undefined where there is no Go to build it with. */
export async function findGoProgram(program: GoProgram, preparation: Preparation): Promise<string | undefined> {
  if ((await findGo(preparation.env)) === undefined) return undefined;
  const sources = join(import.meta.dirname, program.folder);
  const { package: imported = '.' } = program;
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${imported}`);
  const files = ['go.mod', 'go.sum', ...(imported === '.' ? ['main.go'] : [])];
  for (const file of files) hash.update(readFileSync(join(sources, file)));
  const path = join(cacheDirectory(preparation.env), program.folder, hash.digest('hex').slice(0, 12));
  const fill = (folder: string, reaped: ReapedPreparation): Promise<void> => build(program, folder, reaped);
  await cachedFolder({ path, what: program.what, fill }, preparation);
  return join(path, 'program');
}

async function build(program: GoProgram, folder: string, preparation: ReapedPreparation): Promise<void> {
  const { env, progress, reaper, signal } = preparation;
  const args = ['build', '-mod=readonly', '-trimpath', '-ldflags', '-s -w', '-o', join(folder, 'program')];
  const result = await withElapsedTime(
    progress,
    () => `Building ${program.what} from its Go module, only needed once`,
    () =>
      runCommand('go', [...args, program.package ?? '.'], {
        cwd: join(import.meta.dirname, program.folder),
        env: { ...env, CGO_ENABLED: '0', GOWORK: 'off' },
        reaper,
        signal,
      }),
  );
  signal?.throwIfAborted();
  if (result.code === 0) return;
  throw new CodedError('LOCAL_BUILD_FAILED', `Building ${program.what} failed: ${tailOf(result.stderr)}`);
}
