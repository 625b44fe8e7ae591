// Where a connection into the cluster ends; pure but for the choice among equal endpoints. The rules are kube-proxy's:
// a Service leads to its ready endpoints, to serving ones that terminate where no other is left, and else nowhere.
import type { KubernetesObject } from '../../../src/api/object.ts';
import { CodedError } from '../../../src/base/errors.ts';
import { LOOPBACK_ANNOTATION, loopbackBehind } from './address-pool.ts';

/** A real address on this machine. */
export interface Destination {
  readonly host: string;
  readonly port: number;
}

export interface NetworkState {
  services(): readonly KubernetesObject[];
  slices(): readonly KubernetesObject[];
  nodes(): readonly KubernetesObject[];
}

interface Service {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly name?: string; readonly port: number }[];
  };
}

/** Go writes an empty list as null. */
interface Slice {
  readonly metadata: { readonly namespace: string; readonly labels?: Readonly<Record<string, string>> };
  readonly endpoints?:
    | null
    | readonly {
        readonly addresses: readonly string[];
        readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
      }[];
  readonly ports?: null | readonly { readonly name?: string; readonly port?: number }[];
}

/** The connection is refused, as it would be in a cluster. */
export class NoRouteError extends CodedError {
  constructor(message: string) {
    super('LOCAL_NO_ROUTE', message, { retry: 'yes' });
  }
}

export function routeTo(
  host: string,
  port: number,
  state: NetworkState,
  choose: (count: number) => number = (count) => Math.floor(Math.random() * count),
): Destination {
  const service = findService(host, state);
  if (service === undefined) return { host: realAddress(host, state), port };
  const endpoints = endpointsOf(service, port, state);
  const endpoint = endpoints[choose(endpoints.length)];
  if (endpoint !== undefined) return { host: realAddress(endpoint.host, state), port: endpoint.port };
  const { name, namespace } = service.metadata;
  throw new NoRouteError(`Service ${namespace}/${name} has no ready endpoint for port ${port}`);
}

function findService(host: string, state: NetworkState): Service | undefined {
  const [, name, namespace] = /^([^.]+)\.([^.]+)\.svc(?:\.cluster\.local)?$/.exec(host) ?? [];
  const services = state.services() as unknown as readonly Service[];
  const found = services.find(({ metadata, spec }) =>
    name === undefined ? spec.clusterIP === host : metadata.name === name && metadata.namespace === namespace,
  );
  if (found === undefined && name !== undefined) throw new NoRouteError(`there is no Service for ${host}`);
  return found;
}

function endpointsOf(service: Service, port: number, state: NetworkState): readonly Destination[] {
  const wanted = service.spec.ports?.find((each) => each.port === port);
  if (wanted === undefined) return [];
  const slices = (state.slices() as unknown as readonly Slice[]).filter(
    ({ metadata }) =>
      metadata.namespace === service.metadata.namespace &&
      metadata.labels?.['kubernetes.io/service-name'] === service.metadata.name,
  );
  const all = slices.flatMap(({ endpoints, ports }) => {
    const target = ports?.find(({ name }) => (name ?? '') === (wanted.name ?? ''))?.port;
    if (target === undefined) return [];
    return (endpoints ?? []).map(({ addresses, conditions = {} }) => ({
      host: addresses[0] ?? '',
      port: target,
      conditions,
    }));
  });
  const ready = all.filter(({ conditions }) => conditions.ready !== false);
  return ready.length > 0 ? ready : all.filter(({ conditions: { serving, terminating } }) => serving && terminating);
}

/** Addresses of pods and nodes are a documentation range's; the node says which loopback addresses stand for them. */
function realAddress(address: string, state: NetworkState): string {
  const prefix = address.split('.').slice(0, 3).join('.');
  const node = state.nodes().find((each) => {
    const spec = each['spec'] as { readonly podCIDR?: string } | undefined;
    return spec?.podCIDR?.startsWith(`${prefix}.`);
  });
  const loopback = node?.metadata.annotations?.[LOOPBACK_ANNOTATION];
  if (loopback === undefined) throw new NoRouteError(`no node has the address ${address}`);
  return loopbackBehind(address, loopback);
}
