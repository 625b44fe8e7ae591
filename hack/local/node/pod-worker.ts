// Brings one pod to what its manifest says, pass by pass: look at what there is, do the next thing, report. Everything
// that happens only asks for another pass, so a pass never waits for a container to end.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubernetesObject } from '../../../src/api/object.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { messageOf } from '../../../src/base/errors.ts';
import { canonicalJson } from '../../../src/base/json.ts';
import type { Logger } from '../../../src/base/logger.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { isKubeError, KubeError } from '../../../src/kube/errors.ts';
import type { EventRecorder } from '../../../src/runtime/event-recorder.ts';
import type { AddressPool } from './address-pool.ts';
import type { NodeConfiguration } from './configuration.ts';
import type { Unshare } from './launch.ts';
import type { ObjectReader } from './object-reader.ts';
import { asPod, isSidecar, isTerminal, type Pod, type PodStatus, type RestartPolicy } from './pod.ts';
import { PodContainer } from './pod-container.ts';
import { isInitialized, type PodView, phaseOf, seconds, statusOf } from './pod-status.ts';
import { VolumeError } from './volume-files.ts';
import { PodVolumes } from './volumes.ts';

export interface NodeContext {
  readonly configuration: NodeConfiguration;
  readonly client: KubeClient;
  readonly objects: ObjectReader;
  readonly addresses: AddressPool;
  readonly recorder: EventRecorder;
  readonly unshare: Unshare;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Restart = 'always' | 'on-failure' | 'never';

const restartRules: Readonly<Record<RestartPolicy, Restart>> = {
  Always: 'always',
  OnFailure: 'on-failure',
  Never: 'never',
};

export const PODS = { group: '', version: 'v1', plural: 'pods' } as const;
const retryMs = 1000;

/** Kept beside the pod's folder content, for the node that comes after this one. */
interface PodRecord {
  readonly octet: number;
  readonly startTime: string;
}

export class PodWorker {
  readonly folder: string;
  readonly containers: readonly PodContainer[];
  readonly #context: NodeContext;
  readonly #record: PodRecord;
  readonly #volumes: PodVolumes;
  #pod: Pod;
  #prepared = false;
  #refreshAtMs = 0;
  #failure: PodView['failure'];
  #written = '';
  #passing = false;
  #again = false;
  #removed = false;
  #left = false;
  #deleted = false;
  #cancelTimer: () => void = () => undefined;
  readonly #gone: () => void;

  /** `gone` is called once nothing of the pod is left on this node. */
  constructor(pod: Pod, context: NodeContext, gone: () => void) {
    this.#pod = pod;
    this.#context = context;
    this.#gone = gone;
    const { configuration, objects, clock, addresses } = context;
    this.folder = join(configuration.stateDirectory, 'pods', pod.metadata.uid);
    this.#record = this.#readRecord();
    const own = { podIP: addresses.addressOf(this.#record.octet), hostIP: addresses.hostIP };
    const capacity = { ...configuration.capacity };
    const { timings } = configuration;
    this.#volumes = new PodVolumes({ folder: this.folder, objects, clock, timings, capacity, addresses: own });
    const { namespace } = pod.metadata;
    const host = {
      pod: () => this.#pod,
      folder: this.folder,
      configuration,
      addresses: own,
      loopback: addresses.loopbackOf(this.#record.octet),
      texts: {
        secret: (name: string) => objects.texts('secret', namespace, name),
        configMap: (name: string) => objects.texts('configMap', namespace, name),
      },
      pathOf: this.#volumes.pathOf.bind(this.#volumes),
      unshare: context.unshare,
      clock,
      event: this.#event.bind(this),
      wake: () => this.wake(),
    };
    this.containers = [
      ...(pod.spec.initContainers ?? []).map(
        (spec) => new PodContainer(spec, isSidecar(spec) ? 'sidecar' : 'init', host),
      ),
      ...pod.spec.containers.map((spec) => new PodContainer(spec, 'main', host)),
    ];
  }

  get pod(): Pod {
    return this.#pod;
  }

  update(pod: Pod): void {
    this.#pod = pod;
    this.wake();
  }

  /** The API server has no such pod any more, so no client waits for it. */
  remove(): void {
    this.#removed = true;
    this.wake();
  }

  /** Stops looking after the pod; its containers go on. */
  leave(): void {
    this.#left = true;
    this.#cancelTimer();
    for (const container of this.containers) container.leave();
  }

  wake(): void {
    if (this.#passing) this.#again = true;
    else void this.#passes();
  }

  async #passes(): Promise<void> {
    this.#passing = true;
    do {
      this.#again = false;
      this.#cancelTimer();
      await this.#passOrRetry();
    } while (this.#wanted());
    this.#passing = false;
  }

  async #passOrRetry(): Promise<void> {
    if (this.#left) return;
    let nextMs: number | undefined;
    try {
      nextMs = await this.#pass();
    } catch (error) {
      nextMs = retryMs;
      if (isKubeError(error, 'Conflict')) await this.#readAgain();
      else this.#context.logger.warn({ pod: this.#key(), err: error }, 'A pass over the pod failed');
    }
    if (nextMs !== undefined) this.#wakeAfter(nextMs);
  }

  #wanted(): boolean {
    return this.#again && !this.#left;
  }

  #wakeAfter(ms: number): void {
    if (this.#left) return;
    this.#cancelTimer = this.#context.clock.schedule(ms, () => this.wake());
  }

  /** Milliseconds until the next pass is wanted; undefined: when something happens. */
  async #pass(): Promise<number | undefined> {
    if (this.#removed) return this.#clear();
    const graceMs = this.#mustEnd();
    if (graceMs === undefined && !isTerminal(this.#pod.status?.phase)) await this.#advance();
    else this.#stopAll(graceMs ?? 0);
    const view = this.#view(graceMs !== undefined);
    await this.#report(view);
    const resting = this.containers.every(({ running }) => !running);
    if (resting && isTerminal(phaseOf(view)))
      this.#context.addresses.release(this.#record.octet, this.#pod.metadata.uid);
    if (this.#pod.metadata.deletionTimestamp !== undefined && resting) await this.#finishDeletion();
    return this.#attentionMs();
  }

  /** Grace in milliseconds where everything has to end; undefined where the pod goes on. */
  #mustEnd(): number | undefined {
    const { deletionTimestamp, deletionGracePeriodSeconds: grace } = this.#pod.metadata;
    if (deletionTimestamp !== undefined) return grace === undefined ? this.#graceMs() : grace * 1000;
    if (this.#failure === undefined && this.#deadlineMs() <= 0 && !isTerminal(this.#pod.status?.phase)) {
      const message = 'Pod was active on the node longer than the specified deadline';
      this.#failure = { reason: 'DeadlineExceeded', message };
      this.#event('Normal', 'DeadlineExceeded', message);
    }
    return this.#failure === undefined ? undefined : this.#graceMs();
  }

  #deadlineMs(): number {
    const { activeDeadlineSeconds } = this.#pod.spec;
    if (activeDeadlineSeconds === undefined) return Number.POSITIVE_INFINITY;
    const start = new Date(this.#record.startTime).getTime();
    return start + activeDeadlineSeconds * 1000 - this.#context.clock.now().getTime();
  }

  /** Sidecars end after everything that may need them, the last one first. */
  #stopAll(graceMs: number): void {
    const others = this.containers.filter(({ role }) => role !== 'sidecar');
    for (const container of others) container.stop(graceMs);
    if (others.some(({ running }) => running)) return;
    this.#stopSidecars(graceMs);
  }

  #stopSidecars(graceMs: number): void {
    this.containers
      .filter(({ role, running }) => role === 'sidecar' && running)
      .at(-1)
      ?.stop(graceMs);
  }

  async #advance(): Promise<void> {
    if (!(await this.#prepare())) return;
    const restart = restartRules[this.#pod.spec.restartPolicy];
    const mains = this.containers.filter(({ role }) => role === 'main');
    if (!(await this.#advanceBefore(mains, restart))) return;
    for (const container of mains) await container.ensureRunning(restart);
    if (mains.every((each) => isFinished(each, restart))) this.#stopSidecars(this.#graceMs());
  }

  /** Init containers one after the other, and the sidecars among them; false while the others have to wait. */
  async #advanceBefore(mains: readonly PodContainer[], restart: Restart): Promise<boolean> {
    const begun = mains.some(({ run }) => run !== undefined);
    const finished = begun && mains.every((each) => isFinished(each, restart));
    for (const container of this.containers) {
      if (container.role === 'sidecar') {
        if (!finished) await container.ensureRunning('always');
        if (!container.started && !begun) return false;
      } else if (container.role === 'init' && !begun && !isInitialized(container.view())) {
        await container.ensureRunning(restart === 'never' ? 'never' : 'on-failure');
        return false;
      }
    }
    return true;
  }

  #graceMs(): number {
    return (this.#pod.spec.terminationGracePeriodSeconds ?? 30) * 1000;
  }

  /** False while a volume cannot be had. Content that can no longer be had stays as it is. */
  async #prepare(): Promise<boolean> {
    const { clock, configuration } = this.#context;
    if (clock.monotonicMs() < this.#refreshAtMs) return this.#prepared;
    try {
      await this.#volumes.refresh(this.#pod);
      this.#prepared = true;
      this.#refreshAtMs = clock.monotonicMs() + configuration.timings.refreshMs;
    } catch (error) {
      if (!(error instanceof VolumeError || error instanceof KubeError)) throw error;
      this.#refreshAtMs = clock.monotonicMs() + retryMs;
      this.#event('Warning', 'FailedMount', `MountVolume.SetUp failed: ${messageOf(error)}`);
    }
    return this.#prepared;
  }

  #view(ending: boolean): PodView {
    const over = ending && this.containers.every(({ running }) => !running);
    return {
      pod: this.#pod,
      containers: this.containers.map((container) => container.view()),
      podIP: this.#prepared ? this.#context.addresses.addressOf(this.#record.octet) : undefined,
      hostIP: this.#context.addresses.hostIP,
      prepared: this.#prepared,
      over,
      failure: this.#failure,
      startTime: this.#record.startTime,
      now: this.#context.clock.now(),
    };
  }

  async #report(view: PodView): Promise<void> {
    const status = statusOf(view);
    const text = canonicalJson(status);
    if (text === this.#written || text === canonicalJson(this.#pod.status)) return;
    this.#pod = asPod(await this.#write(status));
    this.#written = canonicalJson(this.#pod.status);
  }

  #write(status: PodStatus): Promise<KubernetesObject> {
    const { namespace, name, resourceVersion, uid } = this.#pod.metadata;
    // With the version, so that conditions which others have written meanwhile are not lost.
    const patch = { metadata: { resourceVersion, uid }, status };
    return this.#context.client.mergePatch({ resource: PODS, namespace, name }, patch, { subresource: 'status' });
  }

  async #readAgain(): Promise<void> {
    const { namespace, name, uid } = this.#pod.metadata;
    try {
      const pod = asPod(await this.#context.client.get({ resource: PODS, namespace, name }));
      if (pod.metadata.uid === uid) this.#pod = pod;
      else this.#removed = true;
    } catch (error) {
      if (isKubeError(error, 'NotFound')) this.#removed = true;
    }
    this.#again = true;
  }

  async #finishDeletion(): Promise<void> {
    if (this.#deleted) return;
    const { namespace, name, uid } = this.#pod.metadata;
    try {
      await this.#context.client.delete({ resource: PODS, namespace, name }, { uid, gracePeriodSeconds: 0 });
      this.#deleted = true;
    } catch (error) {
      if (!isKubeError(error, 'NotFound') && !isKubeError(error, 'Conflict')) throw error;
      this.#removed = true;
      this.#again = true;
    }
  }

  #clear(): number | undefined {
    for (const container of this.containers) container.destroy();
    if (this.containers.some(({ running }) => running)) return 50;
    this.#context.addresses.release(this.#record.octet, this.#pod.metadata.uid);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    this.leave();
    this.#gone();
    return undefined;
  }

  #attentionMs(): number | undefined {
    const ending = this.#deleted || isTerminal(this.#pod.status?.phase);
    const own = ending ? [] : [this.#refreshAtMs - this.#context.clock.monotonicMs(), this.#deadlineMs()];
    const all = [...own, ...this.containers.map(({ attentionMs }) => attentionMs)];
    const soonest = Math.min(...all.filter((ms) => ms !== undefined));
    return Number.isFinite(soonest) ? Math.max(soonest, 10) : undefined;
  }

  #readRecord(): PodRecord {
    const file = join(this.folder, 'pod.json');
    if (existsSync(file)) {
      const record = JSON.parse(readFileSync(file, 'utf8')) as PodRecord;
      // One that has ended gave its address back.
      if (!isTerminal(this.#pod.status?.phase)) this.#context.addresses.take(record.octet, this.#pod.metadata.uid);
      return record;
    }
    mkdirSync(this.folder, { recursive: true });
    const startTime = this.#pod.status?.startTime ?? seconds(this.#context.clock.now());
    const record = { octet: this.#context.addresses.next(this.#pod.metadata.uid), startTime };
    writeFileSync(file, JSON.stringify(record));
    return record;
  }

  #event(type: 'Normal' | 'Warning', reason: string, note: string): void {
    const object = { ...this.#pod, apiVersion: 'v1', kind: 'Pod' } as unknown as KubernetesObject;
    this.#context.recorder.record(object, { type, reason, action: reason, note });
  }

  #key(): string {
    return `${this.#pod.metadata.namespace}/${this.#pod.metadata.name}`;
  }
}

/** It has ended and will not be started again. */
function isFinished({ run }: PodContainer, restart: Restart): boolean {
  if (run?.kind !== 'ended' || restart === 'always') return false;
  return restart === 'never' || run.exitCode === 0;
}
