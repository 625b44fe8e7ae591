// One render of kustomize, of folders of this repository put together.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';
import { CodedError } from '../../src/base/errors.ts';
import { runCommand } from '../local/run-command.ts';

const root = join(import.meta.dirname, '../..');

/** Folders are named from the root. */
export interface Kustomization {
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly patches?: readonly object[];
  readonly images?: readonly object[];
}

export async function render(kubectl: string, kustomization: Kustomization): Promise<string> {
  const { resources = [], components = [], ...more } = kustomization;
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  const at = (path: string): string => relative(folder, join(root, path));
  const document = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: resources.map(at),
    components: components.map(at),
    ...more,
  };
  try {
    writeFileSync(join(folder, 'kustomization.yaml'), stringify(document));
    const { code, stdout, stderr } = await runCommand(kubectl, ['kustomize', folder]);
    if (code === 0) return stdout;
    throw new CodedError(
      'RELEASE_RENDER',
      `kustomize of ${[...resources, ...components].join(', ')}: ${stderr.trim()}`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}
