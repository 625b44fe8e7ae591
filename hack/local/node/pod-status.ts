// The status of a pod from what its containers do; pure. Phases and conditions are those of
// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/ in the words of the kubelet.
import type { Ended, RunState } from './container-run.ts';
import {
  type Condition,
  type Container,
  type ContainerState,
  type ContainerStatus,
  isTerminal,
  type Phase,
  type Pod,
  type PodStatus,
  type RestartPolicy,
  type TerminatedState,
} from './pod.ts';

export type Role = 'init' | 'sidecar' | 'main';

/** What is known about one container. */
export interface ContainerView {
  readonly spec: Container;
  readonly role: Role;
  readonly id: string | undefined;
  readonly run: RunState | undefined;
  /** How the run before ended. */
  readonly previous: Ended | undefined;
  /** Why it does not run now although it should. */
  readonly waiting: { readonly reason: string; readonly message?: string } | undefined;
  readonly restartCount: number;
  readonly started: boolean;
  readonly ready: boolean;
}

export interface PodView {
  readonly pod: Pod;
  /** In the order of the manifest, init containers first. */
  readonly containers: readonly ContainerView[];
  readonly podIP: string | undefined;
  readonly hostIP: string;
  /** Volumes and address are there. */
  readonly prepared: boolean;
  /** Nothing will run again, because the pod is deleted or past its deadline, and nothing runs any more. */
  readonly over: boolean;
  /** Why the node ended it. */
  readonly failure: { readonly reason: string; readonly message: string } | undefined;
  readonly startTime: string;
  readonly now: Date;
}

export function statusOf(view: PodView): PodStatus {
  const { pod, podIP, hostIP } = view;
  const phase = phaseOf(view);
  const ip = podIP ?? pod.status?.podIP;
  const inits = view.containers.filter(({ role }) => role !== 'main');
  const mains = view.containers.filter(({ role }) => role === 'main');
  return {
    ...pod.status,
    phase,
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
    ...(view.failure !== undefined && isTerminal(phase) ? view.failure : {}),
    startTime: view.startTime,
    hostIP,
    hostIPs: [{ ip: hostIP }],
    ...(ip === undefined ? {} : { podIP: ip, podIPs: [{ ip }] }),
    conditions: conditionsOf(view, phase),
    ...(inits.length === 0 ? {} : { initContainerStatuses: inits.map((each) => containerStatus(each, view)) }),
    containerStatuses: mains.map((each) => containerStatus(each, view)),
  };
}

/** An init container that has done its work, or a sidecar that has started. */
export function isInitialized({ role, run, started }: ContainerView): boolean {
  if (role === 'sidecar') return started || run?.kind === 'ended';
  return run?.kind === 'ended' && run.exitCode === 0;
}

export function phaseOf(view: PodView): Phase {
  const { pod, containers, over } = view;
  const former = pod.status?.phase;
  if (former !== undefined && isTerminal(former)) return former;
  if (view.failure !== undefined && over) return 'Failed';
  const mains = containers.filter(({ role }) => role === 'main');
  if (mains.every(({ run }) => run === undefined)) return over || initFailed(view) ? 'Failed' : 'Pending';
  if (mains.some(({ run }) => run === undefined)) return over ? 'Failed' : 'Pending';
  if (containers.some(({ role, run }) => role !== 'init' && run?.kind === 'running')) return 'Running';
  return endedPhase(mains, pod.spec.restartPolicy, over);
}

function initFailed({ pod, containers }: PodView): boolean {
  if (pod.spec.restartPolicy !== 'Never') return false;
  return containers.some(({ role, run }) => role === 'init' && run?.kind === 'ended' && run.exitCode !== 0);
}

/** Of a pod whose containers have all run and run no more. */
function endedPhase(mains: readonly ContainerView[], restartPolicy: RestartPolicy, over: boolean): Phase {
  if (restartPolicy === 'Always' && !over) return 'Running';
  if (mains.every(({ run }) => run?.kind === 'ended' && run.exitCode === 0)) return 'Succeeded';
  return restartPolicy === 'Never' || over ? 'Failed' : 'Running';
}

type Verdict = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

function conditionsOf(view: PodView, phase: Phase): readonly Condition[] {
  const { pod, containers } = view;
  const alive = view.prepared && !isTerminal(phase) && !view.over;
  const verdicts: readonly Verdict[] = [
    { type: 'PodReadyToStartContainers', status: alive ? 'True' : 'False' },
    initializedVerdict(containers, phase),
    readyVerdict('ContainersReady', containers, phase),
    gatedVerdict(pod, readyVerdict('Ready', containers, phase)),
  ];
  const former = pod.status?.conditions ?? [];
  const ours = new Set(verdicts.map(({ type }) => type));
  const others = former.filter(({ type }) => !ours.has(type));
  const scheduled = others.some(({ type }) => type === 'PodScheduled');
  const all = scheduled ? verdicts : [...verdicts, { type: 'PodScheduled', status: 'True' } as const];
  return [...all.map((verdict) => dated(verdict, former, view)), ...others];
}

/** The time is that of the last change of the verdict. */
function dated(verdict: Verdict, former: readonly Condition[], { pod, now }: PodView): Condition {
  const before = former.find(({ type }) => type === verdict.type);
  const same = before?.status === verdict.status && before.lastTransitionTime !== undefined;
  return {
    ...verdict,
    lastProbeTime: null,
    lastTransitionTime: same ? before.lastTransitionTime : seconds(now),
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
  };
}

function initializedVerdict(containers: readonly ContainerView[], phase: Phase): Verdict {
  const type = 'Initialized';
  if (phase === 'Succeeded') return { type, status: 'True', reason: 'PodCompleted' };
  const missing = containers.filter((each) => each.role !== 'main' && !isInitialized(each));
  const begun = containers.some(({ role, run }) => role === 'main' && run !== undefined);
  if (missing.length === 0 || begun) return { type, status: 'True' };
  const message = `containers with incomplete status: [${namesOf(missing)}]`;
  return { type, status: 'False', reason: 'ContainersNotInitialized', message };
}

function readyVerdict(type: string, containers: readonly ContainerView[], phase: Phase): Verdict {
  if (phase === 'Succeeded') return { type, status: 'False', reason: 'PodCompleted' };
  if (phase === 'Failed') return { type, status: 'False', reason: 'PodFailed' };
  const unready = containers.filter(({ role, ready }) => role !== 'init' && !ready);
  if (unready.length === 0) return { type, status: 'True' };
  const message = `containers with unready status: [${namesOf(unready)}]`;
  return { type, status: 'False', reason: 'ContainersNotReady', message };
}

/** Conditions of others on which readiness depends as well. */
function gatedVerdict(pod: Pod, verdict: Verdict): Verdict {
  if (verdict.status !== 'True') return verdict;
  const isTrue = (type: string): boolean =>
    pod.status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
  const missing = (pod.spec.readinessGates ?? []).filter(({ conditionType }) => !isTrue(conditionType));
  if (missing.length === 0) return verdict;
  const names = missing.map(({ conditionType }) => `"${conditionType}"`).join(', ');
  const message = `corresponding condition of pod readiness gate ${names} is not True`;
  return { type: verdict.type, status: 'False', reason: 'ReadinessGatesNotReady', message };
}

function containerStatus(view: ContainerView, pod: PodView): ContainerStatus {
  const { spec, id, run, role } = view;
  const running = run?.kind === 'running';
  const done = role === 'init' && run?.kind === 'ended' && run.exitCode === 0;
  return {
    name: spec.name,
    image: spec.image,
    imageID: run === undefined ? '' : `process-node://${spec.image}`,
    ...(id === undefined ? {} : { containerID: id }),
    restartCount: view.restartCount,
    ready: done || (running && view.ready),
    started: running && view.started,
    ...statesOf(view, pod),
  };
}

function statesOf(view: ContainerView, pod: PodView): Pick<ContainerStatus, 'state' | 'lastState'> {
  const { run, previous, waiting, id } = view;
  const last = previous === undefined ? {} : { terminated: terminated(previous, undefined) };
  if (run?.kind === 'running') return { state: { running: { startedAt: run.startedAt } }, lastState: last };
  if (run?.kind === 'ended') {
    const end = terminated(run, id);
    if (waiting === undefined || pod.over) return { state: { terminated: end }, lastState: last };
    return { state: { waiting }, lastState: { terminated: end } };
  }
  return { state: pod.over ? { terminated: neverRan } : { waiting: waiting ?? idle(view, pod) }, lastState: {} };
}

const neverRan: TerminatedState = {
  exitCode: 137,
  reason: 'ContainerStatusUnknown',
  message: 'The container could not be located when the pod was terminated',
};

function idle({ role }: ContainerView, { containers }: PodView): NonNullable<ContainerState['waiting']> {
  const first = containers.every(({ run }) => run === undefined);
  const initialized = containers.every((each) => each.role === 'main' || isInitialized(each));
  const waitsForOthers = !initialized && (role === 'main' || !first);
  return { reason: waitsForOthers ? 'PodInitializing' : 'ContainerCreating' };
}

function terminated(end: Ended, containerID: string | undefined): TerminatedState {
  const { exitCode, reason, message, startedAt, finishedAt } = end;
  return {
    exitCode,
    reason,
    ...(message === '' ? {} : { message }),
    startedAt: seconds(new Date(startedAt)),
    finishedAt: seconds(new Date(finishedAt)),
    ...(containerID === undefined ? {} : { containerID }),
  };
}

function namesOf(containers: readonly ContainerView[]): string {
  return containers.map(({ spec }) => spec.name).join(' ');
}

/** As the API server writes times. */
export function seconds(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}
