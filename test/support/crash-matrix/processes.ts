// Processes as the program builds them, over the two ports they are given.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FINALIZER, LAST_APPLIED_ANNOTATION, UNINSTALL_MARKER } from '../../../src/api/names.ts';
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { allKinds } from '../../../src/kinds/kinds.ts';
import type { KubeClient, ObjectRef } from '../../../src/kube/client.ts';
import { configMaps } from '../../../src/kube/resources.ts';
import { asWatched } from '../../../src/kube/watched-object.ts';
import { encodeObject } from '../../../src/proto/encode.ts';
import type { ReconcileResult } from '../../../src/runtime/reconcile.ts';
import { StorageUnavailableError } from '../../../src/storage/errors.ts';
import type { MetadataStorage } from '../../../src/storage/metadata-storage.ts';
import { maskedValues } from '../../../src/storage/sensitive.ts';
import { RestoreConflictError } from '../../../src/sync/errors.ts';
import { FinalizerSweep } from '../../../src/sync/flows/finalizer-sweep.ts';
import type { OutagePolicy } from '../../../src/sync/flows/outage-policy.ts';
import { ObjectReconciler, type ReconcilerOptions } from '../../../src/sync/flows/reconciler.ts';
import { Spool } from '../../../src/sync/flows/spool.ts';
import { restore } from '../../../src/sync/restore.ts';
import { uninstall } from '../../../src/sync/uninstall/uninstall.ts';
import { type JumpingClock, jumpingClock } from '../jumping-clock.ts';
import type { FaultyPorts } from './faulty.ts';
import type { Process, Read, Stage } from './run.ts';
import { SECRET, tracesOf } from './traces.ts';

export interface Birth {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

/** As admission lets it through; the copy of the manifest has a secret that must go nowhere. */
export async function createObject(stage: Stage, birth: Birth = {}): Promise<KubernetesObject> {
  const { resource, namespace, name } = stage.ref;
  return stage.client.create(resource, namespace, {
    apiVersion: 'michelangelo.api/v2',
    kind: stage.kind.kind,
    metadata: {
      ...{ namespace, name, labels: { team: 'a' }, finalizers: birth.finalizers ?? [FINALIZER] },
      annotations: { [LAST_APPLIED_ANNOTATION]: `{"token":"${SECRET}"}`, ...birth.annotations },
    },
    spec: { entrypoint: 'first' },
  });
}

const clocks = new WeakMap<Stage, JumpingClock>();

/** What all processes of a stage take the time from. */
export function clockOf(stage: Stage): JumpingClock {
  const clock = clocks.get(stage) ?? jumpingClock();
  clocks.set(stage, clock);
  return clock;
}

/** The program's own reconciler over the faulty ports. */
export function reconcilerProcess(
  stage: Stage,
  ports: Pick<FaultyPorts, 'client' | 'storage'>,
  read: Read,
  more: Partial<ReconcilerOptions> = {},
): Process {
  const traces = tracesOf(stage);
  const reconciler = new ObjectReconciler({
    kind: stage.kind,
    resource: stage.ref.resource,
    getObject: async () => asWatched(await read()),
    client: ports.client,
    storage: ports.storage,
    encode: encodeObject,
    evictImmutableKinds: false,
    clock: clockOf(stage).clock,
    logger: traces.logger,
    recordEvent: (object, reason, note) => traces.events.push({ uid: object.metadata.uid, reason, note }),
    ...more,
  });
  return { work: () => reconciler.reconcile(`${stage.ref.namespace}/${stage.ref.name}`) };
}

const spools = mkdtempSync(join(tmpdir(), 'crash-matrix-'));
process.once('exit', () => rmSync(spools, { recursive: true, force: true }));
const spoolOf = new WeakMap<Stage, string>();

/** The reconciler while MySQL refuses final states, with a disk to keep them on, and the replay once the object is gone. */
export function spoolingProcess(stage: Stage, ports: FaultyPorts, read: Read): Process {
  const directory = spoolOf.get(stage) ?? mkdtempSync(join(spools, 'cell-'));
  spoolOf.set(stage, directory);
  const spool = new Spool({
    directory,
    kinds: allKinds,
    maxBytes: 10_000_000,
    sensitive: maskedValues,
    logger: tracesOf(stage).logger,
  });
  const outage: OutagePolicy = {
    isDue: () => true,
    keep: (unsaved) => ports.other('disk: append', () => spool.append(unsaved)),
  };
  const { client, storage } = ports;
  const reconciler = reconcilerProcess(stage, { client, storage: withoutFinish(storage) }, read, { outage });
  return {
    work: async () => {
      const result = await reconciler.work();
      if ((await read()) === undefined) await spool.replay(storage, encodeObject);
      return result;
    },
  };
}

/** The sweep that guards what slipped past admission, and then the reconciler. */
export function sweepingProcess(stage: Stage, ports: FaultyPorts, read: Read): Process {
  const reconciler = reconcilerProcess(stage, ports, read);
  return {
    work: async () => {
      const result = await sweep(stage, ports.client, read);
      return result.kind === 'done' ? reconciler.work() : result;
    },
  };
}

export function sweep(stage: Stage, client: KubeClient, read: Read): Promise<ReconcileResult> {
  const { resource, namespace, name } = stage.ref;
  const finalizerSweep = new FinalizerSweep({
    ...{
      kind: stage.kind,
      resource,
      client,
      getObject: async () => asWatched(await read()),
      clock: clockOf(stage).clock,
      logger: tracesOf(stage).logger,
    },
    mayAddFinalizer: () => 'yes',
    pace: () => Promise.resolve(),
    onAdded: () => undefined,
  });
  return finalizerSweep.reconcile(`${namespace}/${name}`, { signal: new AbortController().signal });
}

/** An operator who runs `ingester uninstall`, again if it was broken off, and the reconciler that is still there. */
export function uninstallingProcess(stage: Stage, ports: FaultyPorts, read: Read): Process {
  const reconciler = reconcilerProcess(stage, ports, read, { mayAddFinalizer: () => 'no' });
  return {
    work: async () => {
      await uninstall({
        client: narrowed(ports.client, stage.ref),
        kinds: [{ kind: stage.kind, resource: stage.ref.resource }],
        namespace: stage.ref.namespace,
        clock: leapingClock(),
        progress: { note: () => undefined, finalizersRemoved: () => undefined },
        timeoutMs: LEAP_MS * 50,
        signal: new AbortController().signal,
      });
      return reconciler.work();
    },
  };
}

/** The cluster as if this cell were alone in it: only its object is found, and it has a marker of its own. */
function narrowed(client: KubeClient, { resource, name }: ObjectRef): KubeClient {
  const own = (ref: ObjectRef): ObjectRef => ({ ...ref, name: `${ref.name}-${name}` });
  const list: KubeClient['list'] = (listed, options, signal) =>
    client.list(listed, listed === resource ? { ...options, fieldSelector: `metadata.name=${name}` } : options, signal);
  const mergePatch: KubeClient['mergePatch'] = (ref, patch) => client.mergePatch(own(ref), patch);
  const changed: Partial<KubeClient> = { list, mergePatch };
  return new Proxy(client, {
    get: (target, property): unknown => Reflect.get(property in changed ? changed : target, property),
  });
}

/** As the bundle installs it. */
export async function createMarker({ client, ref: { namespace, name } }: Stage): Promise<void> {
  const metadata = { namespace, name: `${UNINSTALL_MARKER}-${name}` };
  const marker = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { phase: 'active' } };
  await client.create(configMaps, namespace, marker);
}

const LEAP_MS = 2000;

/** A waiting process is done waiting at once, and has waited for long. */
function leapingClock(): Clock {
  let now = 0;
  return {
    now: () => new Date(),
    monotonicMs: () => now,
    schedule: (_delayMs, action) => {
      now += LEAP_MS;
      const soon = setImmediate(action);
      return () => clearImmediate(soon);
    },
  };
}

function withoutFinish(storage: MetadataStorage): MetadataStorage {
  const away = (): Promise<never> => Promise.reject(new StorageUnavailableError('away', undefined));
  return new Proxy(storage, {
    get: (target, property): unknown => (property === 'finish' ? away : Reflect.get(target, property, target)),
  });
}

const restored = new WeakSet<Stage>();

/** An operator who runs the command until it succeeds or says that the name is in use, and then the reconciler. */
export function restoringProcess(stage: Stage, ports: FaultyPorts, read: Read): Process {
  const { namespace, name, resource } = stage.ref;
  const { client, storage } = ports;
  const request = { kind: stage.kind, namespace, name, uid: undefined, dryRun: false };
  const reconciler = reconcilerProcess(stage, ports, read);
  return {
    work: async () => {
      if (!restored.has(stage)) {
        try {
          await restore(request, { client, storage, resource, sensitive: maskedValues });
        } catch (error) {
          if (!(error instanceof RestoreConflictError)) throw error;
        }
        restored.add(stage);
      }
      return reconciler.work();
    },
  };
}
