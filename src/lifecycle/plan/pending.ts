// Which steps are due. The checksum of a task contains that of the task before it, so a change upstream makes everything
// downstream due again by itself.
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import type { LifecycleStatus } from '../../api/ingester/status.ts';
import { contentHash } from '../../base/hash.ts';
import { quiesces, type StepContext, type StepDefinition, stepOf, steps } from './steps.ts';

/** Part of every checksum. Raise it when the way of making them changes: that makes every step due. */
const CHECKSUM_VERSION = 1;

export interface Due {
  readonly step: StepDefinition;
  readonly checksum: string;
}

export interface PendingInput {
  readonly uid: string;
  readonly spec: IngesterSpec;
  readonly lifecycle: LifecycleStatus;
  readonly migratedVersion: string | undefined;
}

/** Steps that are enabled and not completed for their current inputs, in order. */
export function pendingSteps(input: PendingInput): readonly Due[] {
  const context: StepContext = { ...input, quiescing: false, changes: false };
  const asked = [...tasksDue(input, context), ...othersDue(input, context, true)];
  const quiescing = asked.some(({ step }) => quiesces(step, input.spec) && needsClosedGate(step));
  const changes = asked.some(({ step }) => step.irreversible);
  const around = othersDue(input, { ...context, quiescing, changes }, false);
  return [...asked, ...around].sort((left, right) => steps.indexOf(left.step) - steps.indexOf(right.step));
}

/** Steps outside of the chain of checksums. */
function othersDue(input: PendingInput, context: StepContext, leads: boolean): readonly Due[] {
  return steps
    .filter((step) => !step.cascades && step.leads === leads && step.enabled(context))
    .map((step) => ({ step, checksum: checksumOutsideChain(input, step, context) }))
    .filter(({ step, checksum }) => input.lifecycle.completed[step.name] !== checksum);
}

/**
 * A task that is switched off hands on what it completed last, so that switching it off makes nothing due. Before it ever
 * ran it hands on what it was handed.
 */
function tasksDue({ uid, lifecycle }: PendingInput, context: StepContext): readonly Due[] {
  const due: Due[] = [];
  let incoming = uid;
  for (const step of steps.filter(({ cascades }) => cascades)) {
    if (!step.enabled(context)) {
      incoming = lifecycle.completed[step.name] ?? incoming;
      continue;
    }
    const inputs = step.inputs(context);
    const checksum = contentHash({ version: CHECKSUM_VERSION, incoming, step: step.name, inputs });
    if (lifecycle.completed[step.name] !== checksum) due.push({ step, checksum });
    incoming = checksum;
  }
  return due;
}

/** Steps outside of the chain run once in every attempt. */
function checksumOutsideChain({ uid }: PendingInput, step: StepDefinition, context: StepContext): string {
  return contentHash({ version: CHECKSUM_VERSION, uid, step: step.name, inputs: step.inputs(context) });
}

/** Steps after the one that opens the gate do not close it again. */
function needsClosedGate(step: StepDefinition): boolean {
  return steps.indexOf(step) < steps.indexOf(stepOf('release'));
}

export function quiesceNeeded(due: readonly Due[], spec: IngesterSpec): boolean {
  return due.some(({ step }) => step.leads && quiesces(step, spec));
}
