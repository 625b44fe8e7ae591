// The changes that the lifecycle controller is killed in. To add one: what runs before it, what is asked for, and how it ends.
import type { IngesterSpec } from '../../../src/api/ingester/spec.ts';
import type { IngesterStatus, StepName } from '../../../src/api/ingester/status.ts';

export interface LifecycleFlow {
  readonly name: string;
  /** The specification that runs before the change of that number; undefined where there is no resource yet. */
  readonly before: ((count: number) => IngesterSpec) | undefined;
  readonly asked: (count: number) => IngesterSpec;
  /** How it ends where nothing happens. */
  readonly ends: IngesterStatus['phase'];
  /** Steps in the order in which they have to run, each of them once. */
  readonly runs: readonly StepName[];
  /** This step fails. */
  readonly failing?: StepName;
}

const base: IngesterSpec = {
  version: '1.0.0',
  database: { credentialsSecret: 'ingester-mysql' },
  components: {
    sync: { disruptionBudget: { maxUnavailable: 1 } },
    query: { certificateSecret: 'ingester-query-tls' },
  },
  lifecycle: {
    maintenancePage: {},
    upgradeMode: 'Supervised',
    stateMode: 'Savepoint',
    snapshots: { database: 'kept' },
  },
};

const atVersion = (count: number): IngesterSpec => ({ ...base, version: `1.${count}.0` });

function restoring(count: number): IngesterSpec {
  const restore = { snapshot: 's-1', nonce: `nonce-${count}`, replaceDataOf: 'michelangelo' };
  return { ...base, lifecycle: { ...base.lifecycle, upgradeMode: 'Automatic', restore } };
}

const secretOf = (count: number): string => `ingester-mysql-${count}`;

function withSecret(count: number): IngesterSpec {
  return { ...base, database: { credentialsSecret: secretOf(count) } };
}

function rotating(count: number): IngesterSpec {
  const rotation = { credentialsSecret: secretOf(count + 1), adminSecret: 'ingester-admin' };
  return { ...base, database: { credentialsSecret: secretOf(count), rotation } };
}

const others: IngesterSpec = {
  ...base,
  components: { sync: { replicas: 2 }, audit: {} },
  networkPolicy: {},
};

const change = ['quiesce', 'snapshot', 'migrate', 'release', 'init'] as const;

export const lifecycleFlows: readonly LifecycleFlow[] = [
  {
    name: 'an installation',
    before: undefined,
    asked: () => base,
    ends: 'Running',
    runs: ['migrate', 'release', 'init'],
  },
  {
    name: 'an upgrade that is approved',
    before: (count) => atVersion(count - 1),
    asked: atVersion,
    ends: 'Running',
    runs: change,
  },
  {
    name: 'an upgrade that fails and is rolled back',
    before: () => base,
    asked: atVersion,
    ends: 'Blocked',
    runs: ['quiesce', 'snapshot', 'release'],
    failing: 'snapshot',
  },
  {
    name: 'a restore of a snapshot',
    before: (count) =>
      count === 1 ? { ...base, lifecycle: { ...base.lifecycle, upgradeMode: 'Automatic' } } : restoring(count - 1),
    asked: restoring,
    ends: 'Running',
    runs: ['quiesce', 'snapshot', 'restore', 'migrate', 'release', 'init'],
  },
  {
    name: 'a rotation of credentials',
    before: withSecret,
    asked: rotating,
    ends: 'Running',
    runs: ['rotate', 'init', 'finish'],
  },
  { name: 'a change of components', before: () => base, asked: () => others, ends: 'Running', runs: [] },
];
