// The children of each component.
import { type ComponentName, componentNames, type IngesterSpec, type ScalableSpec } from '../../api/ingester/spec.ts';
import { contentHash } from '../../base/hash.ts';
import type { JsonObject } from '../../base/json.ts';
import {
  certificateFiles,
  componentDefinitions,
  componentPod,
  queryPorts,
  rollingUpdate,
  serverPod,
} from './component-pod.ts';
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

export interface LiveDeployment {
  /** The number of replicas now; undefined where there is no Deployment yet. */
  readonly replicas?: number;
}

/** The child objects of every component that the specification names. */
export function componentChildren(
  parent: Parent,
  spec: IngesterSpec,
  live: Readonly<Partial<Record<ComponentName, LiveDeployment>>>,
): readonly Child[] {
  return componentNames
    .filter((name) => spec.components?.[name] !== undefined)
    .flatMap((name) => [
      configMap(parent, spec, name),
      deployment(parent, spec, name, live[name] ?? {}),
      ...scaling(parent, spec, name),
    ]);
}

/** Changes whenever the Deployment or its configuration does, except for the number of replicas. */
export function appliedHash(parent: Parent, spec: IngesterSpec, name: ComponentName): string {
  return contentHash(deploymentSpec(parent, spec, name));
}

function configText(parent: Parent, spec: IngesterSpec, name: ComponentName): string {
  const own = { ...sharedSections(parent.namespace), ...sectionsOf(spec, name) };
  return JSON.stringify(configurationOf(spec, own, spec.components?.[name]?.config), undefined, 2);
}

function sectionsOf(spec: IngesterSpec, name: ComponentName): JsonObject {
  const all = name === 'sync' && spec.components?.sync?.active === 'All';
  return all ? { leaderElection: { enabled: true, active: 'all' } } : componentDefinitions[name].sections;
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

function deployment(parent: Parent, spec: IngesterSpec, name: ComponentName, live: LiveDeployment): Child {
  const base = deploymentSpec(parent, spec, name);
  const metadata = {
    ...childMetadata(parent, name),
    annotations: { [APPLIED_ANNOTATION]: appliedHash(parent, spec, name) },
  };
  const body = { metadata, spec: { ...base, replicas: replicasOf(name, spec, live) } };
  const needs = [keyOf({ kind: childKinds.configMap, name: configName(parent, name) })];
  return { kind: childKinds.deployment, name: childName(parent, name), body, needs };
}

/** With an autoscaler the current number stays: without an owner of the field, the API server would set it to one. */
function replicasOf(name: ComponentName, spec: IngesterSpec, live: LiveDeployment): number {
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
  return asJson({
    strategy: componentDefinitions[name].scalable ? rollingUpdate : { type: 'Recreate' },
    progressDeadlineSeconds: 300,
    selector: { matchLabels: selectorLabels(parent, name) },
    template: template(parent, spec, name),
  });
}

function template(parent: Parent, spec: IngesterSpec, name: ComponentName): JsonObject {
  const { credentialsSecret } = spec.database;
  const reload = spec.forceReload === undefined ? [] : [{ name: 'INGESTER_FORCE_RELOAD', value: spec.forceReload }];
  return componentPod(name, {
    spec,
    layers: [spec.podTemplate, spec.components?.[name]?.podTemplate],
    labels: selectorLabels(parent, name),
    annotations: { [CONFIG_ANNOTATION]: contentHash(configText(parent, spec, name)) },
    containerName: name,
    args: componentDefinitions[name].args,
    env: [...databaseEnv(spec.database, credentialsSecret), ...reload],
    configMap: configName(parent, name),
    files: databaseFiles(spec.database, credentialsSecret),
    certificate: name === 'query' ? (spec.components?.query?.certificateSecret ?? '') : undefined,
  });
}

function scaling(parent: Parent, spec: IngesterSpec, name: ComponentName): readonly Child[] {
  const { autoscaling, disruptionBudget } = scalable(spec, name) ?? {};
  const own = childName(parent, name);
  const metadata = childMetadata(parent, name);
  const children: Child[] = [];
  if (autoscaling !== undefined) {
    const { minReplicas = 1, maxReplicas, targetCPUPercent = 80, behavior } = autoscaling;
    const target = { type: 'Utilization', averageUtilization: targetCPUPercent };
    const body = {
      metadata,
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: own },
        minReplicas,
        maxReplicas,
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target } }],
        ...(behavior === undefined ? {} : { behavior }),
      },
    };
    const needs = [keyOf({ kind: childKinds.deployment, name: own })];
    children.push({ kind: childKinds.autoscaler, name: own, body, needs });
  }
  if (disruptionBudget !== undefined) {
    const body = { metadata, spec: disruptionBudgetSpec(disruptionBudget, selectorLabels(parent, name)) };
    children.push({ kind: childKinds.disruptionBudget, name: own, body });
  }
  return children;
}

/** A replica that is not ready serves no requests; it must not keep a node from being drained. */
export function disruptionBudgetSpec(budget: object, matchLabels: object): object {
  return { ...budget, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector: { matchLabels } };
}

/** The maintenance page: it answers for query, with query's certificate and port. */
export function maintenanceChildren(parent: Parent, spec: IngesterSpec): readonly Child[] {
  const { title, message, retryAfterSeconds = 10 } = spec.lifecycle?.maintenancePage ?? {};
  const tls = certificateFiles(spec.components?.query?.certificateSecret ?? '');
  const labels = selectorLabels(parent, MAINTENANCE);
  const body = {
    metadata: childMetadata(parent, MAINTENANCE),
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: podTemplate({
        ...serverPod,
        spec,
        layers: [spec.podTemplate],
        labels,
        containerName: 'maintenance',
        args: [
          'maintenance',
          ...(title === undefined ? [] : [`--title=${title}`]),
          ...(message === undefined ? [] : [`--message=${message}`]),
          `--retry-after=${retryAfterSeconds}s`,
        ],
        ports: queryPorts,
        env: [],
        volumes: tls.volumes,
        mounts: tls.mounts,
        resources: { requests: { cpu: '20m', memory: '64Mi' }, limits: { memory: '128Mi' } },
        serviceAccount: undefined,
        graceSeconds: 30,
      }),
    },
  };
  return [{ kind: childKinds.deployment, name: childName(parent, MAINTENANCE), body }];
}
