// NetworkPolicies as a network plugin evaluates them: what no policy selects is open, what one selects is what the
// policies together allow.
import { isJsonObject, valueAt } from '../../src/base/json.ts';
import type { Manifest } from './renders.ts';

export type Labels = Readonly<Record<string, string>>;

interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

interface Peer {
  readonly namespaceSelector?: Selector;
  readonly podSelector?: Selector;
  readonly ipBlock?: { readonly cidr: string };
}

interface Rule {
  readonly ports?: readonly { readonly protocol?: string; readonly port: number | string }[];
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
}

interface PolicySpec {
  readonly podSelector: Selector;
  readonly policyTypes: readonly ('Ingress' | 'Egress')[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
}

export interface Pod {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Labels;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  /** Whether it is told where MySQL is. */
  readonly usesMysql: boolean;
}

/** The pods of everything that has a template. */
export function podsOf(manifests: readonly Manifest[]): readonly Pod[] {
  return manifests.flatMap((manifest) => {
    const template = valueAt(manifest, ['spec', 'template']);
    if (!isJsonObject(template)) return [];
    const { containers } = template['spec'] as unknown as {
      readonly containers: readonly { readonly ports?: Pod['ports']; readonly env?: readonly { name: string }[] }[];
    };
    return {
      name: `${manifest.kind} ${manifest.metadata.name}`,
      namespace: manifest.metadata.namespace ?? '',
      labels: (valueAt(template, ['metadata', 'labels']) ?? {}) as Labels,
      ports: containers.flatMap(({ ports }) => ports ?? []),
      usesMysql: containers.some(({ env }) => env?.some(({ name }) => name === 'INGESTER_MYSQL_HOST') === true),
    };
  });
}

export function selects({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const has = key in labels;
      const among = has && values.includes(labels[key] ?? '');
      return { In: among, NotIn: !among, Exists: has, DoesNotExist: !has }[operator];
    })
  );
}

/** Where a connection comes from, or goes to: pods of a namespace with these labels, or an address beyond all pods. */
export type Other = { readonly namespaceLabels: Labels } | 'outside';

interface Connection {
  readonly direction: 'ingress' | 'egress';
  readonly other: Other;
  readonly port: number;
  readonly protocol?: 'TCP' | 'UDP';
}

export function isAllowed(policies: readonly Manifest[], pod: Pod, connection: Connection): boolean {
  const { direction } = connection;
  const type = direction === 'ingress' ? 'Ingress' : 'Egress';
  const selecting = policies
    .filter(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.namespace === pod.namespace)
    .map(({ spec }) => spec as unknown as PolicySpec)
    .filter(({ podSelector, policyTypes }) => policyTypes.includes(type) && selects(podSelector, pod.labels));
  if (selecting.length === 0) return true;
  return selecting.some((policy) => policy[direction]?.some((rule) => allows(rule, pod, connection)) === true);
}

function allows({ ports, from, to }: Rule, pod: Pod, { other, port, protocol = 'TCP' }: Connection): boolean {
  const toPort = ports?.some((each) => {
    const number =
      typeof each.port === 'number' ? each.port : pod.ports.find(({ name }) => name === each.port)?.containerPort;
    return number === port && (each.protocol ?? 'TCP') === protocol;
  });
  if (toPort === false) return false;
  const peers = from ?? to;
  return peers === undefined || peers.some((peer) => isPeer(peer, other));
}

function isPeer({ namespaceSelector, podSelector, ipBlock }: Peer, other: Other): boolean {
  if (ipBlock !== undefined) return other === 'outside';
  if (other === 'outside' || podSelector !== undefined) return false;
  return namespaceSelector !== undefined && selects(namespaceSelector, other.namespaceLabels);
}
