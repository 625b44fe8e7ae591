// Who applies an object from Git and would apply it again if it were gone; pure. What only looks like it (a child that
// copied the labels of its parent) must not count, or it could never be evicted.
import type { KubernetesObject } from '../api/object.ts';

export type Owner =
  | { readonly tool: 'Argo CD'; readonly application: string }
  | { readonly tool: 'Flux'; readonly kind: 'Kustomization' | 'HelmRelease'; readonly name: string }
  | { readonly tool: 'Helm'; readonly release: string };

const TRACKING_ID = 'argocd.argoproj.io/tracking-id';
const ARGO_HOOK = 'argocd.argoproj.io/hook';
const FLUX_SSA = 'kustomize.toolkit.fluxcd.io/ssa';
const HELM_RELEASE = 'meta.helm.sh/release-name';

/** Undefined where nothing from Git would bring the object back. */
export function ownerOf(object: KubernetesObject): Owner | undefined {
  const application = trackedBy(object);
  if (application !== undefined) return { tool: 'Argo CD', application };
  // What a controller made, only the controller makes again; its labels are copies of its owner's.
  return hasController(object) ? undefined : (fluxOwner(object) ?? helmOwner(object));
}

/** Whether the manifest tells its owner to leave the object alone, so that it can go without coming back. */
export function isTombstoned(object: KubernetesObject, owner: Owner): boolean {
  const { annotations = {}, labels = {} } = object.metadata;
  switch (owner.tool) {
    case 'Argo CD':
      return annotations[ARGO_HOOK] === 'Skip';
    case 'Flux':
      if (owner.kind !== 'Kustomization') return false;
      return [annotations[FLUX_SSA], labels[FLUX_SSA]].some((value) => value?.toLowerCase() === 'ignore');
    case 'Helm':
      return false;
  }
}

/** For messages: `Argo CD application "team-a"`. */
export function describeOwner(owner: Owner): string {
  switch (owner.tool) {
    case 'Argo CD':
      return `Argo CD application "${owner.application}"`;
    case 'Flux':
      return `Flux ${owner.kind} "${owner.name}"`;
    case 'Helm':
      return `Helm release "${owner.release}"`;
  }
}

/** The application of a tracking id `app:group/Kind:namespace/name` that names this very object. */
function trackedBy({ apiVersion, kind, metadata }: KubernetesObject): string | undefined {
  const [application, type, identity, ...rest] = (metadata.annotations?.[TRACKING_ID] ?? '').split(':');
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
  if (application === undefined || application === '' || rest.length > 0) return undefined;
  const namesItself = type === `${group}/${kind}` && identity === `${metadata.namespace}/${metadata.name}`;
  return namesItself ? application : undefined;
}

function hasController({ metadata }: KubernetesObject): boolean {
  const references: unknown = metadata['ownerReferences'];
  return Array.isArray(references) && references.some((each: { controller?: unknown }) => each.controller === true);
}

function fluxOwner({ metadata }: KubernetesObject): Owner | undefined {
  for (const [kind, prefix] of [
    ['Kustomization', 'kustomize.toolkit.fluxcd.io'],
    ['HelmRelease', 'helm.toolkit.fluxcd.io'],
  ] as const) {
    const name = metadata.labels?.[`${prefix}/name`];
    if (name === undefined || name === '') continue;
    const namespace = metadata.labels?.[`${prefix}/namespace`];
    return { tool: 'Flux', kind, name: namespace === undefined ? name : `${namespace}/${name}` };
  }
  return undefined;
}

function helmOwner({ metadata }: KubernetesObject): Owner | undefined {
  const release = metadata.annotations?.[HELM_RELEASE];
  if (release === undefined || release === '') return undefined;
  const namespace = metadata.annotations?.['meta.helm.sh/release-namespace'];
  return { tool: 'Helm', release: namespace === undefined ? release : `${namespace}/${release}` };
}
