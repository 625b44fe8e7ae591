// The children of each component, from one table of components.
import {
  type ComponentName,
  componentNames,
  type IngesterSpec,
  type PodSpec,
  type ScalableSpec,
} from '../../api/ingester/spec.ts';
import { contentHash } from '../../base/content-hash.ts';
import type { JsonObject } from '../../base/json.ts';
import { configurationOf, sharedSections } from './configuration.ts';
import { type Child, childKinds, keyOf } from './kinds.ts';
import {
  APPLIED_ANNOTATION,
  CONFIG_ANNOTATION,
  childMetadata,
  childName,
  MAINTENANCE,
  type Parent,
  selectorLabels,
} from './names.ts';
import { asJson, databaseEnv, databaseFiles, podTemplate } from './pod.ts';

interface ComponentDefinition {
  readonly args: readonly string[];
  readonly serviceAccount: string;
  /** Several of it may run at once. */
  readonly scalable: boolean;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly graceSeconds: number;
  /** For the JavaScript engine; a pod template may say otherwise. */
  readonly engine?: PodSpec;
  readonly sections: (parent: Parent) => JsonObject;
}

const health = { name: 'health', containerPort: 8081 };
export const QUERY_PORT = 6443;

/** As in the plain bundle: with room, garbage would be left lying for long. */
const reconcilerEngine: PodSpec = {
  env: [
    { name: 'NODE_OPTIONS', value: '--max-semi-space-size=8 --max-old-space-size=256' },
    { name: 'MALLOC_ARENA_MAX', value: '1' },
    { name: 'MALLOC_MMAP_THRESHOLD_', value: '131072' },
    { name: 'MALLOC_TRIM_THRESHOLD_', value: '131072' },
  ],
};

export const componentDefinitions: Readonly<Record<ComponentName, ComponentDefinition>> = {
  sync: {
    args: ['reconciler', '--controllers', 'sync'],
    serviceAccount: 'ingester-reconciler',
    scalable: true,
    ports: [health],
    graceSeconds: 60,
    engine: reconcilerEngine,
    // The lease that reconcilers of the plain bundle use too: one of all of them works.
    sections: ({ namespace }) => ({ leaderElection: { enabled: true, namespace } }),
  },
  query: {
    args: ['query'],
    serviceAccount: 'ingester-query',
    scalable: true,
    ports: [health, { name: 'https', containerPort: QUERY_PORT }],
    graceSeconds: 60,
    // As in the plain bundle: with room, garbage would be left lying for long.
    engine: { env: [{ name: 'NODE_OPTIONS', value: '--max-semi-space-size=2 --max-old-space-size=256' }] },
    sections: () => ({}),
  },
  audit: {
    args: ['reconciler', '--controllers', 'audit'],
    serviceAccount: 'ingester-reconciler',
    scalable: false,
    ports: [health],
    graceSeconds: 60,
    engine: reconcilerEngine,
    sections: () => ({ leaderElection: { enabled: false } }),
  },
};

export interface Live {
  /** Pods that an autoscaler decided on; undefined where there is no Deployment yet. */
  readonly replicas?: number;
}

/** What a component consists of; for a component that is not asked for, nothing. */
export function componentChildren(
  parent: Parent,
  spec: IngesterSpec,
  live: Readonly<Partial<Record<ComponentName, Live>>>,
): readonly Child[] {
  return componentNames
    .filter((name) => spec.components?.[name] !== undefined)
    .flatMap((name) => [
      configMap(parent, spec, name),
      deployment(parent, spec, name, live[name] ?? {}),
      ...scaling(parent, spec, name),
    ]);
}

/** Changes whenever the Deployment or its configuration does; the number of pods apart. */
export function appliedHash(parent: Parent, spec: IngesterSpec, name: ComponentName): string {
  return contentHash(deploymentSpec(parent, spec, name));
}

function configText(parent: Parent, spec: IngesterSpec, name: ComponentName): string {
  const own = { ...sharedSections(parent.namespace), ...componentDefinitions[name].sections(parent) };
  return JSON.stringify(configurationOf(spec, own, spec.components?.[name]?.config), undefined, 2);
}

function configName(parent: Parent, name: ComponentName): string {
  return `${childName(parent, name)}-config`;
}

function configMap(parent: Parent, spec: IngesterSpec, name: ComponentName): Child {
  const own = configName(parent, name);
  const body = {
    metadata: childMetadata(parent, name, own),
    data: { 'config.yaml': `${configText(parent, spec, name)}\n` },
  };
  return { kind: childKinds.configMap, name: own, body };
}

function deployment(parent: Parent, spec: IngesterSpec, name: ComponentName, live: Live): Child {
  const base = deploymentSpec(parent, spec, name);
  const metadata = {
    ...childMetadata(parent, name),
    annotations: { [APPLIED_ANNOTATION]: appliedHash(parent, spec, name) },
  };
  const body = { metadata, spec: { ...base, replicas: replicasOf(name, spec, live) } };
  const needs = [keyOf({ kind: childKinds.configMap, name: configName(parent, name) })];
  return { kind: childKinds.deployment, name: childName(parent, name), body, needs };
}

/** With an autoscaler it stays what it is. Leaving it out would set it to one, because nobody would own it. */
function replicasOf(name: ComponentName, spec: IngesterSpec, live: Live): number {
  if (!componentDefinitions[name].scalable) return 1;
  const { replicas = 1, autoscaling } = scalable(spec, name) ?? {};
  if (autoscaling === undefined) return replicas;
  const { minReplicas = 1, maxReplicas } = autoscaling;
  return Math.min(Math.max(live.replicas ?? minReplicas, minReplicas), maxReplicas);
}

function scalable(spec: IngesterSpec, name: ComponentName): ScalableSpec | undefined {
  return name === 'audit' ? undefined : spec.components?.[name];
}

function deploymentSpec(parent: Parent, spec: IngesterSpec, name: ComponentName): JsonObject {
  const definition = componentDefinitions[name];
  const strategy = definition.scalable
    ? { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
    : { type: 'Recreate' };
  return asJson({
    strategy,
    progressDeadlineSeconds: 300,
    selector: { matchLabels: selectorLabels(parent, name) },
    template: template(parent, spec, name),
  });
}

function template(parent: Parent, spec: IngesterSpec, name: ComponentName): JsonObject {
  const { args, ports, serviceAccount, graceSeconds, engine } = componentDefinitions[name];
  const { credentialsSecret } = spec.database;
  const files = databaseFiles(spec.database, credentialsSecret);
  const config = { name: 'config', configMap: { name: configName(parent, name) } };
  const tls = name === 'query' ? tlsFiles(spec.components?.query?.certificateSecret ?? '') : undefined;
  const reload = spec.forceReload === undefined ? [] : [{ name: 'INGESTER_FORCE_RELOAD', value: spec.forceReload }];
  return podTemplate({
    spec,
    layers: [engine, spec.podTemplate, spec.components?.[name]?.podTemplate],
    labels: selectorLabels(parent, name),
    annotations: { [CONFIG_ANNOTATION]: contentHash(configText(parent, spec, name)) },
    containerName: name,
    args: ['--config', '/etc/ingester/config/config.yaml', ...args],
    ports,
    probes: probes(),
    env: [...databaseEnv(spec.database, credentialsSecret), ...reload],
    volumes: [config, ...files.volumes, ...(tls?.volumes ?? [])],
    mounts: [
      { name: 'config', mountPath: '/etc/ingester/config', readOnly: true },
      ...files.mounts,
      ...(tls?.mounts ?? []),
    ],
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    serviceAccount,
    graceSeconds,
    restartPolicy: 'Always',
  });
}

function tlsFiles(secretName: string): {
  readonly volumes: readonly JsonObject[];
  readonly mounts: readonly JsonObject[];
} {
  return {
    volumes: [{ name: 'tls', secret: { secretName } }],
    mounts: [{ name: 'tls', mountPath: '/tls', readOnly: true }],
  };
}

function probes(): object {
  const httpGet = (path: string): object => ({ httpGet: { path, port: 'health' } });
  return {
    startupProbe: { ...httpGet('/healthz'), periodSeconds: 1, failureThreshold: 60 },
    livenessProbe: { ...httpGet('/healthz'), periodSeconds: 10, timeoutSeconds: 5 },
    readinessProbe: { ...httpGet('/readyz'), periodSeconds: 2, timeoutSeconds: 5 },
  };
}

function scaling(parent: Parent, spec: IngesterSpec, name: ComponentName): readonly Child[] {
  const { autoscaling, disruptionBudget } = scalable(spec, name) ?? {};
  const own = childName(parent, name);
  const metadata = childMetadata(parent, name);
  const children: Child[] = [];
  if (autoscaling !== undefined) {
    const { minReplicas = 1, maxReplicas, targetCPUPercent = 80 } = autoscaling;
    const target = { type: 'Utilization', averageUtilization: targetCPUPercent };
    const body = {
      metadata,
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: own },
        minReplicas,
        maxReplicas,
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
      },
    };
    const needs = [keyOf({ kind: childKinds.deployment, name: own })];
    children.push({ kind: childKinds.autoscaler, name: own, body, needs });
  }
  if (disruptionBudget !== undefined) {
    const body = { metadata, spec: { ...disruptionBudget, selector: { matchLabels: selectorLabels(parent, name) } } };
    children.push({ kind: childKinds.disruptionBudget, name: own, body });
  }
  return children;
}

/** The page that answers for query; it has query's certificate and port. */
export function maintenanceChildren(parent: Parent, spec: IngesterSpec): readonly Child[] {
  const { title, message, retryAfterSeconds = 10 } = spec.lifecycle?.maintenancePage ?? {};
  const own = asJson({ maintenance: { title, message, retryAfter: `${retryAfterSeconds}s` } });
  const tls = tlsFiles(spec.components?.query?.certificateSecret ?? '');
  const env = Object.entries(own['maintenance'] as Readonly<Record<string, string>>).map(([key, value]) => {
    return { name: `INGESTER_MAINTENANCE_${key.replace(/[A-Z]/g, '_$&').toUpperCase()}`, value };
  });
  const labels = selectorLabels(parent, MAINTENANCE);
  const body = {
    metadata: childMetadata(parent, MAINTENANCE),
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: podTemplate({
        spec,
        layers: [spec.podTemplate],
        labels,
        containerName: 'maintenance',
        args: ['maintenance'],
        ports: [health, { name: 'https', containerPort: QUERY_PORT }],
        probes: probes(),
        env,
        volumes: tls.volumes,
        mounts: tls.mounts,
        resources: { requests: { cpu: '20m', memory: '64Mi' }, limits: { memory: '128Mi' } },
        serviceAccount: undefined,
        graceSeconds: 30,
        restartPolicy: 'Always',
      }),
    },
  };
  return [{ kind: childKinds.deployment, name: childName(parent, MAINTENANCE), body }];
}
