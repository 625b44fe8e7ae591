// The Job of one run of one step.
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import type { StepName } from '../../api/ingester/status.ts';
import { contentHash } from '../../base/hash.ts';
import type { JsonObject } from '../../base/json.ts';
import type { JobInput } from '../plan/desired-state.ts';
import { milliseconds } from '../plan/settings.ts';
import { settingsOf, stepOf } from '../plan/steps.ts';
import { configurationOf } from './configuration.ts';
import { childMetadata, type Parent, RUN_ANNOTATION, selectorLabels } from './names.ts';
import { asJson, configFile, databaseEnv, databaseFiles, podTemplate, readOnly } from './pod.ts';
import { postSqlText, RUN_PLACE, taskParts, taskSections } from './task-parts.ts';

/** Only `init` calls the API server: it lists the objects. */
const NEEDS_API: ReadonlySet<StepName> = new Set(['init']);

/** What pods that do one thing and end have in common, also in config/. */
export const taskPod = {
  restartPolicy: 'Never',
  graceSeconds: 60,
  resources: { requests: { cpu: '50m', memory: '96Mi' }, limits: { memory: '512Mi' } },
} as const;

export function jobOf(parent: Parent, input: JobInput, run: string): object {
  const { spec, step } = input;
  const definition = stepOf(step);
  const timeout = milliseconds(settingsOf(definition, spec).timeout, definition.timeout);
  const template = jobPod(parent, input);
  const metadata = { ...childMetadata(parent, step), annotations: { [RUN_ANNOTATION]: run } };
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: {
      // Attempts are counted in the status of the resource.
      backoffLimit: 0,
      // A pod that a drain or a preemption ends is replaced once it has gone, and is no attempt.
      podFailurePolicy: {
        rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
      },
      completions: 1,
      parallelism: 1,
      activeDeadlineSeconds: Math.max(1, Math.ceil(timeout / 1000)),
      template: withRun(template, parent, run),
    },
  };
}

/** Hash of the pod template without the run: shows whether the pod template was corrected. */
export function podHash(parent: Parent, input: JobInput): string {
  return contentHash(jobPod(parent, input));
}

function withRun(template: JsonObject, parent: Parent, run: string): JsonObject {
  const text = JSON.stringify(template).replaceAll(RUN_PLACE, `${parent.uid}-${run.split('-').at(-1) ?? ''}`);
  return JSON.parse(text) as JsonObject;
}

function jobPod(parent: Parent, input: JobInput): JsonObject {
  const { spec, step } = input;
  const { args, env, volumes, mounts, loginSecret } = taskParts(parent, input);
  const files = databaseFiles(spec.database, loginSecret);
  return podTemplate({
    ...taskPod,
    spec,
    layers: [spec.podTemplate, spec.lifecycle?.podTemplate],
    labels: selectorLabels(parent, step),
    containerName: 'task',
    ...(ownCommand(spec, step) ?? { args }),
    env: [
      ...databaseEnv(spec.database, loginSecret),
      { name: 'INGESTER_CONFIG', value: configFile },
      { name: 'INGESTER_RUN', value: RUN_PLACE },
      ...env,
    ],
    volumes: [...files.volumes, ...volumes, { name: 'config', configMap: { name: tasksConfigName(parent) } }],
    mounts: [...files.mounts, ...mounts, readOnly('config', '/etc/ingester/config')],
    serviceAccount: NEEDS_API.has(step) ? 'ingester-reconciler' : undefined,
  });
}

/** A command replaces the task itself, not the steps that belong to it. */
function ownCommand(spec: IngesterSpec, step: StepName): { readonly command: readonly string[] } | undefined {
  const definition = stepOf(step);
  const { command } = definition.task === step ? settingsOf(definition, spec) : {};
  return command === undefined ? undefined : { command };
}

export function tasksConfigName({ name }: Parent): string {
  return `${name}-tasks-config`;
}

export function tasksConfig(parent: Parent, spec: IngesterSpec): object {
  const text = JSON.stringify(configurationOf(spec, taskSections(parent, spec), undefined), undefined, 2);
  return asJson({
    metadata: childMetadata(parent, 'migrate', tasksConfigName(parent)),
    data: { 'config.yaml': `${text}\n`, 'post.sql': postSqlText(spec) },
  });
}
