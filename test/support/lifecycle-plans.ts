// Plans for an installation that runs, with what is asked of it.
import type { IngesterSpec } from '../../src/api/ingester/spec.ts';
import type { StepName } from '../../src/api/ingester/status.ts';
import { type Plan, type PlanInput, plan } from '../../src/lifecycle/plan/plan.ts';
import { observedStateOf, type Sim, settled, specOf } from './lifecycle-model.ts';

export const running: Sim = settled(specOf('1.0.0'));

export function inputOf(sim: Sim, more: Partial<PlanInput> = {}): PlanInput {
  return {
    uid: 'u',
    generation: sim.generation,
    annotations: sim.annotations,
    spec: sim.spec,
    problems: [],
    suspended: false,
    status: sim.status,
    observed: observedStateOf(sim),
    now: new Date(sim.now),
    rendered: { component: (_, { version }) => version, pod: ({ spec }) => spec.version },
    ...more,
  };
}

export function asking(spec: Partial<IngesterSpec>, more: Partial<PlanInput> = {}): PlanInput {
  return inputOf({ ...running, spec: { ...running.spec, ...spec }, generation: 2 }, more);
}

/** Reconciles while nothing changes in the cluster. */
export function after(input: PlanInput, reconciles: number): Plan {
  let made = plan(input);
  for (let done = 1; done < reconciles; done += 1) made = plan({ ...input, status: made.status });
  return made;
}

export function reasonOf({ status }: Plan, type: string): string | undefined {
  return status.conditions?.find((condition) => condition.type === type)?.reason;
}

/** An upgrade of what runs, in which one step after the other succeeds, until this one fails for good. */
export function failing(
  step: StepName,
  spec: Partial<IngesterSpec>,
): { readonly input: PlanInput; readonly made: Plan } {
  const asked = asking(spec);
  let input = { ...asked, observed: observedStateOf({ ...running, components: {} }) };
  let made = plan(input);
  for (let reconciles = 0; reconciles < 30 && made.status.lifecycle?.pipeline !== 'Failed'; reconciles += 1) {
    const { job } = made.desired ?? {};
    const ended = {
      state: job?.step === step ? 'failed' : 'succeeded',
      exitCode: 2,
      deleting: false,
      pods: 0,
    } as const;
    const jobs = job === undefined ? [] : [{ step: job.step, run: job.run, ...ended }];
    input = { ...input, status: made.status, observed: { ...input.observed, jobs } };
    made = plan(input);
  }
  return { input, made };
}

export function messageOf({ status }: Plan): string {
  return status.conditions?.find(({ type }) => type === 'LifecycleComplete')?.message ?? '';
}
