// The steps of the pipeline, in their order. Everything that is particular to one step is in its row.
import type { IngesterSpec, TaskName, TaskSpec } from '../../api/ingester/spec.ts';
import type { LifecycleStatus, StepName } from '../../api/ingester/status.ts';
import { CodedError } from '../../base/errors.ts';
import { type JsonValue, valueAt } from '../../base/json.ts';
import { desiredCredentials } from './credentials.ts';
import { imageOf } from './settings.ts';
import { effectiveStateMode, stateModeInput } from './state-mode.ts';

export interface StepContext {
  readonly spec: IngesterSpec;
  readonly lifecycle: LifecycleStatus;
  /** The version that the database has; undefined before the first migration. */
  readonly migratedVersion: string | undefined;
  /** Whether a step is due that quiesces writers and needs the gate closed. */
  readonly quiescing: boolean;
  /** Whether a step is due after which a rollback may be impossible. */
  readonly changes: boolean;
}

export interface StepDefinition {
  readonly name: StepName;
  /** Lifecycle phase while it runs. */
  readonly phase: string;
  /** Where its settings are; undefined for what belongs to no task. */
  readonly task?: TaskName;
  /** Its checksum is part of the next one's, so that it forces what comes after it to run again. */
  readonly cascades: boolean;
  /** Due for its own sake; the other steps run only because of a leading one. */
  readonly leads: boolean;
  readonly quiesces: boolean;
  /** Tried until it succeeds: giving up would leave the writer gate closed. */
  readonly endless: boolean;
  /** After its last attempt the pipeline goes on without it. */
  readonly optional?: boolean;
  /** After it began, a rollback to the version before may be impossible. */
  readonly irreversible: boolean;
  readonly timeout: string;
  readonly enabled: (context: StepContext) => boolean;
  /** What it depends on: a step is not run twice for the same inputs. Placement and resources of the pod are none. */
  readonly inputs: (context: StepContext) => JsonValue;
}

const task = (spec: IngesterSpec, name: TaskName): TaskSpec | undefined => spec.lifecycle?.[name];
const isOn = (spec: IngesterSpec, name: TaskName): boolean => task(spec, name)?.disabled !== true;
const asked = (spec: IngesterSpec, name: TaskName): object => {
  const { command = [], trigger = '' } = task(spec, name) ?? {};
  return { command, trigger };
};
const json = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value ?? null)) as JsonValue;

/** Once in every attempt, and once more where the migration is triggered again: this step may be what failed. */
const preparation = ({ spec, lifecycle }: StepContext): JsonValue => {
  const id = lifecycle.attempt?.id ?? '';
  const { trigger } = task(spec, 'migrate') ?? {};
  return trigger === undefined ? id : [id, trigger];
};

export const steps: readonly StepDefinition[] = [
  {
    name: 'quiesce',
    phase: 'Quiescing',
    cascades: false,
    leads: false,
    quiesces: true,
    endless: false,
    irreversible: false,
    timeout: '2m',
    // A database that was never migrated has no gate to close.
    enabled: ({ quiescing, migratedVersion }) => migratedVersion !== undefined && quiescing,
    inputs: preparation,
  },
  {
    name: 'snapshot',
    phase: 'Snapshotting',
    cascades: false,
    leads: false,
    quiesces: true,
    endless: false,
    irreversible: false,
    timeout: '1h',
    enabled: (context) =>
      context.lifecycle.restorePoint === undefined &&
      effectiveStateMode(stateModeInput(context.spec, context)) === 'Savepoint',
    inputs: preparation,
  },
  {
    name: 'clone',
    phase: 'Cloning',
    task: 'clone',
    cascades: true,
    leads: true,
    quiesces: true,
    endless: false,
    irreversible: true,
    timeout: '1h',
    enabled: ({ spec }) => spec.lifecycle?.clone !== undefined && isOn(spec, 'clone') && !isProduction(spec),
    inputs: cloneInputs,
  },
  {
    name: 'restore',
    phase: 'RestoringSnapshot',
    cascades: false,
    leads: true,
    quiesces: true,
    endless: false,
    irreversible: true,
    timeout: '1h',
    enabled: ({ lifecycle }) => lifecycle.restore !== undefined,
    inputs: ({ lifecycle }) => json(lifecycle.restore),
  },
  {
    name: 'migrate',
    phase: 'Migrating',
    task: 'migrate',
    cascades: true,
    leads: true,
    quiesces: true,
    endless: false,
    irreversible: true,
    timeout: '2h',
    enabled: ({ spec }) => isOn(spec, 'migrate'),
    inputs: migrateInputs,
  },
  {
    name: 'release',
    phase: 'Releasing',
    cascades: false,
    leads: false,
    quiesces: false,
    endless: true,
    irreversible: false,
    timeout: '2m',
    enabled: ({ lifecycle }) => lifecycle.gateHeld,
    inputs: ({ lifecycle }) => lifecycle.attempt?.id ?? '',
  },
  {
    name: 'rotate',
    phase: 'Rotating',
    task: 'rotate',
    cascades: true,
    leads: true,
    quiesces: false,
    endless: false,
    irreversible: false,
    timeout: '1h',
    enabled: ({ spec, lifecycle }) =>
      isOn(spec, 'rotate') &&
      (spec.database.encryption?.previousKey !== undefined || desiredCredentials(spec, lifecycle) !== undefined),
    inputs: rotateInputs,
  },
  {
    name: 'init',
    phase: 'Initializing',
    task: 'init',
    cascades: true,
    leads: true,
    quiesces: false,
    endless: false,
    irreversible: false,
    timeout: '1h',
    enabled: ({ spec }) => isOn(spec, 'init'),
    inputs: ({ spec }) => json({ ...asked(spec, 'init'), names: kindsOf(spec) }),
  },
  {
    name: 'finish',
    phase: 'Rotating',
    task: 'rotate',
    cascades: false,
    leads: false,
    quiesces: false,
    endless: false,
    irreversible: false,
    timeout: '10m',
    enabled: ({ lifecycle }) => lifecycle.credentials?.state === 'InUse',
    inputs: ({ spec, lifecycle }) => json({ ...lifecycle.credentials, trigger: task(spec, 'rotate')?.trigger }),
  },
  {
    // By schedule. The components stay: it keeps writers out while it copies, and no pod has to come up again after it.
    name: 'backup',
    phase: 'Snapshotting',
    cascades: false,
    leads: false,
    quiesces: false,
    endless: false,
    optional: true,
    irreversible: false,
    timeout: '1h',
    enabled: ({ lifecycle }) =>
      lifecycle.snapshotSchedule?.missedSince !== undefined && lifecycle.attempt?.quiesces !== true,
    inputs: ({ lifecycle }) => json(lifecycle.snapshotSchedule?.tick),
  },
];

/** Both ways of naming them; the tables of a kind are made by migrate, and its objects are stored by init. */
function kindsOf({ kinds, config }: IngesterSpec): unknown {
  return valueAt(config, ['ingester', 'kinds']) ?? kinds?.names;
}

function cloneInputs({ spec, lifecycle }: StepContext): JsonValue {
  const { sourceSecret, sourceKeys, excludeKinds, excludeNamespaces, postSQL } = spec.lifecycle?.clone ?? {};
  const tick = lifecycle.lastScheduledAt ?? '';
  const source = { sourceSecret, sourceKeys, excludeKinds, excludeNamespaces, postSQL };
  return json({ ...asked(spec, 'clone'), ...source, tick });
}

function migrateInputs({ spec }: StepContext): JsonValue {
  // Not the Secrets: other credentials for the same database are no reason to migrate it.
  const { host, port, name } = spec.database;
  const database = { host, port, name };
  return json({
    ...asked(spec, 'migrate'),
    version: spec.version,
    image: imageOf(spec),
    database,
    names: kindsOf(spec),
    tableNames: spec.kinds?.tableNames,
  });
}

function rotateInputs({ spec }: StepContext): JsonValue {
  const { encryption, rotation } = spec.database;
  return json({ ...asked(spec, 'rotate'), encryption, credentials: rotation?.credentialsSecret });
}

export function isProduction(spec: IngesterSpec): boolean {
  return (spec.environment ?? 'Production') === 'Production';
}

export function stepOf(name: StepName): StepDefinition {
  const found = steps.find((step) => step.name === name);
  if (found === undefined) throw new UnknownStepError(name);
  return found;
}

export function settingsOf(step: StepDefinition, spec: IngesterSpec): TaskSpec {
  return step.task === undefined ? {} : (task(spec, step.task) ?? {});
}

export function quiesces(step: StepDefinition, spec: IngesterSpec): boolean {
  return settingsOf(step, spec).requiresQuiesce ?? step.quiesces;
}

/** A step that is not in the table: a fault of the program. */
export class UnknownStepError extends CodedError {
  constructor(name: string) {
    super('LIFECYCLE_STEP_UNKNOWN', `There is no step ${name}.`);
  }
}
