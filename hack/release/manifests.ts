// The manifests of a release for use with kubectl alone: the overlays, rendered, each into one file.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { imageParts } from './image.ts';
import { type Kustomization, render } from './render.ts';

/** Definitions have a file of their own: removing the bundle must not remove them, and every object with them. */
const withoutDefinitions = [
  {
    target: { kind: 'CustomResourceDefinition' },
    patch: stringify({
      $patch: 'delete',
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'any' },
    }),
  },
];
const components = ['config/components/probe', 'config/components/deletion-protection'];

/** File names and what is in them. */
const files: Readonly<Record<string, Kustomization>> = {
  'install-crds.yaml': { resources: ['crds', 'crds/ingester'] },
  'install-ingester-crd.yaml': { resources: ['crds/ingester'] },
  'install.yaml': { resources: ['config/default'], components, patches: withoutDefinitions },
  'install-with-query.yaml': {
    resources: ['config/default'],
    components: ['config/components/query', 'config/components/query-certificate', ...components],
    patches: withoutDefinitions,
  },
  'install-no-cert-manager.yaml': {
    resources: ['config/overlays/no-cert-manager'],
    components,
    patches: withoutDefinitions,
  },
  'uninstall.yaml': { components: ['config/components/uninstall-hook'] },
};

export interface Release {
  readonly kubectl: string;
  /** Where the files go. */
  readonly folder: string;
  /** The image with its tag or digest; that of the manifests unless given. */
  readonly image?: string | undefined;
}

/** Resolves to the paths that were written. */
export async function writeReleaseManifests({ kubectl, folder, image }: Release): Promise<readonly string[]> {
  mkdirSync(folder, { recursive: true });
  const images = image === undefined ? [] : [{ name: 'michelangelo-ingester', ...imageParts(image) }];
  const paths: string[] = [];
  for (const [name, kustomization] of Object.entries(files)) {
    const path = join(folder, name);
    writeFileSync(path, named(await render(kubectl, { ...kustomization, images })));
    paths.push(path);
  }
  return paths;
}

/**
 * Without the hash of its content, which is of no use in a file that is edited by hand, so that the deletion protection knows the
 * configuration that the reconciler needs until the uninstall is over.
 */
function named(text: string): string {
  return text.replace(/\b(ingester-reconciler-config)-\w+/g, '$1');
}
