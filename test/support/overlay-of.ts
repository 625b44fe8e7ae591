import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { stringify } from 'yaml';

const root = join(import.meta.dirname, '../..');

export interface Overlay {
  readonly folder: string;
  remove(): void;
}

/** An overlay as a user has one: that of this repository with another image and more components. */
export function overlayOf(overlay: string, tag: string | undefined, components: readonly string[] = []): Overlay {
  const parent = join(root, '.local');
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, 'overlay-'));
  const at = (path: string): string => relative(folder, join(root, path));
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: [at(overlay)],
    components: components.map((name) => at(`config/components/${name}`)),
    ...(tag === undefined ? {} : { images: [{ name: 'michelangelo-ingester', newTag: tag }] }),
  };
  writeFileSync(join(folder, 'kustomization.yaml'), stringify(kustomization));
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}
