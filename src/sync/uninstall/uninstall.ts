// Uninstalling: admission off, then our finalizer off every object, then the marker that lets the bundle be removed. No
// row is touched and MySQL is not needed. Nothing is remembered between runs, so an uninstall that was broken off is simply
// run again.
import type { KindDefinition } from '../../api/kind.ts';
import { BUNDLE_LABEL, BUNDLE_NAME } from '../../api/names.ts';
import { hasFinalizer, type KubernetesObject } from '../../api/object.ts';
import { isAborted } from '../../base/abort.ts';
import { type Clock, sleep } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { KubeClient, Resource } from '../../kube/client.ts';
import { isKubeError, isNamespaceGone } from '../../kube/errors.ts';
import { ifFound } from '../../kube/found.ts';
import { pagesOf } from '../../kube/pages.ts';
import { apiServices, deployments } from '../../kube/resources.ts';
import { UninstallElsewhereError, UninstallStoppedError, UninstallStuckError } from '../errors.ts';
import { removeFinalizerFrom } from '../finalizer.ts';
import { inParallel } from '../in-parallel.ts';
import { setPhase, type UninstallPhase } from './uninstall-marker.ts';

export interface UninstallProgress {
  /** One line for the user. */
  note(text: string): void;
  finalizersRemoved(kind: KindDefinition, finalizersRemoved: number, left: number): void;
}

export interface UninstallOptions {
  readonly client: KubeClient;
  readonly kinds: readonly { readonly kind: KindDefinition; readonly resource: Resource }[];
  /** Namespace of the marker. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly progress: UninstallProgress;
  /** Gives up after this; Infinity never does. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface UninstallResult {
  /** Finalizers removed, by kind; kinds whose CRD is not installed are left out. */
  readonly finalizersRemoved: Readonly<Record<string, number>>;
  readonly admissionRemoved: readonly string[];
  /** The query API is served no more under the address of the API server. */
  readonly registrationsRemoved: readonly string[];
}

const PAGE = 500;
/** No object may have been created or guarded for this long. */
const QUIET_MS = 2000;
const BETWEEN_PASSES_MS = 500;

const ADMISSION = 'admissionregistration.k8s.io';
/** The policy that protects the bundle stays: the marker lifts it when all is done. */
const PROTECTION_COMPONENT = 'deletion-protection';
const COMPONENT_LABEL = 'app.kubernetes.io/component';

const resourcesOf = (group: string, plurals: readonly string[]): readonly Resource[] =>
  plurals.map((plural) => ({ group, version: 'v1', plural }));

const admission = resourcesOf(ADMISSION, [
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  'mutatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'validatingadmissionpolicies',
]);

/** Once its servers are removed, no namespace of the cluster could be deleted, that of the bundle included. */
const registrations = [apiServices];

export async function uninstall(options: UninstallOptions): Promise<UninstallResult> {
  try {
    return await uninstallAll(options);
  } catch (error) {
    // A stop breaks off the call that is under way.
    throw isAborted(options.signal) ? new UninstallStoppedError() : error;
  }
}

async function uninstallAll(options: UninstallOptions): Promise<UninstallResult> {
  const { namespace, progress, clock } = options;
  const deadline = clock.monotonicMs() + options.timeoutMs;
  if ((await mark(options, 'uninstalling')) === 'marked') {
    progress.note(`Marked as uninstalling (ConfigMap ${namespace}/ingester-uninstall): no object is guarded any more.`);
  } else {
    progress.note(`The namespace ${namespace} is deleted, and no reconciler is there to be told: going on without it.`);
  }
  const admissionRemoved = await removeOfBundle(options, admission);
  const registrationsRemoved = await removeOfBundle(options, registrations);
  const pass: Pass = { finalizersRemoved: {}, refusals: new Set() };
  let quietSince: number | undefined;
  for (;;) {
    const guarded = await removeFinalizers(options, pass);
    if (isAborted(options.signal)) throw new UninstallStoppedError();
    if (guarded > 0) quietSince = undefined;
    else quietSince ??= clock.monotonicMs();
    if (quietSince !== undefined && clock.monotonicMs() - quietSince >= QUIET_MS) break;
    if (clock.monotonicMs() > deadline) throw new UninstallStuckError(guarded, [...pass.refusals].at(-1));
    await sleep(clock, BETWEEN_PASSES_MS, options.signal);
  }
  await mark(options, 'removable');
  progress.note('No object is guarded. The bundle may be removed.');
  return { finalizersRemoved: pass.finalizersRemoved, admissionRemoved, registrationsRemoved };
}

/**
 * The marker is for a reconciler that runs, and for the deletion protection of its namespace. Where that namespace is deleted there is
 * neither, but it may also be a wrong name: a bundle elsewhere would guard again what is freed here.
 */
async function mark(options: UninstallOptions, phase: UninstallPhase): Promise<'marked' | 'namespace-gone'> {
  const { client, namespace, signal } = options;
  try {
    await setPhase(client, namespace, phase);
    return 'marked';
  } catch (error) {
    if (!isNamespaceGone(error)) throw error;
    const labelSelector = `${BUNDLE_LABEL}=${BUNDLE_NAME}`;
    const { items } = await client.list(deployments, { limit: PAGE, labelSelector, metadataOnly: true }, signal);
    const others = new Set(items.map(({ identity }) => identity.namespace ?? '').filter((each) => each !== namespace));
    if (others.size > 0) throw new UninstallElsewhereError(namespace, [...others]);
    return 'namespace-gone';
  }
}

/** Found by the label of the bundle. A resource that the server does not know has no objects. */
async function removeOfBundle(
  { client, progress, signal }: UninstallOptions,
  resources: readonly Resource[],
): Promise<readonly string[]> {
  const removed: string[] = [];
  const labelSelector = `${BUNDLE_LABEL}=${BUNDLE_NAME},${COMPONENT_LABEL}!=${PROTECTION_COMPONENT}`;
  for (const resource of resources) {
    const found = await ifFound(client.list(resource, { limit: PAGE, labelSelector }, signal));
    for (const { identity } of found?.items ?? []) {
      await ifFound(client.delete({ resource, namespace: '', name: identity.name }, {}));
      removed.push(`${resource.plural}/${identity.name}`);
      progress.note(`Deleted ${resource.plural}/${identity.name}.`);
    }
  }
  return removed;
}

/** One pass over every object of every kind; how many were guarded when they were listed. */
async function removeFinalizers(options: UninstallOptions, pass: Pass): Promise<number> {
  const { finalizersRemoved, refusals } = pass;
  let guarded = 0;
  for (const { kind, resource } of options.kinds) {
    if (isAborted(options.signal)) break;
    let left = 0;
    let count = 0;
    let installed = true;
    try {
      for await (const page of guardedPages(options, resource)) {
        left += page.length;
        count += await removeFromPage({ ...options, refusals }, resource, page);
        finalizersRemoved[kind.kind] = (finalizersRemoved[kind.kind] ?? 0) + count;
        count = 0;
      }
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
      installed = false;
    }
    guarded += left;
    if (installed) finalizersRemoved[kind.kind] ??= 0;
    if (left > 0) options.progress.finalizersRemoved(kind, finalizersRemoved[kind.kind] ?? 0, left);
  }
  return guarded;
}

async function* guardedPages(
  { client, signal }: UninstallOptions,
  resource: Resource,
): AsyncGenerator<readonly KubernetesObject[]> {
  for await (const page of pagesOf(client, resource, { metadataOnly: true, consistency: 'each-page' }, signal)) {
    yield page.items.map((item) => item.parse()).filter(hasFinalizer);
    if (isAborted(signal)) return;
  }
}

/** What the passes add up to. */
interface Pass {
  readonly finalizersRemoved: Record<string, number>;
  /** What the API server said where it refused; each once. */
  readonly refusals: Set<string>;
}

/** Which objects they were does not matter: a policy that refuses one refuses many. */
const TOLD_REFUSALS = 10;

/** An object that changed meanwhile or was refused is taken in the next pass; one that is gone counts as done. */
async function removeFromPage(
  { client, signal, progress, refusals }: UninstallOptions & Pick<Pass, 'refusals'>,
  resource: Resource,
  page: readonly KubernetesObject[],
): Promise<number> {
  const outcomes = await inParallel(page, async (object) => {
    if (isAborted(signal)) return false;
    try {
      await removeFinalizerFrom({ client, resource }, object);
      return true;
    } catch (error) {
      if (isKubeError(error, 'Conflict')) return false;
      if (isKubeError(error, 'NotFound')) return true;
      if (!isKubeError(error, 'Refused')) throw error;
      const refusal = messageOf(error);
      if (!refusals.has(refusal) && refusals.size < TOLD_REFUSALS) {
        refusals.add(refusal);
        progress.note(`Refused, trying again: ${refusal}`);
      }
      return false;
    }
  });
  return outcomes.filter((done) => done).length;
}
