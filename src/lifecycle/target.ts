// What is remembered when a specification becomes what is brought about.
import type { IngesterSpec } from '../api/ingester/spec.ts';
import type { Attempt, IngesterStatus, LifecycleStatus, Target } from '../api/ingester/status.ts';
import { sameJson } from '../base/same-json.ts';
import { changesBetween } from './changes.ts';
import type { PlanEvent } from './plan-event.ts';
import { takeRestore } from './restore.ts';
import { imageOf } from './settings.ts';

export const noLifecycle: LifecycleStatus = {
  phase: 'Complete',
  pipeline: 'Settled',
  runs: 0,
  steps: {},
  completed: {},
  gateHeld: false,
  maintenance: false,
  snapshots: [],
};

/**
 * A resource of this name may have been here before, and may have left the gate closed: the first migration opens it, and
 * where there is none somebody else has to.
 */
export function knownOf({ lifecycle }: IngesterStatus, spec: IngesterSpec): LifecycleStatus {
  return lifecycle ?? { ...noLifecycle, gateHeld: spec.lifecycle?.migrate?.disabled === true };
}

export interface NewTarget {
  readonly status: IngesterStatus;
  readonly target: Target;
  readonly lifecycle: LifecycleStatus;
  readonly now: Date;
  readonly emit: (event: PlanEvent) => void;
}

const LONGEST_NOTE = 900;

export function noteTarget({ status, target, lifecycle, now, emit }: NewTarget): LifecycleStatus {
  const isNew = status.lifecycle === undefined;
  const taken = takeRestore({ spec: target.spec, lifecycle, isNew, emit });
  const before = status.target?.spec;
  if (before === undefined || sameJson(before, target.spec)) return taken;
  const changes = changesBetween(before, target.spec).map((change) => `${change.path} (${change.class})`);
  emit({ type: 'Normal', reason: 'SpecChanged', note: changes.join(', ').slice(0, LONGEST_NOTE) });
  const { attempt } = taken;
  if (attempt === undefined) return taken;
  // What is asked for now has not had its time yet, and is no way back any more.
  return { ...taken, attempt: { ...attempt, kind: kindOf(status, target), startedAt: now.toISOString() } };
}

export function kindOf(status: IngesterStatus, target: Target): Attempt['kind'] {
  const stable = status.stable?.spec;
  if (stable === undefined) return 'Install';
  return stable.version === target.spec.version && imageOf(stable) === imageOf(target.spec) ? 'Change' : 'Upgrade';
}
