import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CodedError } from '../../src/base/errors.ts';
import {
  buildControlPlane,
  builtControlPlaneFolder,
  controlPlanePrograms,
  findGo,
  goIsNewEnough,
} from './control-plane-build.ts';
import { isExecutable } from './executable.ts';
import type { Preparation } from './preparation.ts';

/** The folder that has the programs of a control plane: the given one, the cached one, or one built now. */
export async function findBinaries(preparation: Preparation): Promise<string> {
  const { env, progress } = preparation;
  const assets = env['KUBEBUILDER_ASSETS'] ?? '';
  const missing = assets === '' ? [] : missingPrograms(assets);
  if (assets !== '' && missing.length === 0) return resolve(assets);
  const lack = assets === '' ? 'KUBEBUILDER_ASSETS is not set' : `KUBEBUILDER_ASSETS has no ${missing.join(', no ')}`;
  const cached = builtControlPlaneFolder(env);
  if (existsSync(cached)) return cached;
  await demandGo(env, lack);
  if (missing.length > 0) progress(`${lack}; using Go instead.`);
  return buildControlPlane(preparation);
}

async function demandGo(env: NodeJS.ProcessEnv, lack: string): Promise<void> {
  const version = await findGo(env);
  if (version !== undefined && goIsNewEnough(version)) return;
  const found = version === undefined ? 'Go is not on PATH or does not work' : `Go on PATH is too old (${version})`;
  throw new CodedError(
    'LOCAL_BINARIES_MISSING',
    `Cannot start a Kubernetes control plane: ${lack} and ${found}.\n` +
      'Do one of these and run the command again:\n' +
      '  - install Go 1.26 or newer: the programs are then built once from their Go modules and kept in a cache\n' +
      `  - set KUBEBUILDER_ASSETS to a folder with the five programs ${controlPlanePrograms.join(', ')}`,
  );
}

function missingPrograms(folder: string): string[] {
  return controlPlanePrograms.filter((name) => !isExecutable(join(folder, name)));
}
