// The pod of each component: the same whether an Ingester resource or the plain bundle runs it. The manifests in config/
// are generated from this.
import type { ComponentName, PodSpec } from '../../api/ingester/spec.ts';
import type { JsonObject } from '../../base/json.ts';
import { configFile, type Files, type PodInput, podTemplate, readOnly } from './pod.ts';

interface Port {
  readonly name: string;
  readonly containerPort: number;
}

interface ComponentDefinition {
  /** Where an Ingester resource runs it. */
  readonly args: readonly string[];
  readonly serviceAccount: string;
  /** More than one replica may run at once. */
  readonly scalable: boolean;
  readonly ports: readonly Port[];
  /** Settings of the JavaScript engine; a pod template can override them. */
  readonly engine: PodSpec;
  readonly sections: JsonObject;
}

export const health: Port = { name: 'health', containerPort: 8081 };
/** Of query, and of the maintenance page that stands in for it. */
export const queryPorts: readonly Port[] = [health, { name: 'https', containerPort: 6443 }];

/** With room, garbage is left lying for long (docs/operations.md). */
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
    engine: reconcilerEngine,
    // With the leases of the plain bundle's reconcilers, so that no two of all of them work on one object.
    sections: { leaderElection: { enabled: true } },
  },
  query: {
    args: ['query'],
    serviceAccount: 'ingester-query',
    scalable: true,
    ports: queryPorts,
    // Answers are streamed, so little is alive at a time; with room, garbage would be left lying for long.
    engine: { env: [{ name: 'NODE_OPTIONS', value: '--max-semi-space-size=2 --max-old-space-size=256' }] },
    sections: {},
  },
  audit: {
    args: ['reconciler', '--controllers', 'audit'],
    serviceAccount: 'ingester-reconciler',
    scalable: false,
    ports: [health],
    engine: reconcilerEngine,
    sections: { leaderElection: { enabled: false } },
  },
};

/** An old replica goes only after a new one is ready. */
export const rollingUpdate = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };

type Probes = Readonly<Record<'startupProbe' | 'livenessProbe' | 'readinessProbe', object>>;

const httpGet = (path: string): object => ({ httpGet: { path, port: 'health' } });

/** What pods that run all the time have in common. */
export const serverPod: Pick<PodInput, 'restartPolicy' | 'graceSeconds'> & { readonly probes: Probes } = {
  restartPolicy: 'Always',
  // Longer than what is in flight may take at the end: 30 seconds.
  graceSeconds: 60,
  probes: {
    startupProbe: { ...httpGet('/healthz'), periodSeconds: 1, failureThreshold: 60 },
    livenessProbe: { ...httpGet('/healthz'), periodSeconds: 10, timeoutSeconds: 5 },
    // Where no requests are served, it shows operators and rollouts whether the program can do its work.
    readinessProbe: { ...httpGet('/readyz'), periodSeconds: 2, timeoutSeconds: 5 },
  },
};

/** What of a component's pod is decided where it is installed. */
export interface Installed
  extends Pick<PodInput, 'spec' | 'layers' | 'labels' | 'annotations' | 'containerName' | 'env'> {
  readonly args: readonly string[];
  /** ConfigMap with the configuration file. */
  readonly configMap: string;
  /** How to reach the database. */
  readonly files: Files;
  /** Secret with the certificate that the component serves with. */
  readonly certificate?: string | undefined;
}

export function componentPod(name: ComponentName, installed: Installed): JsonObject {
  const { args, configMap, files, certificate, layers, ...own } = installed;
  const { ports, serviceAccount, engine } = componentDefinitions[name];
  const tls = certificate === undefined ? undefined : certificateFiles(certificate);
  return podTemplate({
    ...serverPod,
    ...own,
    layers: [engine, ...layers],
    args: ['--config', configFile, ...args],
    ports,
    volumes: [{ name: 'config', configMap: { name: configMap } }, ...files.volumes, ...(tls?.volumes ?? [])],
    mounts: [readOnly('config', '/etc/ingester/config'), ...files.mounts, ...(tls?.mounts ?? [])],
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '512Mi' } },
    serviceAccount,
  });
}

export function certificateFiles(secretName: string): Files {
  return { volumes: [{ name: 'tls', secret: { secretName } }], mounts: [readOnly('tls', '/tls')] };
}
