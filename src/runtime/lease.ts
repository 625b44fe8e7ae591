// The Lease object of coordination.k8s.io/v1 as leader election uses it; pure.
import type { KubernetesObject } from '../api/object.ts';
import { isJsonObject, type JsonObject } from '../base/json.ts';
import { leases } from '../kube/resources.ts';

export interface LeaseRecord {
  /** Empty: no holder, so it may be taken at once. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  readonly acquireTime: string;
  readonly renewTime: string;
  /** How often the holder changed. */
  readonly leaseTransitions: number;
}

export interface LeaseId {
  readonly namespace: string;
  readonly name: string;
}

export function leaseRecord(lease: KubernetesObject): LeaseRecord {
  const spec = isJsonObject(lease['spec']) ? lease['spec'] : {};
  return {
    holderIdentity: text(spec['holderIdentity']),
    leaseDurationSeconds: number(spec['leaseDurationSeconds']),
    acquireTime: text(spec['acquireTime']),
    renewTime: text(spec['renewTime']),
    leaseTransitions: number(spec['leaseTransitions']),
  };
}

/** The lease to write; what others put into its metadata or specification survives. */
export function leaseWith(
  id: LeaseId,
  lease: KubernetesObject | undefined,
  record: LeaseRecord,
  annotations?: Readonly<Record<string, string>>,
): object {
  const spec: JsonObject = lease !== undefined && isJsonObject(lease['spec']) ? lease['spec'] : {};
  return {
    ...lease,
    apiVersion: `${leases.group}/${leases.version}`,
    kind: 'Lease',
    metadata: {
      ...(lease?.metadata ?? id),
      ...(annotations && { annotations: { ...lease?.metadata.annotations, ...annotations } }),
    },
    spec: { ...spec, ...record },
  };
}

/** Kubernetes' MicroTime has six digits. */
export function microTime(date: Date): string {
  return date.toISOString().replace('Z', '000Z');
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function number(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}
