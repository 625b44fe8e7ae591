// What the status records when a specification becomes the target.
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import type { Attempt, IngesterStatus, LifecycleStatus, Target } from '../../api/ingester/status.ts';
import { sameJson } from '../../base/json.ts';
import { changesBetween } from './changes.ts';
import type { PlanEvent } from './observed.ts';
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
 * An earlier resource of this name may have left the gate closed: the first migration opens it, and without one the step
 * `release` has to.
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
  emit({ reason: 'SpecChanged', note: changes.join(', ').slice(0, LONGEST_NOTE) });
  const { attempt } = taken;
  if (attempt === undefined) return taken;
  // The new target gets the full deadline, and is no rollback any more.
  return { ...taken, attempt: { ...attempt, kind: kindOf(status, target), startedAt: now.toISOString() } };
}

export function kindOf(status: IngesterStatus, target: Target): Attempt['kind'] {
  const stable = status.stable?.spec;
  if (stable === undefined) return 'Install';
  return stable.version === target.spec.version && imageOf(stable) === imageOf(target.spec) ? 'Change' : 'Upgrade';
}
