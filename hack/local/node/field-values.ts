// What the downward API says about a pod; pure. The fields are those of
// https://kubernetes.io/docs/concepts/workloads/pods/downward-api/
import type { Container, FieldRef, Pod, ResourceFieldRef } from './pod.ts';
import { inUnits } from './quantity.ts';

export interface PodAddresses {
  readonly podIP: string;
  readonly hostIP: string;
}

type Read = (pod: Pod, addresses: PodAddresses) => string;

const fields: Readonly<Record<string, Read>> = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace,
  'metadata.uid': ({ metadata }) => metadata.uid,
  'metadata.labels': ({ metadata }) => lines(metadata.labels),
  'metadata.annotations': ({ metadata }) => lines(metadata.annotations),
  'spec.nodeName': ({ spec }) => spec.nodeName ?? '',
  'spec.serviceAccountName': ({ spec }) => spec.serviceAccountName ?? '',
  'status.podIP': (_pod, { podIP }) => podIP,
  'status.podIPs': (_pod, { podIP }) => podIP,
  'status.hostIP': (_pod, { hostIP }) => hostIP,
  'status.hostIPs': (_pod, { hostIP }) => hostIP,
};

/** Undefined where the field does not exist. */
export function fieldValue(pod: Pod, addresses: PodAddresses, { fieldPath }: FieldRef): string | undefined {
  const [, map, key] = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(fieldPath) ?? [];
  if (map === 'labels' || map === 'annotations') return pod.metadata[map]?.[key ?? ''] ?? '';
  return Object.hasOwn(fields, fieldPath) ? fields[fieldPath]?.(pod, addresses) : undefined;
}

/** A limit that is not set is what the node has; a request that is not set is nothing. */
export function resourceValue(
  container: Container,
  { resource, divisor }: ResourceFieldRef,
  capacity: Readonly<Record<string, string>>,
): string | undefined {
  const [, list, name = ''] = /^(limits|requests)\.(.+)$/.exec(resource) ?? [];
  if (list === 'limits') return inUnits(container.resources?.limits?.[name] ?? capacity[name] ?? '0', divisor);
  if (list === 'requests') return inUnits(container.resources?.requests?.[name] ?? '0', divisor);
  return undefined;
}

function lines(map: Readonly<Record<string, string>> = {}): string {
  return Object.entries(map)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n');
}
