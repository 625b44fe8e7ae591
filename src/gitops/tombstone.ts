// How a manifest says that its object is archived: the tool must neither create it again nor count it as missing.
import { GROUP, VERSION } from '../api/names.ts';

/** Argo CD leaves the manifest out of sync, status and health; as the only value of the annotation. */
const ARGOCD_HOOK = 'argocd.argoproj.io/hook';
const ARGOCD_SKIP = 'Skip';
/** Flux leaves the manifest alone, whether or not the object exists. */
export const FLUX_SSA = 'kustomize.toolkit.fluxcd.io/ssa';
const FLUX_IGNORE = 'Ignore';
const FLUX_DEFAULT = 'Override';
/** Makes Flux reconcile at once when the ConfigMap changes. */
const FLUX_WATCH_LABEL = 'reconcile.fluxcd.io/watch';

/** Which tools the marks are for. */
export type Tool = 'argocd' | 'flux';

export interface ObjectName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export function tombstoneAnnotations(tools: readonly Tool[]): Readonly<Record<string, string>> {
  return {
    ...(tools.includes('argocd') ? { [ARGOCD_HOOK]: ARGOCD_SKIP } : {}),
    ...(tools.includes('flux') ? { [FLUX_SSA]: FLUX_IGNORE } : {}),
  };
}

/**
 * Name of the object's variable in Flux's post-build substitution, which allows letters, digits and underscores. Names of
 * objects have no underscore, so the encoding is one to one.
 */
export function tombstoneVariable({ kind, namespace, name }: ObjectName): string {
  const parts = [kind.toLowerCase(), namespace, name].map((part) => part.replaceAll('-', '_h').replaceAll('.', '_d'));
  return `tombstone_${parts.join('_s')}`;
}

/** Annotation of a manifest whose tombstone, if there is one, comes from the ConfigMap. */
export function placeholder(object: ObjectName): string {
  return `\${${tombstoneVariable(object)}:=${FLUX_DEFAULT}}`;
}

/** The ConfigMap for `postBuild.substituteFrom`. */
export function tombstoneConfigMap(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  objects: readonly ObjectName[],
): object {
  const variables = objects.map(tombstoneVariable).sort();
  const data: Readonly<Record<string, string>> = Object.fromEntries(variables.map((name) => [name, FLUX_IGNORE]));
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { [FLUX_WATCH_LABEL]: 'Enabled' } },
    data,
  };
}

/** A kustomize component that marks the objects. */
export function tombstoneComponent(objects: readonly ObjectName[], tools: readonly Tool[]): object {
  const annotations = tombstoneAnnotations(tools);
  const patches = objects.map(({ kind, namespace, name }) => ({
    target: { group: GROUP, version: VERSION, kind, name, namespace },
    patch: JSON.stringify({ apiVersion: `${GROUP}/${VERSION}`, kind, metadata: { name, namespace, annotations } }),
  }));
  return { apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component', patches };
}

/**
 * One patch of kustomize that marks several objects of a kind, which are selected by a regular expression. Not by their
 * namespace: a manifest may get it only after patches are applied.
 */
export function tombstonePatch(kind: string, names: readonly string[], tools: readonly Tool[]): object {
  const metadata = { name: 'any', annotations: tombstoneAnnotations(tools) };
  const name = names.map((each) => each.replaceAll('.', '[.]')).join('|');
  return {
    target: { group: GROUP, version: VERSION, kind, name },
    patch: JSON.stringify({ apiVersion: `${GROUP}/${VERSION}`, kind, metadata }),
  };
}
