// What kustomize makes of the manifests: every overlay, and the combinations of components that users put together.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { runCommand } from '../../hack/local/run-command.ts';
import { CodedError } from '../../src/base/errors.ts';
import type { JsonObject, JsonValue } from '../../src/base/json.ts';

const root = join(import.meta.dirname, '../..');

export interface Manifest extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string } & JsonObject;
}

/** A folder of config, or a kustomization written for the test, under another namespace where one is given. */
export type Recipe =
  | { readonly folder: string }
  | {
      readonly base: string;
      readonly components: readonly string[];
      readonly namespace?: string;
      readonly prefix?: string;
    };

/** Every overlay of config/overlays that needs no file of this machine, and what its users combine. */
export const recipes: Readonly<Record<string, Recipe>> = {
  base: { folder: 'config/base' },
  default: { folder: 'config/default' },
  production: { folder: 'config/overlays/production' },
  'production-query': {
    base: 'default',
    components: ['crds', 'query', 'query-certificate', 'tombstones', 'uninstall-hook', 'production'],
  },
  'production-lifecycle': {
    base: 'default',
    components: ['query', 'query-certificate', 'lifecycle', 'active-replicas', 'production'],
  },
  crds: { base: 'default', components: ['crds', 'argocd', 'flux'] },
  'custom-namespace': { folder: 'config/overlays/custom-namespace' },
  kind: { folder: 'config/overlays/kind' },
  'kind-query': { folder: 'config/overlays/kind-query' },
  'kind-policies': { folder: 'config/overlays/kind-policies' },
  'process-node': { folder: 'config/overlays/process-node' },
  'process-node-query': { folder: 'config/overlays/process-node-query' },
  'process-node-lifecycle': { folder: 'config/overlays/process-node-lifecycle' },
  lifecycle: { base: 'default', components: ['query', 'query-certificate', 'lifecycle', 'lifecycle-query'] },
  'metrics-auth': {
    base: 'default',
    components: ['prometheus', 'query', 'query-certificate', 'lifecycle', 'metrics-auth'],
  },
  'active-replicas': { base: 'default', components: ['ha', 'active-replicas'] },
  'fail-open': { base: 'default', components: ['fail-open'] },
  'admission-policies': { base: 'base', components: ['migrate', 'deletion-protection', 'admission-policies'] },
  'admission-policies-ha': { base: 'base', components: ['ha', 'network-policy', 'prometheus', 'admission-policies'] },
  'optional-kind': { base: 'default', components: ['query', 'query-certificate', 'kinds/cachedoutputs'] },
  query: { base: 'default', components: ['query', 'query-certificate', 'tombstones'] },
  'query-elsewhere': {
    base: 'default',
    components: ['query', 'query-certificate', 'tombstones', 'uninstall-hook', 'deletion-protection'],
    namespace: 'metadata',
  },
  'query-renamed': {
    base: 'overlays/no-cert-manager',
    components: ['query', 'query-certificate'],
    namespace: 'metadata',
    prefix: 'acme-',
  },
  'no-cert-manager': { folder: 'config/overlays/no-cert-manager' },
  'no-cert-manager-argocd': { base: 'overlays/no-cert-manager', components: ['probe', 'argocd'] },
  tracing: { base: 'default', components: ['network-policy', 'tracing'] },
  'uninstall-hook': { base: 'default', components: ['uninstall-hook', 'deletion-protection'] },
  'without-tls': { base: 'default', components: ['query', 'query-certificate', 'mysql-without-tls'] },
};

export function manifestsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
}

export async function renderText(kubectl: string, recipe: Recipe): Promise<string> {
  if ('folder' in recipe) return kustomize(kubectl, join(root, recipe.folder));
  const scratch = join(root, '.local');
  mkdirSync(scratch, { recursive: true });
  const folder = mkdtempSync(join(scratch, 'render-'));
  try {
    writeKustomizations(folder, recipe);
    return await kustomize(kubectl, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** With another namespace as users write it: an inner folder that renames, an outer one that keeps names consistent. */
function writeKustomizations(
  folder: string,
  { base, components, namespace, prefix }: Exclude<Recipe, { folder: string }>,
): void {
  const inner = join(folder, 'inner');
  mkdirSync(inner);
  const renamed = {
    ...(namespace === undefined ? {} : { namespace }),
    ...(prefix === undefined ? {} : { namePrefix: prefix }),
  };
  writeKustomization(inner, { ...renamed, resources: [base], components });
  writeKustomization(folder, { resources: [inner], components: namespace === undefined ? [] : ['names'] });
}

interface Kustomization {
  readonly namespace?: string;
  readonly namePrefix?: string;
  /** Folders below config, or absolute ones. */
  readonly resources: readonly string[];
  readonly components: readonly string[];
}

function writeKustomization(folder: string, { resources, components, ...more }: Kustomization): void {
  const at = (path: string): string => relative(folder, resolve(root, 'config', path));
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    ...more,
    resources: resources.map(at),
    components: components.map((name) => at(`components/${name}`)),
  };
  writeFileSync(join(folder, 'kustomization.yaml'), stringify(kustomization));
}

async function kustomize(kubectl: string, folder: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand(kubectl, ['kustomize', folder]);
  if (code === 0) return stdout;
  throw new CodedError('TEST_RENDER', `kustomize ${folder}: ${stderr.trim()}`);
}

export function nameOf({ kind, metadata: { name, namespace } }: Manifest): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}

/** One line for each value, so that two renders can be compared line by line. CRDs are there by name only. */
export function linesOf(manifests: readonly Manifest[]): readonly string[] {
  return manifests
    .flatMap((manifest) => {
      const name = nameOf(manifest);
      if (manifest.kind === 'CustomResourceDefinition')
        return [`${name} metadata ${JSON.stringify(manifest.metadata)}`];
      return valuesOf(manifest, '').map(([path, value]) => `${name} ${path} = ${JSON.stringify(value)}`);
    })
    .sort();
}

function valuesOf(value: JsonValue, path: string): readonly (readonly [string, JsonValue])[] {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return [[path, value]];
  const inside = Array.isArray(value) ? value.entries() : Object.entries(value);
  return [...inside].flatMap(([key, member]) => valuesOf(member ?? null, path === '' ? String(key) : `${path}.${key}`));
}

/** What `other` has (+) and lacks (-), each line one value. */
export function difference(of: readonly string[], other: readonly string[]): readonly string[] {
  const [before, after] = [new Set(of), new Set(other)];
  return [
    ...of.filter((line) => !after.has(line)).map((line) => `- ${line}`),
    ...other.filter((line) => !before.has(line)).map((line) => `+ ${line}`),
  ];
}

/** The images of its pods. */
export function imagesOf(manifest: Manifest): readonly string[] {
  return valuesOf(manifest, '').flatMap(([path, value]) =>
    /\.containers\.\d+\.image$/.test(path) && typeof value === 'string' ? [value] : [],
  );
}
