// One container of a pod over all its runs: starting, restarting with growing waits, probing and stopping it.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../../src/base/errors.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { type ContainerHost, environmentFor, mountsFor, probeTargetOf } from './container-host.ts';
import { ContainerRun, type Ended, type RunState } from './container-run.ts';
import { ContainerConfigError } from './environment.ts';
import { commandLine, findImage, type LocalImage } from './image-table.ts';
import { findCommand, placeCommand, podRootOf } from './launch.ts';
import type { Container } from './pod.ts';
import type { ContainerView, Role } from './pod-status.ts';
import { type ProbeTarget, runHandler } from './probe.ts';
import { runProbes } from './prober.ts';
import { RestartBackoff } from './restart-backoff.ts';
import { expandVariables } from './variables.ts';

/** A container gets this long after its preStop hook, however long that took. */
const shortestGraceMs = 2000;
/** A run that this node did not start is looked at this often. */
const takenOverPollMs = 300;
const configRetryMs = 1000;
const keptRuns = 2;

export class PodContainer {
  readonly spec: Container;
  readonly role: Role;
  readonly #host: ContainerHost;
  readonly #folder: string;
  readonly #restarts: RestartBackoff;
  readonly #pulls: RestartBackoff;
  #run: ContainerRun | undefined;
  #previous: Ended | undefined;
  #takenOver = false;
  #waiting: ContainerView['waiting'];
  #retryAtMs = 0;
  #started = false;
  #ready = false;
  #probes: AbortController | undefined;
  #kill: { readonly atMs: number; readonly cancel: () => void } | undefined;

  constructor(spec: Container, role: Role, host: ContainerHost) {
    this.spec = spec;
    this.role = role;
    this.#host = host;
    this.#folder = join(host.folder, 'containers', spec.name);
    const { restartBackoffMs, longestBackoffMs } = host.configuration.timings;
    this.#restarts = new RestartBackoff(restartBackoffMs, longestBackoffMs);
    this.#pulls = new RestartBackoff(restartBackoffMs, longestBackoffMs);
    this.#takeOver();
  }

  get run(): RunState | undefined {
    return this.#run?.state();
  }

  get running(): boolean {
    return this.run?.kind === 'running';
  }

  get started(): boolean {
    return this.#started && this.running;
  }

  /** Files with the output, the last run first. */
  get logFiles(): readonly string[] {
    return this.#numbers()
      .toReversed()
      .map((number) => join(this.#folder, String(number), 'log'));
  }

  view(): ContainerView {
    const number = this.#run?.facts.number;
    return {
      spec: this.spec,
      role: this.role,
      id:
        number === undefined
          ? undefined
          : `process-node://${this.#host.pod().metadata.uid}/${this.spec.name}/${number}`,
      run: this.run,
      previous: this.#previous,
      waiting: this.#waiting,
      restartCount: number ?? 0,
      started: this.#started,
      ready: this.#ready,
    };
  }

  /** Milliseconds after which it wants to be looked at again; undefined for not before something happens. */
  get attentionMs(): number | undefined {
    if (this.running) return this.#takenOver ? takenOverPollMs : undefined;
    return this.#retryAtMs === 0 ? undefined : Math.max(0, this.#retryAtMs - this.#host.clock.monotonicMs());
  }

  /** Starts it unless it runs, or has ended and may not be started (again, or yet). */
  async ensureRunning(restart: 'always' | 'on-failure' | 'never'): Promise<void> {
    const run = this.run;
    if (run?.kind === 'running') return;
    this.#noteEnd();
    if (run?.kind === 'ended') {
      if (restart === 'never' || (restart === 'on-failure' && run.exitCode === 0)) {
        this.#waiting = undefined;
        this.#retryAtMs = 0;
        return;
      }
      if (this.#crashLoops(run)) return;
    }
    if (this.#retryAtMs > this.#host.clock.monotonicMs()) return;
    await this.#start(run);
  }

  /** Asks the process to end and kills it when the time is over. A sooner time than before counts. */
  stop(graceMs: number): void {
    this.#noteEnd();
    this.#retryAtMs = 0;
    if (!this.running) return;
    const { clock } = this.#host;
    const atMs = clock.monotonicMs() + graceMs;
    if (this.#kill !== undefined && this.#kill.atMs <= atMs) return;
    const first = this.#kill === undefined;
    this.#killAt(atMs);
    if (first && graceMs > 0) void this.#askToEnd(graceMs);
  }

  /** Ends whatever runs, at once. */
  destroy(): void {
    this.#probes?.abort();
    this.#kill?.cancel();
    this.#run?.signal('SIGKILL');
  }

  /** Stops watching without ending anything. */
  leave(): void {
    this.#probes?.abort();
    this.#kill?.cancel();
  }

  #takeOver(): void {
    const runs = this.#numbers().map((number) => ContainerRun.read(join(this.#folder, String(number))));
    this.#run = runs.at(-1);
    const before = runs.at(-2)?.state();
    this.#previous = before?.kind === 'ended' ? before : undefined;
    if (!this.running) return;
    this.#takenOver = true;
    this.#watch();
  }

  #numbers(): number[] {
    try {
      return readdirSync(this.#folder)
        .map(Number)
        .sort((left, right) => left - right);
    } catch {
      return [];
    }
  }

  #crashLoops(run: Ended): boolean {
    const { clock, pod } = this.#host;
    const remainingMs = this.#restarts.remainingMs(new Date(run.finishedAt).getTime(), clock.now().getTime());
    if (remainingMs === 0) return false;
    this.#retryAtMs = clock.monotonicMs() + remainingMs;
    if (this.#waiting?.reason === 'CrashLoopBackOff') return true;
    const { name, namespace, uid } = pod().metadata;
    const which = `restarting failed container=${this.spec.name} pod=${name}_${namespace}(${uid})`;
    const message = `back-off ${this.#restarts.delayMs / 1000}s ${which}`;
    this.#waiting = { reason: 'CrashLoopBackOff', message };
    this.#host.event('Warning', 'BackOff', `Back-off ${which}`);
    return true;
  }

  async #start(before: Ended | undefined): Promise<void> {
    const image = this.#pull();
    if (image === undefined) return;
    try {
      const env = await environmentFor(this.spec, image, this.#host);
      const number = this.#run === undefined ? 0 : this.#run.facts.number + 1;
      if (before !== undefined) {
        this.#previous = before;
        this.#restarts.restarted(this.#host.clock.now().getTime());
      }
      this.#waiting = undefined;
      this.#retryAtMs = 0;
      await this.#launch(number, image, env);
    } catch (error) {
      if (!(error instanceof ContainerConfigError || error instanceof KubeError)) throw error;
      this.#waiting = { reason: 'CreateContainerConfigError', message: messageOf(error) };
      this.#retryAtMs = this.#host.clock.monotonicMs() + configRetryMs;
      this.#host.event('Warning', 'Failed', `Error: ${messageOf(error)}`);
    }
  }

  /** What runs for the image; otherwise says so and waits as for an image that cannot be pulled. */
  #pull(): LocalImage | undefined {
    const { configuration, clock, event } = this.#host;
    const { image } = this.spec;
    const found = findImage(configuration.images, image);
    if (found !== undefined) {
      event('Normal', 'Pulled', `Container image "${image}" is in the image table of the process node`);
      return found;
    }
    const nowMs = clock.monotonicMs();
    if (this.#waiting?.reason === 'ErrImagePull') {
      const message = `Back-off pulling image "${image}"`;
      this.#waiting = { reason: 'ImagePullBackOff', message };
      this.#pulls.restarted(nowMs);
      this.#retryAtMs = nowMs + this.#pulls.delayMs;
      event('Normal', 'BackOff', message);
      return undefined;
    }
    const message = `the process node runs no images, and its table has no program for "${image}"`;
    this.#waiting = { reason: 'ErrImagePull', message };
    this.#retryAtMs = nowMs + configRetryMs;
    event('Warning', 'Failed', `Failed to pull image "${image}": ${message}`);
    event('Warning', 'ErrImagePull', `Error: ErrImagePull: ${message}`);
    return undefined;
  }

  async #launch(number: number, image: LocalImage, env: Map<string, string>): Promise<void> {
    const { event, unshare, clock } = this.#host;
    const expanded = commandLine(image, this.spec).map((text) => expandVariables(text, env));
    const [name = '', ...args] = expanded;
    const file = findCommand(name, env.get('PATH') ?? '', this.spec.workingDir);
    const facts = {
      number,
      image: this.spec.image,
      startedAt: clock.now().toISOString(),
      messageFrom: this.spec.terminationMessagePolicy ?? 'File',
    };
    const folder = join(this.#folder, String(number));
    this.#forget(number);
    if (file === undefined) {
      const startError = `exec: "${name}": executable file not found in $PATH`;
      this.#run = ContainerRun.create(folder, { ...facts, startError });
      event('Warning', 'Failed', `Error: failed to start container "${this.spec.name}": ${startError}`);
      return;
    }
    const run = ContainerRun.create(folder, facts);
    if (unshare === undefined) env.set('POD_ROOT', podRootOf(folder));
    const place = {
      folder,
      mounts: mountsFor(this.spec, { run, env }, this.#host),
      workingDir: this.spec.workingDir,
      unshare,
    };
    const command = placeCommand(place, [file, ...args]);
    this.#run = run;
    this.#takenOver = false;
    this.#kill = undefined;
    event('Normal', 'Created', `Container created: ${this.spec.name}`);
    await run.launch({ command, env: Object.fromEntries(env) }, () => this.#host.wake());
    event('Normal', 'Started', `Container started: ${this.spec.name}`);
    this.#watch();
  }

  /** Removes all runs but the last ones: their logs are what `kubectl logs --previous` shows. */
  #forget(next: number): void {
    for (const number of this.#numbers()) {
      if (number <= next - keptRuns) rmSync(join(this.#folder, String(number)), { recursive: true, force: true });
    }
  }

  /** Hooks and probes of the run, until it ends. */
  #watch(): void {
    this.#probes?.abort();
    const probes = new AbortController();
    this.#probes = probes;
    this.#started = false;
    this.#ready = false;
    void this.#observe(probes.signal);
  }

  async #observe(signal: AbortSignal): Promise<void> {
    const { event, wake, clock, configuration } = this.#host;
    const target = this.#target();
    const { postStart } = this.spec.lifecycle ?? {};
    if (postStart !== undefined && !this.#takenOver) {
      const problem = await runHandler(postStart, target, configuration.timings.longestBackoffMs);
      if (problem !== undefined) {
        event('Warning', 'FailedPostStartHook', `PostStartHook failed: ${problem}`);
        this.stop(this.#graceMs());
      }
    }
    const change = (apply: () => void): void => {
      if (signal.aborted) return;
      apply();
      wake();
    };
    const events = {
      started: () => change(() => (this.#started = true)),
      ready: (ready: boolean) => change(() => (this.#ready = ready)),
      failed: (probe: string, what: string) => event('Warning', 'Unhealthy', `${probe} probe failed: ${what}`),
      unhealthy: (probe: 'Startup' | 'Liveness') =>
        change(() => {
          const own = probe === 'Startup' ? this.spec.startupProbe : this.spec.livenessProbe;
          const what = `${probe.toLowerCase()} probe, will be restarted`;
          event('Normal', 'Killing', `Container ${this.spec.name} failed ${what}`);
          const { terminationGracePeriodSeconds: grace } = own ?? {};
          this.stop(grace === undefined ? this.#graceMs() : grace * 1000);
        }),
    };
    await runProbes(this.spec, { target, clock, events }, signal);
  }

  #graceMs(): number {
    return (this.#host.pod().spec.terminationGracePeriodSeconds ?? 30) * 1000;
  }

  #target(): ProbeTarget {
    return probeTargetOf(this.spec, () => this.#run?.main?.pid, this.#host);
  }

  async #askToEnd(graceMs: number): Promise<void> {
    const run = this.#run;
    const { preStop } = this.spec.lifecycle ?? {};
    this.#host.event('Normal', 'Killing', `Stopping container ${this.spec.name}`);
    if (preStop !== undefined) {
      const problem = await runHandler(preStop, this.#target(), graceMs);
      if (problem !== undefined) this.#host.event('Warning', 'FailedPreStopHook', `PreStopHook failed: ${problem}`);
      const { clock } = this.#host;
      const leftMs = (this.#kill?.atMs ?? 0) - clock.monotonicMs();
      if (leftMs < shortestGraceMs && this.running) this.#killAt(clock.monotonicMs() + shortestGraceMs);
    }
    run?.signal('SIGTERM');
  }

  #killAt(atMs: number): void {
    this.#kill?.cancel();
    const run = this.#run;
    const { clock } = this.#host;
    const cancel = clock.schedule(atMs - clock.monotonicMs(), () => run?.signal('SIGKILL'));
    this.#kill = { atMs, cancel };
  }

  /** What belonged to the run that has ended. */
  #noteEnd(): void {
    if (this.running) return;
    this.#probes?.abort();
    this.#kill?.cancel();
    this.#kill = undefined;
    this.#started = false;
    this.#ready = false;
  }
}
