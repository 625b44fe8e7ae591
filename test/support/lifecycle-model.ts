// A small world for the lifecycle's plan: a cluster, a database and users, each of whose moves is one event. It keeps the
// rules of the real ones (a Job's pod ends on its own, deletions take time, a migration changes the schema before it
// ends) and nothing else.
import assert from 'node:assert/strict';
import type { ComponentName, IngesterSpec } from '../../src/api/ingester/spec.ts';
import { componentNames } from '../../src/api/ingester/spec.ts';
import type { IngesterStatus, StepName } from '../../src/api/ingester/status.ts';
import { APPROVE_UPGRADE_ANNOTATION } from '../../src/api/names.ts';
import type { DesiredState } from '../../src/lifecycle/plan/desired-state.ts';
import type { ObservedComponent, ObservedJob, ObservedState } from '../../src/lifecycle/plan/observed.ts';
import { type Plan, plan } from '../../src/lifecycle/plan/plan.ts';

export interface SimJob {
  readonly step: StepName;
  readonly run: string;
  readonly state: 'active' | 'succeeded' | 'failed';
  readonly deleting: boolean;
  /** Of the version that it was created for. */
  readonly version: string;
  /** Of the restore that it is for. */
  readonly nonce?: string | undefined;
}

export interface SimComponent {
  readonly version: string;
  readonly phase: 'starting' | 'ready' | 'ending';
}

export interface Sim {
  readonly now: number;
  readonly generation: number;
  readonly spec: IngesterSpec;
  readonly annotations: Readonly<Record<string, string>>;
  readonly status: IngesterStatus;
  readonly components: Readonly<Partial<Record<ComponentName, SimComponent>>>;
  readonly service: ObservedState['service'];
  readonly page: 'absent' | 'starting' | 'ready';
  readonly jobs: readonly SimJob[];
  readonly gateClosed: boolean;
  /** Version that the schema suits; `half` while a migration is at it. */
  readonly schema: string;
  /** Moves of users and failures that are left. */
  readonly edits: number;
  readonly failures: number;
  readonly snapshots: number;
  /** Whether users suspend and resume, too. */
  readonly suspends: boolean;
  /** Versions that users may ask for. */
  readonly versions: readonly string[];
  /** Nonces with which users may ask for a restore. */
  readonly asks: readonly string[];
  /** Nonces of the restores that changed the database. */
  readonly restored: readonly string[];
}

export const start: Sim = {
  now: Date.parse('2030-01-01T00:00:00Z'),
  generation: 1,
  spec: specOf('1.0.0'),
  annotations: {},
  status: {},
  components: {},
  service: 'absent',
  page: 'absent',
  jobs: [],
  gateClosed: false,
  schema: 'none',
  edits: 1,
  failures: 1,
  snapshots: 0,
  suspends: true,
  versions: ['1.0.0', '2.0.0', '3.0.0'],
  asks: [],
  restored: [],
};

export function specOf(version: string, more: Partial<IngesterSpec> = {}): IngesterSpec {
  return {
    version,
    database: { credentialsSecret: 'mysql' },
    components: { query: { certificateSecret: 'tls' } },
    lifecycle: { maintenancePage: {}, init: { disabled: true }, migrate: { maxAttempts: 1 } },
    ...more,
  };
}

export function observedStateOf(sim: Sim): ObservedState {
  const components = Object.fromEntries(
    componentNames.map((name) => [name, observeComponent(sim.components[name])]),
  ) as ObservedState['components'];
  return {
    components,
    jobs: sim.jobs.map(observeJob),
    maintenance: { exists: sim.page !== 'absent', ready: sim.page === 'ready' },
    service: sim.service,
    foreign: [],
  };
}

function observeComponent(component: SimComponent | undefined): ObservedComponent {
  const count = component?.phase === 'ready' ? 1 : 0;
  return {
    exists: component !== undefined,
    deleting: component?.phase === 'ending',
    pods: component === undefined ? 0 : 1,
    desired: component === undefined ? 0 : 1,
    ready: count,
    updated: count,
    available: count,
    generationObserved: true,
    ...(component === undefined ? {} : { applied: component.version }),
  };
}

function observeJob({ step, run, state, deleting }: SimJob): ObservedJob {
  const message =
    step === 'migrate' && state === 'succeeded' ? '{"applied":["0002"],"adopted":[]}' : '{"snapshot":"s"}';
  return { step, run, state, deleting, pods: state === 'active' ? 1 : 0, ...(state === 'active' ? {} : { message }) };
}

export function planOf(sim: Sim): Plan {
  return plan({
    uid: 'u',
    generation: sim.generation,
    annotations: sim.annotations,
    spec: sim.spec,
    problems: [],
    suspended: sim.spec.suspend ?? false,
    status: sim.status,
    observed: observedStateOf(sim),
    now: new Date(sim.now),
    rendered: { component: (_, { version }) => version, pod: ({ spec }) => spec.version },
  });
}

type Act = (sim: Sim) => Sim;

/** The state after each write of a reconcile: a crash may come after any of them. */
export function reconcile(sim: Sim): readonly Sim[] {
  const made = planOf(sim);
  let current: Sim = { ...sim, status: JSON.parse(JSON.stringify(made.status)) as IngesterStatus };
  const states = [current];
  if (made.desired === undefined) return states;
  for (const act of actsOf(made.desired, sim)) {
    current = act(current);
    states.push(current);
  }
  return states;
}

function actsOf(desired: DesiredState, seen: Sim): readonly Act[] {
  const acts: Act[] = [];
  for (const { run } of seen.jobs.filter((job) => isToGo(job, desired))) {
    const marked = (job: SimJob): SimJob => (job.run === run ? { ...job, deleting: true } : job);
    acts.push((sim) => ({ ...sim, jobs: sim.jobs.map(marked) }));
  }
  for (const name of componentNames) acts.push((sim) => ({ ...sim, components: moved(sim, name, desired) }));
  if (desired.maintenance === 'apply')
    acts.push((sim) => ({ ...sim, page: sim.page === 'absent' ? 'starting' : sim.page }));
  acts.push((sim) => ({ ...sim, service: desired.service }));
  if (desired.maintenance === 'remove') acts.push((sim) => ({ ...sim, page: 'absent' }));
  acts.push(...startOf(desired, seen));
  const annotations = Object.entries(seen.annotations).filter(([key]) => !desired.removeAnnotations.includes(key));
  if (desired.removeAnnotations.length > 0)
    acts.push((sim) => ({ ...sim, annotations: Object.fromEntries(annotations) }));
  return acts;
}

function isToGo({ run, step, state }: SimJob, { job }: DesiredState): boolean {
  return run !== job?.run && (state === 'active' || step === job?.step);
}

function startOf({ job, spec }: DesiredState, seen: Sim): readonly Act[] {
  const free = !seen.jobs.some(({ state, deleting, step }) => state === 'active' || deleting || step === job?.step);
  if (job === undefined || !free) return [];
  return [
    (sim) => {
      const { step, run, known } = job;
      const nonce = step === 'restore' ? known?.restore?.nonce : undefined;
      const begun: SimJob = { step, run, state: 'active', deleting: false, version: spec.version, nonce };
      return { ...sim, jobs: [...sim.jobs, begun] };
    },
  ];
}

function moved(sim: Sim, name: ComponentName, { components, spec }: DesiredState): Sim['components'] {
  const known = sim.components[name];
  const { [name]: _, ...others } = sim.components;
  if (components === 'keep') return sim.components;
  if (components === 'remove' || spec.components?.[name] === undefined) {
    return known === undefined ? sim.components : { ...others, [name]: { ...known, phase: 'ending' } };
  }
  if (known?.phase === 'ending' || known?.version === spec.version) return sim.components;
  return { ...others, [name]: { version: spec.version, phase: 'starting' } };
}

export interface Event {
  readonly name: string;
  /** It comes by itself, sooner or later. */
  readonly fair: boolean;
  readonly to: readonly Sim[];
}

export function eventsOf(sim: Sim): readonly Event[] {
  return [...reconciles(sim), ...ofPods(sim), ...ofJobs(sim), ...ofTime(sim), ...ofPeople(sim)];
}

function reconciles(sim: Sim): readonly Event[] {
  const states = reconcile(sim);
  const whole = states.at(-1);
  return [
    { name: 'reconcile', fair: true, to: whole === undefined ? [] : [whole] },
    { name: 'reconcile, then a crash', fair: false, to: states.slice(0, -1) },
  ];
}

function ofPods(sim: Sim): readonly Event[] {
  const to: Sim[] = [];
  for (const name of componentNames) {
    const known = sim.components[name];
    const { [name]: _, ...others } = sim.components;
    if (known?.phase === 'starting')
      to.push({ ...sim, components: { ...others, [name]: { ...known, phase: 'ready' } } });
    if (known?.phase === 'ending') to.push({ ...sim, components: others });
  }
  if (sim.page === 'starting') to.push({ ...sim, page: 'ready' });
  return [{ name: 'pods', fair: true, to }];
}

function ofJobs(sim: Sim): readonly Event[] {
  const fair: Sim[] = [];
  const unfair: Sim[] = [];
  for (const job of sim.jobs) {
    const others = sim.jobs.filter((each) => each !== job);
    if (job.deleting) fair.push({ ...sim, jobs: others });
    if (job.state !== 'active') continue;
    fair.push(ended(sim, others, { ...job, state: 'succeeded' }));
    // A migration is at it before it ends, however it ends.
    if (job.step === 'migrate' && sim.schema !== 'half') unfair.push({ ...sim, schema: 'half' });
    if (sim.failures > 0)
      unfair.push({ ...sim, failures: sim.failures - 1, jobs: [...others, { ...job, state: 'failed' }] });
  }
  return [
    { name: 'jobs', fair: true, to: fair },
    { name: 'failing jobs', fair: false, to: unfair },
  ];
}

function ended(sim: Sim, others: readonly SimJob[], job: SimJob): Sim {
  const jobs = [...others, job];
  switch (job.step) {
    case 'migrate':
      return { ...sim, jobs, schema: job.version };
    case 'quiesce':
      return { ...sim, jobs, gateClosed: true };
    case 'release':
      return { ...sim, jobs, gateClosed: false };
    case 'restore':
      return { ...sim, jobs, schema: 'of the snapshot', restored: [...sim.restored, job.nonce ?? '-'] };
    case 'snapshot':
    case 'backup':
      return { ...sim, jobs, snapshots: sim.snapshots + 1 };
    case 'clone':
    case 'rotate':
    case 'init':
    case 'finish':
      return { ...sim, jobs };
  }
}

/** A minute lets waits end; an hour lets deadlines pass. */
function ofTime(sim: Sim): readonly Event[] {
  const later = (ms: number): Sim => ({ ...sim, now: sim.now + ms });
  return [
    { name: 'a minute', fair: true, to: [later(60_000)] },
    { name: 'an hour', fair: false, to: [later(3_600_000)] },
  ];
}

function ofPeople(sim: Sim): readonly Event[] {
  const to: Sim[] = [];
  const edit = (spec: IngesterSpec): Sim => ({ ...sim, spec, generation: sim.generation + 1, edits: sim.edits - 1 });
  if (sim.edits > 0) to.push(...editsOf(sim).map(edit));
  const token = sim.status.lifecycle?.upgrade?.token;
  const known = sim.annotations[APPROVE_UPGRADE_ANNOTATION];
  if (token !== undefined && token !== known) to.push({ ...sim, annotations: { [APPROVE_UPGRADE_ANNOTATION]: token } });
  return [{ name: 'users', fair: false, to }];
}

function editsOf({ spec, versions, asks, suspends }: Sim): readonly IngesterSpec[] {
  return [
    ...versions.filter((version) => version !== spec.version).map((version) => ({ ...spec, version })),
    ...asks.filter((nonce) => nonce !== spec.lifecycle?.restore?.nonce).map((nonce) => restoring(spec, nonce)),
    ...(suspends ? [{ ...spec, suspend: !(spec.suspend ?? false) }] : []),
  ];
}

export function restoring(spec: IngesterSpec, nonce: string): IngesterSpec {
  const { restore: _, ...lifecycle } = spec.lifecycle ?? {};
  if (nonce === '') return { ...spec, lifecycle };
  return { ...spec, lifecycle: { ...lifecycle, restore: { snapshot: 's', nonce, replaceDataOf: 'd' } } };
}

/** Nothing is left to come, unless a user does something. */
export function isAtRest({ status, spec, gateClosed, components }: Sim): boolean {
  if (spec.suspend === true) return true;
  const { pipeline } = status.lifecycle ?? {};
  if (pipeline === 'Failed') return true;
  const served = Object.values(components).every(({ phase }) => phase === 'ready');
  return pipeline === 'Settled' && served && !gateClosed && status.version === status.target?.spec.version;
}

/** A world in which the first version runs. */
export function settled(spec: IngesterSpec): Sim {
  let sim: Sim = { ...start, spec, edits: 0, failures: 0 };
  for (let moves = 0; moves < 200 && !isAtRest(sim); moves += 1) {
    const fair = eventsOf(sim).filter((event) => event.fair && event.to.length > 0);
    sim = (fair.find(({ name }) => name === (moves % 2 === 0 ? 'reconcile' : 'pods')) ?? fair[0])?.to[0] ?? sim;
    sim = eventsOf(sim).find(({ name }) => name === 'jobs')?.to[0] ?? sim;
  }
  assert.ok(isAtRest(sim), 'the model never gets to its start');
  return sim;
}
