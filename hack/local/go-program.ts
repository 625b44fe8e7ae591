// Programs of other projects that tests run, built once from their Go modules.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { cacheDirectory } from './cache-directory.ts';
import { cachedFolder } from './cached-folder.ts';
import { findGo } from './control-plane-build.ts';
import { tailOf } from './log-tail.ts';
import type { Preparation, ReapedPreparation } from './preparation.ts';
import { withElapsedTime } from './progress.ts';
import { runCommand } from './run-command.ts';

export interface GoProgram {
  /** For messages. */
  readonly what: string;
  /** Beside this file, with go.mod, go.sum and a main.go, or else the import that keeps them tidy. */
  readonly folder: string;
  /** The folder itself, unless given. */
  readonly package?: string;
  /** Values of variables that the linker sets, such as a version. */
  readonly linked?: readonly string[];
  /** Build tags. */
  readonly tags?: readonly string[];
}

/** Several programs of one module, each under the name of its package. */
export interface GoPrograms extends Omit<GoProgram, 'package'> {
  readonly packages: readonly string[];
}

export const goPrograms: Readonly<Record<'promtool' | 'helm' | 'kustomizeController', GoProgram>> = {
  promtool: {
    what: "Prometheus' promtool",
    folder: 'promtool',
    package: 'github.com/prometheus/prometheus/cmd/promtool',
    // Half of the program is for clouds that targets could be found in.
    tags: ['remove_all_sd'],
  },
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
  const { package: imported = '.', ...module } = program;
  const folder = await findGoPrograms({ ...module, packages: [imported] }, preparation);
  return folder === undefined ? undefined : join(folder, 'program');
}

/** The folder with them: a single one is called `program`. */
export async function findGoPrograms(programs: GoPrograms, preparation: Preparation): Promise<string | undefined> {
  if ((await findGo(preparation.env)) === undefined) return undefined;
  const sources = join(import.meta.dirname, programs.folder);
  const { packages, tags = [] } = programs;
  const hash = createHash('sha256').update([process.platform, process.arch, ...packages, ...tags].join(' '));
  for (const file of ['go.mod', 'go.sum', 'main.go'].map((name) => join(sources, name)).filter(existsSync)) {
    hash.update(readFileSync(file));
  }
  const name = basename(programs.folder);
  const path = join(cacheDirectory(preparation.env), name, hash.digest('hex').slice(0, 12));
  const fill = (folder: string, reaped: ReapedPreparation): Promise<void> => build(programs, folder, reaped);
  await cachedFolder({ path, what: programs.what, fill }, preparation);
  return path;
}

async function build(program: GoPrograms, folder: string, preparation: ReapedPreparation): Promise<void> {
  const { env, progress, reaper, signal } = preparation;
  const { packages, linked = [], tags = [] } = program;
  const output = packages.length === 1 ? join(folder, 'program') : `${folder}/`;
  const flags = ['-s', '-w', ...linked.map((value) => `-X ${value}`)].join(' ');
  const selected = tags.length === 0 ? [] : ['-tags', tags.join(',')];
  const args = ['build', '-mod=readonly', '-trimpath', '-buildvcs=false', '-ldflags', flags, ...selected, '-o', output];
  const result = await withElapsedTime(
    progress,
    () => `Building ${program.what} from its Go module, only needed once`,
    () =>
      runCommand('go', [...args, ...packages], {
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
