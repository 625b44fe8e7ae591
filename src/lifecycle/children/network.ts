// What leads to the components, and what watches them.
import { type ComponentName, componentNames, type IngesterSpec } from '../../api/ingester/spec.ts';
import { INGESTER_LABEL } from '../../api/names.ts';
import { componentDefinitions, health } from './component-pod.ts';
import { type Child, childKinds, keyOf } from './kinds.ts';
import {
  childMetadata,
  childName,
  MAINTENANCE,
  METRICS_JOB_LABEL,
  type Parent,
  type Part,
  selectorLabels,
} from './names.ts';

/** The Service of query, which leads to query or to the maintenance page; the same object all the time. */
export function serviceChildren(parent: Parent, spec: IngesterSpec, to: 'query' | 'maintenance'): readonly Child[] {
  if (spec.components?.query === undefined) return [];
  const selector = selectorLabels(parent, to === 'query' ? 'query' : MAINTENANCE);
  const body = { metadata: childMetadata(parent, 'query'), spec: serviceSpec(selector, 'https') };
  return [{ kind: childKinds.service, name: childName(parent, 'query'), body }];
}

/** Of a Service that leads to the port of that name, from the port for HTTPS. */
export function serviceSpec(selector: object, targetPort: string): object {
  return { selector, ports: [{ name: 'https', port: 443, targetPort, protocol: 'TCP' }] };
}

/** Of a Service without an address, for Prometheus. */
export function metricsServiceSpec(selector: object): object {
  return {
    clusterIP: 'None',
    // Also of pods that are not ready: that is when their metrics are read.
    publishNotReadyAddresses: true,
    selector,
    ports: [{ name: 'metrics', port: health.containerPort, targetPort: health.name, protocol: 'TCP' }],
  };
}

/** They stay while components are quiesced: with some controllers, routes take minutes to come back. */
export function networkChildren(parent: Parent, spec: IngesterSpec): readonly Child[] {
  return [...routes(parent, spec), ...policies(parent, spec), ...monitors(parent, spec)];
}

function routes(parent: Parent, spec: IngesterSpec): readonly Child[] {
  const { networking } = spec;
  if (networking === undefined || spec.components?.query === undefined) return [];
  const { hosts, ingress, httpRoute } = networking;
  const name = childName(parent, 'query');
  const metadata = childMetadata(parent, 'query');
  const needs = [keyOf({ kind: childKinds.service, name })];
  const children: Child[] = [];
  if (ingress !== undefined) {
    const { className, tlsSecret, annotations } = ingress;
    const backend = { service: { name, port: { name: 'https' } } };
    const rules = hosts.map((host) => ({ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }));
    const tls = tlsSecret === undefined ? {} : { tls: [{ hosts, secretName: tlsSecret }] };
    const ingressClass = className === undefined ? {} : { ingressClassName: className };
    const body = {
      metadata: { ...metadata, annotations: annotations ?? {} },
      spec: { ...ingressClass, ...tls, rules },
    };
    children.push({ kind: childKinds.ingress, name, body, needs });
  }
  if (httpRoute !== undefined) {
    const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], backendRefs: [{ name, port: 443 }] }];
    const body = { metadata, spec: { hostnames: hosts, parentRefs: httpRoute.parentRefs, rules } };
    children.push({ kind: childKinds.httpRoute, name, body, needs });
  }
  return children;
}

/** As in config/components/network-policy: the kubelet needs no rule. */
const METRICS_READERS = { matchLabels: { 'ingester.michelangelo.api/metrics': 'true' } };

function policies(parent: Parent, spec: IngesterSpec): readonly Child[] {
  const { networkPolicy, components } = spec;
  if (networkPolicy === undefined) return [];
  const named = componentNames.filter((name) => components?.[name] !== undefined);
  const parts: { readonly part: Part; readonly like: ComponentName }[] = named.map((name) => ({
    part: name,
    like: name,
  }));
  // It stands in for the query API, and its clients are the same.
  if (components?.query !== undefined) parts.push({ part: MAINTENANCE, like: 'query' });
  return parts.map(({ part, like }) => {
    const name = childName(parent, part);
    const { ports } = componentDefinitions[like];
    const [metrics = [], served = []] = [true, false].map((isHealth) =>
      ports
        .filter(({ name }) => (name === 'health') === isHealth)
        .map(({ containerPort }) => ({ port: containerPort, protocol: 'TCP' })),
    );
    // A rule without ports would open all of them.
    const open = served.length === 0 ? [] : [{ ports: served }];
    const body = {
      metadata: childMetadata(parent, part),
      spec: {
        podSelector: { matchLabels: selectorLabels(parent, part) },
        policyTypes: ['Ingress'],
        ingress: [
          { from: [{ namespaceSelector: METRICS_READERS }], ports: metrics },
          ...open,
          ...(networkPolicy.extraIngress ?? []),
        ],
      },
    };
    return { kind: childKinds.networkPolicy, name, body };
  });
}

/** Value of the label `job`, by which alerts and dashboard know what a series is of: as in the plain bundle. */
const METRICS_JOBS: Readonly<Record<ComponentName, string>> = {
  sync: 'ingester-reconciler-metrics',
  audit: 'ingester-audit-metrics',
  query: 'ingester-query-metrics',
};

/** A Service of its own leads to the metrics of each component: the one of query leads to the maintenance page at times. */
function monitors(parent: Parent, spec: IngesterSpec): readonly Child[] {
  const { monitoring } = spec;
  if (monitoring === undefined) return [];
  const metadata = (part: ComponentName, name: string, labels: object = {}): object => {
    const own = childMetadata(parent, part, name) as { readonly labels: object };
    return { ...own, labels: { ...labels, ...own.labels } };
  };
  const services = componentNames
    .filter((part) => spec.components?.[part] !== undefined)
    .map((part) => {
      const name = `${childName(parent, part)}-metrics`;
      const body = {
        metadata: metadata(part, name, { [METRICS_JOB_LABEL]: METRICS_JOBS[part] }),
        spec: metricsServiceSpec(selectorLabels(parent, part)),
      };
      return { kind: childKinds.service, name, body };
    });
  const body = {
    metadata: metadata('sync', parent.name, monitoring.labels),
    spec: {
      jobLabel: METRICS_JOB_LABEL,
      selector: {
        matchLabels: { [INGESTER_LABEL]: parent.name },
        matchExpressions: [{ key: METRICS_JOB_LABEL, operator: 'Exists' }],
      },
      endpoints: [{ port: 'metrics', path: '/metrics', interval: monitoring.interval ?? '30s' }],
    },
  };
  return [...services, { kind: childKinds.serviceMonitor, name: parent.name, body }];
}
