import { createHash } from 'node:crypto';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import { cacheDirectory } from './cache-directory.ts';
import { cachedFolder } from './cached-folder.ts';
import { tailOf } from './log-tail.ts';
import type { Preparation, ReapedPreparation } from './preparation.ts';
import { withElapsedTime } from './progress.ts';
import { runCommand } from './run-command.ts';

export const controlPlanePrograms = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
] as const;

const sources = join(import.meta.dirname, 'control-plane');

/** KUBERNETES=oldest runs everything on the oldest version that is supported. */
function moduleFile(env: NodeJS.ProcessEnv): 'go.mod' | 'oldest.mod' {
  const { KUBERNETES: wanted = '' } = env;
  if (wanted === '') return 'go.mod';
  if (wanted === 'oldest') return 'oldest.mod';
  throw new CodedError('LOCAL_BUILD_FAILED', `KUBERNETES is "${wanted}"; it may be "oldest", or not set.`);
}
const lowestGo = [1, 26] as const;

/** The folder in the cache with the programs of exactly these sources, whether it is there yet or not. */
export function builtControlPlaneFolder(env: NodeJS.ProcessEnv): string {
  const module = moduleFile(env);
  const hash = createHash('sha256').update(`${process.platform} ${process.arch} ${buildArguments(module).join(' ')}`);
  for (const file of [module, module.replace('.mod', '.sum'), 'main.go'])
    hash.update(readFileSync(join(sources, file)));
  const name = `${versionIn(join(sources, module))}-${hash.digest('hex').slice(0, 12)}`;
  return join(cacheDirectory(env), 'control-plane', name);
}

/** Builds the programs into the cache. */
export function buildControlPlane(preparation: Preparation): Promise<string> {
  const path = builtControlPlaneFolder(preparation.env);
  return cachedFolder({ path, what: 'the Kubernetes control plane', fill: build }, preparation);
}

/** The version of Go the build would use, or undefined when there is none. */
export async function findGo(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { code, stdout } = await runCommand('go', ['env', 'GOVERSION'], { cwd: sources, env });
  return code === 0 ? stdout.trim() : undefined;
}

export function goIsNewEnough(version: string): boolean {
  const [, major = '0', minor = '0'] = /^go(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) === lowestGo[0] && Number(minor) >= lowestGo[1];
}

async function build(folder: string, { env, progress, reaper, signal }: ReapedPreparation): Promise<void> {
  const module = moduleFile(env);
  progress(
    `Building Kubernetes ${versionIn(join(sources, module))} and etcd from their Go modules. This takes about five minutes and is needed only once.`,
  );
  const seen = { downloaded: 0, compiled: 0 };
  const describe = (): string =>
    `Building the control plane, only needed once (${seen.downloaded} modules downloaded, ${seen.compiled} packages compiled)`;
  const result = await withElapsedTime(progress, describe, () =>
    runCommand('go', ['build', ...buildArguments(module), '-o', join(folder, 'etcd'), '.'], {
      cwd: sources,
      env: { ...env, CGO_ENABLED: '0', GOWORK: 'off' },
      reaper,
      signal,
      onStderr: (text) => count(text, seen),
    }),
  );
  signal?.throwIfAborted();
  if (result.code !== 0) {
    throw new CodedError(
      'LOCAL_BUILD_FAILED',
      'Building the control plane failed. Check that Go can download modules (go env GOPROXY), or set ' +
        `KUBEBUILDER_ASSETS to a folder with the programs. The last output:\n${tailOf(result.stderr)}`,
    );
  }
  for (const name of controlPlanePrograms.slice(1)) symlinkSync('etcd', join(folder, name));
}

function count(text: string, seen: { downloaded: number; compiled: number }): void {
  for (const line of text.split('\n')) {
    if (line.startsWith('go: downloading ')) seen.downloaded += 1;
    else if (line !== '') seen.compiled += 1;
  }
}

function buildArguments(module: string): string[] {
  const flags = linkedVersion(versionIn(join(sources, module))).map((value) => `-X ${value}`);
  const modules = [`-modfile=${module}`, '-mod=readonly'];
  return ['-v', ...modules, '-trimpath', '-buildvcs=false', '-ldflags', ['-s', '-w', ...flags].join(' ')];
}

/** The variables by which the programs of Kubernetes know their version. */
export function linkedVersion(version: string): string[] {
  const [, major, minor] = /^v(\d+)\.(\d+)\./.exec(version) ?? [];
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'archive', gitCommit: '' };
  return ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((part) =>
    Object.entries(values).map(([key, value]) => `${part}.${key}=${value ?? ''}`),
  );
}

/** Of Kubernetes, unless KUBERNETES says otherwise. */
export const kubernetesVersion = (): string => versionIn(join(sources, 'go.mod'));

function versionIn(moduleFile: string): string {
  const [, version] = /^\s*k8s\.io\/kubernetes (v\S+)$/m.exec(readFileSync(moduleFile, 'utf8')) ?? [];
  if (version !== undefined) return version;
  throw new CodedError('LOCAL_BUILD_FAILED', `${moduleFile} names no version of k8s.io/kubernetes.`);
}
