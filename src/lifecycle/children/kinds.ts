// The kinds of child objects, each with the field manager that owns its fields.
import type { Resource } from '../../kube/client.ts';

export interface ChildKind {
  readonly resource: Resource;
  readonly apiVersion: string;
  readonly kind: string;
  /** Field manager of everything the lifecycle applies to this kind. */
  readonly manager: string;
  /** Its definition may be missing: nothing is applied then. */
  readonly optional: boolean;
}

function child(kind: string, apiVersion: string, plural: string, manager: string): ChildKind {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  return { kind, apiVersion, resource: { group, version, plural }, manager: `ingester-${manager}`, optional: false };
}

type ChildName =
  | 'configMap'
  | 'deployment'
  | 'service'
  | 'autoscaler'
  | 'disruptionBudget'
  | 'ingress'
  | 'networkPolicy'
  | 'httpRoute'
  | 'serviceMonitor';

export const childKinds: Readonly<Record<ChildName, ChildKind>> = {
  configMap: child('ConfigMap', 'v1', 'configmaps', 'config'),
  deployment: child('Deployment', 'apps/v1', 'deployments', 'workload'),
  service: child('Service', 'v1', 'services', 'network'),
  autoscaler: child('HorizontalPodAutoscaler', 'autoscaling/v2', 'horizontalpodautoscalers', 'scaling'),
  disruptionBudget: child('PodDisruptionBudget', 'policy/v1', 'poddisruptionbudgets', 'scaling'),
  ingress: child('Ingress', 'networking.k8s.io/v1', 'ingresses', 'network'),
  networkPolicy: child('NetworkPolicy', 'networking.k8s.io/v1', 'networkpolicies', 'network'),
  httpRoute: { ...child('HTTPRoute', 'gateway.networking.k8s.io/v1', 'httproutes', 'network'), optional: true },
  serviceMonitor: {
    ...child('ServiceMonitor', 'monitoring.coreos.com/v1', 'servicemonitors', 'monitoring'),
    optional: true,
  },
};

/** Jobs are created and deleted, never applied: their templates cannot change. */
export const jobKind: ChildKind = child('Job', 'batch/v1', 'jobs', 'tasks');
export const jobs: Resource = jobKind.resource;

export interface Child {
  readonly kind: ChildKind;
  readonly name: string;
  /** With metadata, without status. */
  readonly body: object;
  /** What it mounts, scales or leads to by name, as `Kind/name`. Where that is not ours, it is not made. */
  readonly needs?: readonly string[];
}

export function keyOf({ kind, name }: Pick<Child, 'kind' | 'name'>): string {
  return `${kind.kind}/${name}`;
}
