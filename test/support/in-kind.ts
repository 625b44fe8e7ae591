// What tests of a kind cluster do with its objects and their rows.
import assert from 'node:assert/strict';
import { FINALIZER } from '../../src/api/names.ts';
import { messageOf } from '../../src/base/errors.ts';
import { eventually } from './eventually.ts';
import type { Overlay } from './overlay-of.ts';
import { type Manifest, manifestsOf } from './renders.ts';
import type { Call } from './under-load.ts';
import type { Installed } from './use-installed.ts';

export const modelResource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

export function modelIn(namespace: string, name: string): object {
  return { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { namespace, name }, spec: {} };
}

export interface Creates {
  readonly call: Call;
  /** One in ten is kept, the others are dry runs. */
  readonly kept: { readonly count: number };
  /** Waits until each that was kept has a row. */
  readonly stored: () => Promise<void>;
}

/** Creates of models with this name and a number, each of which has to come back with the finalizer. */
export function createsOf(use: () => Installed, namespace: string, name: string): Creates {
  const kept = { count: 0 };
  const call: Call = async (index) => {
    try {
      const dryRun = index % 10 > 0;
      const created = await use().client.create(modelResource, namespace, modelIn(namespace, `${name}-${index}`), {
        dryRun,
      });
      if (!dryRun) kept.count += 1;
      return created.metadata.finalizers?.includes(FINALIZER) === true ? undefined : 'without finalizer';
    } catch (error) {
      return messageOf(error);
    }
  };
  const stored = (): Promise<void> =>
    eventually(async () => assert.equal(await rowsInPod(use(), namespace, `${name}-%`), kept.count), 120_000);
  return { call, stored, kept };
}

/** The port-forward to MySQL ends with its pod, so that this asks in the pod. */
export async function rowsInPod(bundle: Installed, namespace: string, name: string): Promise<number> {
  const sql = `SELECT COUNT(*) FROM michelangelo.model WHERE namespace = '${namespace}' AND name LIKE '${name}'`;
  const command = `MYSQL_PWD=$MYSQL_ROOT_PASSWORD mysql -uroot -h127.0.0.1 -N -e "${sql}"`;
  return Number(await bundle.kubectl('exec', '-n', 'mysql', 'statefulset/mysql', '--', 'sh', '-c', command));
}

export async function manifestsIn(
  bundle: Installed,
  { folder }: Pick<Overlay, 'folder'>,
): Promise<readonly Manifest[]> {
  return manifestsOf(await bundle.kubectl('kustomize', folder));
}

export async function applyOnly(bundle: Installed, overlay: Overlay, ...kinds: readonly string[]): Promise<void> {
  const items = (await manifestsIn(bundle, overlay)).filter(({ kind }) => kinds.includes(kind));
  await bundle.apply({ apiVersion: 'v1', kind: 'List', items });
}
