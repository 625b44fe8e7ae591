// What the state of an object means to a GitOps tool: one table for the health checks of Argo CD and of Flux.
import { INGESTER_KIND } from '../../../src/api/ingester/spec.ts';

/** The words of Argo CD. Suspended: nothing goes on, and nothing is wrong. */
export type Health = 'Healthy' | 'Progressing' | 'Degraded' | 'Suspended';

export interface HealthRule {
  readonly kind: string;
  /** Name of the field of status that holds the state. */
  readonly field: 'state' | 'phase';
  /** What starts the values of the enum, and is left out below. */
  readonly prefix: string;
  readonly states: Readonly<Record<string, Health>>;
  /** Of an object whose status says nothing yet. */
  readonly without: Health;
}

export interface ConditionRule {
  readonly kind: string;
  /** Types of conditions by what they mean while they are true; the first that holds counts. */
  readonly conditions: readonly { readonly type: string; readonly health: Health }[];
  readonly without: Health;
}

const runStates = { PENDING: 'Progressing', RUNNING: 'Progressing', SUCCEEDED: 'Healthy', FAILED: 'Degraded' } as const;
/** Ended by a user: not a fault. */
const killed = { KILLED: 'Suspended' } as const;

export const healthRules: readonly HealthRule[] = [
  state('Project', 'PROJECT_STATE_', 'Healthy', {
    PROVISIONING: 'Progressing',
    PROVISION_PENDING: 'Progressing',
    READY: 'Healthy',
    ERROR: 'Degraded',
  }),
  state('Pipeline', 'PIPELINE_STATE_', 'Progressing', {
    CREATED: 'Progressing',
    BUILDING: 'Progressing',
    READY: 'Healthy',
    ERROR: 'Degraded',
  }),
  state('PipelineRun', 'PIPELINE_RUN_STATE_', 'Progressing', { ...runStates, ...killed, SKIPPED: 'Healthy' }),
  state('InferenceServer', 'INFERENCE_SERVER_STATE_', 'Progressing', {
    INITIALIZED: 'Progressing',
    CREATE_PENDING: 'Progressing',
    SERVING: 'Healthy',
    FAILED: 'Degraded',
    DELETE_PENDING: 'Progressing',
    CREATING: 'Progressing',
    DELETING: 'Progressing',
    DELETED: 'Suspended',
  }),
  state('Revision', 'REVISION_STATE_', 'Progressing', {
    CREATED: 'Progressing',
    BUILDING: 'Progressing',
    READY: 'Healthy',
    ERROR: 'Degraded',
  }),
  state('RayCluster', 'RAY_CLUSTER_STATE_', 'Progressing', {
    PROVISIONING: 'Progressing',
    READY: 'Healthy',
    TERMINATING: 'Progressing',
    TERMINATED: 'Suspended',
    FAILED: 'Degraded',
    UNKNOWN: 'Progressing',
    UNHEALTHY: 'Degraded',
  }),
  state('RayJob', 'RAY_JOB_STATE_', 'Progressing', {
    INITIALIZING: 'Progressing',
    RUNNING: 'Progressing',
    SUCCEEDED: 'Healthy',
    FAILED: 'Degraded',
    ...killed,
  }),
  state('TriggerRun', 'TRIGGER_RUN_STATE_', 'Progressing', {
    // A trigger runs for as long as it is wanted.
    RUNNING: 'Healthy',
    SUCCEEDED: 'Healthy',
    FAILED: 'Degraded',
    ...killed,
    PENDING_KILL: 'Progressing',
    PAUSED: 'Suspended',
  }),
  state('Deployment', 'DEPLOYMENT_STATE_', 'Progressing', {
    INITIALIZING: 'Progressing',
    HEALTHY: 'Healthy',
    UNHEALTHY: 'Degraded',
    EMPTY: 'Suspended',
  }),
  {
    kind: INGESTER_KIND,
    field: 'phase',
    prefix: '',
    without: 'Progressing',
    states: {
      Initializing: 'Progressing',
      Upgrading: 'Progressing',
      Running: 'Healthy',
      Degraded: 'Degraded',
      Suspended: 'Suspended',
      Blocked: 'Degraded',
      AwaitingApproval: 'Suspended',
      Failed: 'Degraded',
    },
  },
];

/** Kinds without a state: what their conditions say. */
export const conditionRules: readonly ConditionRule[] = [
  {
    kind: 'SparkJob',
    without: 'Progressing',
    conditions: [
      { type: 'Failed', health: 'Degraded' },
      { type: 'Killed', health: 'Suspended' },
      { type: 'Succeeded', health: 'Healthy' },
    ],
  },
  { kind: 'Cluster', without: 'Healthy', conditions: [{ type: 'Ready', health: 'Healthy' }] },
];

/** Kinds whose status has no fields: they are what they are. */
export const alwaysHealthy: readonly string[] = ['ModelFamily', 'Model'];

function state(kind: string, prefix: string, without: Health, states: Readonly<Record<string, Health>>): HealthRule {
  return { kind, field: 'state', prefix, without, states: { INVALID: 'Progressing', ...states } };
}
