// The Node and its Lease: what makes the scheduler give pods to this node and the controllers believe that it lives.
import type { KubernetesObject } from '../../../src/api/object.ts';
import { type Clock, sleep } from '../../../src/base/clock.ts';
import type { Logger } from '../../../src/base/logger.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { isKubeError } from '../../../src/kube/errors.ts';
import { leases } from '../../../src/kube/resources.ts';
import { microTime } from '../../../src/runtime/lease.ts';
import { LOOPBACK_ANNOTATION } from './address-pool.ts';
import type { NodeConfiguration } from './configuration.ts';
import { seconds } from './pod-status.ts';

const NODES = { group: '', version: 'v1', plural: 'nodes' } as const;
const leaseNamespace = 'kube-node-lease';
const leaseSeconds = 40;
const retryMs = 500;

export interface NodeIdentity {
  readonly configuration: NodeConfiguration;
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hostIP: string;
  readonly loopbackPrefix: string;
  readonly port: number;
  /** Called after each heartbeat that the API server took. */
  readonly beaten: () => void;
}

/** Registers the node and keeps its lease and its status fresh until aborted. */
export async function keepNode(identity: NodeIdentity, signal: AbortSignal): Promise<void> {
  const { clock, logger, configuration } = identity;
  while (!signal.aborted) {
    try {
      const node = await register(identity);
      await writeStatus(identity, node);
      await renewLease(identity, node);
      identity.beaten();
    } catch (error) {
      logger.warn({ err: error }, 'The heartbeat failed');
      await sleep(clock, Math.min(retryMs, configuration.timings.heartbeatMs), signal);
      continue;
    }
    await sleep(clock, configuration.timings.heartbeatMs, signal);
  }
}

async function register(identity: NodeIdentity): Promise<KubernetesObject> {
  const { client, configuration, loopbackPrefix } = identity;
  const { name, addressPrefix } = configuration;
  const annotations = { [LOOPBACK_ANNOTATION]: loopbackPrefix };
  try {
    const node = await client.get({ resource: NODES, namespace: '', name });
    if (node.metadata.annotations?.[LOOPBACK_ANNOTATION] === loopbackPrefix) return node;
    return await client.mergePatch({ resource: NODES, namespace: '', name }, { metadata: { annotations } });
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error;
  }
  return client.create(NODES, '', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': architecture(),
        ...configuration.labels,
      },
    },
    spec: { podCIDR: `${addressPrefix}.0/24`, podCIDRs: [`${addressPrefix}.0/24`] },
  });
}

async function writeStatus(identity: NodeIdentity, node: KubernetesObject): Promise<void> {
  const { client, configuration, clock, hostIP, port } = identity;
  const status = {
    capacity: configuration.capacity,
    allocatable: configuration.capacity,
    addresses: [
      { type: 'InternalIP', address: hostIP },
      { type: 'Hostname', address: configuration.name },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    nodeInfo: {
      ...{ machineID: configuration.name, systemUUID: configuration.name, bootID: configuration.name },
      ...{ kernelVersion: 'process-node', osImage: 'process-node', containerRuntimeVersion: 'process-node://1' },
      ...{ kubeletVersion: 'process-node', kubeProxyVersion: '', operatingSystem: 'linux' },
      architecture: architecture(),
    },
    conditions: conditions(node, seconds(clock.now())),
  };
  const { name } = configuration;
  await client.mergePatch({ resource: NODES, namespace: '', name }, { status }, { subresource: 'status' });
}

function conditions(node: KubernetesObject, now: string): readonly object[] {
  const status = node['status'] as { readonly conditions?: readonly Readonly<Record<string, string>>[] } | undefined;
  const healthy = {
    MemoryPressure: ['False', 'KubeletHasSufficientMemory'],
    DiskPressure: ['False', 'KubeletHasNoDiskPressure'],
    PIDPressure: ['False', 'KubeletHasSufficientPID'],
    Ready: ['True', 'KubeletReady'],
  };
  return Object.entries(healthy).map(([type, [verdict, reason]]) => {
    const before = status?.conditions?.find((condition) => condition['type'] === type);
    const lastTransitionTime = before?.['status'] === verdict ? before?.['lastTransitionTime'] : now;
    return {
      type,
      status: verdict,
      reason,
      message: 'the process node runs',
      lastHeartbeatTime: now,
      lastTransitionTime,
    };
  });
}

async function renewLease({ client, configuration, clock }: NodeIdentity, node: KubernetesObject): Promise<void> {
  const { name } = configuration;
  const renewTime = microTime(clock.now());
  const ref = { resource: leases, namespace: leaseNamespace, name };
  try {
    await client.mergePatch(ref, { spec: { renewTime } });
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error;
    const owner = { apiVersion: 'v1', kind: 'Node', name, uid: node.metadata.uid };
    await client.create(leases, leaseNamespace, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace: leaseNamespace, ownerReferences: [owner] },
      spec: { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime },
    });
  }
}

function architecture(): string {
  return process.arch === 'x64' ? 'amd64' : process.arch;
}
