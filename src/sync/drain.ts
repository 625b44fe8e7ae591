// Uninstalling: admission off, then our finalizer off every object, then the marker that lets the bundle be removed. No
// row is touched and MySQL is not needed. Nothing is remembered between runs, so a drain that was broken off is simply
// run again.
import type { KindDefinition } from '../api/kind.ts';
import { BUNDLE_LABEL, BUNDLE_NAME } from '../api/names.ts';
import { hasFinalizer, type KubernetesObject } from '../api/object.ts';
import { isAborted } from '../base/abort.ts';
import { type Clock, sleep } from '../base/clock.ts';
import type { KubeClient, Resource } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import { setPhase } from './drain-marker.ts';
import { DrainStoppedError, DrainStuckError } from './errors.ts';
import { removeFinalizerPatch } from './finalizer.ts';
import { inParallel } from './in-parallel.ts';

export interface DrainProgress {
  /** One line for a person. */
  note(text: string): void;
  released(kind: KindDefinition, released: number, left: number): void;
}

export interface DrainOptions {
  readonly client: KubeClient;
  readonly kinds: readonly { readonly kind: KindDefinition; readonly resource: Resource }[];
  /** Namespace of the marker. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly progress: DrainProgress;
  /** Gives up after this; Infinity never does. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface DrainResult {
  /** Objects released, by kind; kinds whose CRD is not installed are left out. */
  readonly released: Readonly<Record<string, number>>;
  readonly admissionRemoved: readonly string[];
}

const PAGE = 500;
/** Nobody may have created or guarded anything for this long. */
const QUIET_MS = 2000;
const BETWEEN_PASSES_MS = 500;

const ADMISSION = 'admissionregistration.k8s.io';
/** The policy that protects the bundle stays: the marker lifts it when all is done. */
const GUARD_COMPONENT = 'guard';
const COMPONENT_LABEL = 'app.kubernetes.io/component';

const admissionPlurals = [
  'mutatingwebhookconfigurations',
  'validatingwebhookconfigurations',
  'mutatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'validatingadmissionpolicies',
] as const;

export async function drain(options: DrainOptions): Promise<DrainResult> {
  try {
    return await drainAll(options);
  } catch (error) {
    // A stop breaks off the call that is under way.
    throw isAborted(options.signal) ? new DrainStoppedError() : error;
  }
}

async function drainAll(options: DrainOptions): Promise<DrainResult> {
  const { client, namespace, progress, clock } = options;
  const deadline = clock.monotonicMs() + options.timeoutMs;
  await setPhase(client, namespace, 'draining');
  progress.note(`Marked as draining (ConfigMap ${namespace}/ingester-drain): no object is guarded any more.`);
  const admissionRemoved = await removeAdmission(options);
  const released: Record<string, number> = {};
  let quietSince: number | undefined;
  for (;;) {
    const guarded = await releaseAll(options, released);
    if (isAborted(options.signal)) throw new DrainStoppedError();
    if (guarded > 0) quietSince = undefined;
    else quietSince ??= clock.monotonicMs();
    if (quietSince !== undefined && clock.monotonicMs() - quietSince >= QUIET_MS) break;
    if (clock.monotonicMs() > deadline) throw new DrainStuckError(guarded);
    await sleep(clock, BETWEEN_PASSES_MS, options.signal);
  }
  await setPhase(client, namespace, 'drained');
  progress.note('No object is guarded. The bundle may be removed.');
  return { released, admissionRemoved };
}

/** Of the bundle only, found by its label. A kind of configuration that the server does not know has none. */
async function removeAdmission({ client, progress, signal }: DrainOptions): Promise<readonly string[]> {
  const removed: string[] = [];
  const labelSelector = `${BUNDLE_LABEL}=${BUNDLE_NAME},${COMPONENT_LABEL}!=${GUARD_COMPONENT}`;
  for (const plural of admissionPlurals) {
    const resource = { group: ADMISSION, version: 'v1', plural };
    const found = await orNothing(() => client.list(resource, { limit: PAGE, labelSelector }, signal));
    for (const { metadata } of found?.items ?? []) {
      await orNothing(() => client.delete({ resource, namespace: '', name: metadata.name }, {}));
      removed.push(`${plural}/${metadata.name}`);
      progress.note(`Deleted ${plural}/${metadata.name}.`);
    }
  }
  return removed;
}

async function orNothing<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** One pass over every object of every kind; how many were guarded when they were listed. */
async function releaseAll(options: DrainOptions, released: Record<string, number>): Promise<number> {
  let guarded = 0;
  for (const { kind, resource } of options.kinds) {
    if (isAborted(options.signal)) break;
    let left = 0;
    let count = 0;
    let installed = true;
    try {
      for await (const page of guardedPages(options, resource)) {
        left += page.length;
        count += await releasePage(options, resource, page);
        released[kind.kind] = (released[kind.kind] ?? 0) + count;
        count = 0;
      }
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
      installed = false;
    }
    guarded += left;
    if (installed) released[kind.kind] ??= 0;
    if (left > 0) options.progress.released(kind, released[kind.kind] ?? 0, left);
  }
  return guarded;
}

async function* guardedPages(
  { client, signal }: DrainOptions,
  resource: Resource,
): AsyncGenerator<readonly KubernetesObject[]> {
  let continueToken: string | undefined;
  do {
    const from = continueToken === undefined ? {} : { continueToken };
    const page = await client.list(resource, { limit: PAGE, metadataOnly: true, ...from }, signal);
    yield page.items.filter(hasFinalizer);
    ({ continueToken } = page);
  } while (continueToken !== undefined && !isAborted(signal));
}

/** An object that changed meanwhile is taken in the next pass; one that is gone is released. */
async function releasePage(
  { client, signal }: DrainOptions,
  resource: Resource,
  page: readonly KubernetesObject[],
): Promise<number> {
  const outcomes = await inParallel(page, async (object) => {
    if (isAborted(signal)) return false;
    const { namespace, name } = object.metadata;
    try {
      await client.patch({ resource, namespace, name }, removeFinalizerPatch(object));
      return true;
    } catch (error) {
      if (isKubeError(error, 'Conflict')) return false;
      if (isKubeError(error, 'NotFound')) return true;
      throw error;
    }
  });
  return outcomes.filter((done) => done).length;
}
