// What leads to the components, and what watches them.
import { type ComponentName, componentNames, type IngesterSpec } from '../../api/ingester/spec.ts';
import { INGESTER_LABEL } from '../../api/names.ts';
import { componentDefinitions } from './components.ts';
import { type Child, childKinds } from './kinds.ts';
import { childMetadata, childName, MAINTENANCE, type Parent, selectorLabels } from './names.ts';

/** The Service of query, which leads to query or to the maintenance page; the same object all the time. */
export function serviceChildren(parent: Parent, spec: IngesterSpec, to: 'query' | 'maintenance'): readonly Child[] {
  if (spec.components?.query === undefined) return [];
  const selector = selectorLabels(parent, to === 'query' ? 'query' : MAINTENANCE);
  const ports = [
    { name: 'https', port: 443, targetPort: 'https', protocol: 'TCP' },
    { name: 'health', port: 8081, targetPort: 'health', protocol: 'TCP' },
  ];
  const body = { metadata: childMetadata(parent, 'query'), spec: { selector, ports } };
  return [{ kind: childKinds.service, name: childName(parent, 'query'), body }];
}

/** Not gone while components are drained: routes take minutes to come back with some controllers. */
export function networkChildren(parent: Parent, spec: IngesterSpec): readonly Child[] {
  return [...routes(parent, spec), ...policies(parent, spec), ...monitors(parent, spec)];
}

function routes(parent: Parent, spec: IngesterSpec): readonly Child[] {
  const { networking } = spec;
  if (networking === undefined || spec.components?.query === undefined) return [];
  const { hosts, ingress, httpRoute } = networking;
  const name = childName(parent, 'query');
  const metadata = childMetadata(parent, 'query');
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
    children.push({ kind: childKinds.ingress, name, body });
  }
  if (httpRoute !== undefined) {
    const rules = [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], backendRefs: [{ name, port: 443 }] }];
    const body = { metadata, spec: { hostnames: hosts, parentRefs: httpRoute.parentRefs, rules } };
    children.push({ kind: childKinds.httpRoute, name, body });
  }
  return children;
}

function policies(parent: Parent, spec: IngesterSpec): readonly Child[] {
  const { networkPolicy } = spec;
  if (networkPolicy === undefined) return [];
  return componentNames
    .filter((name) => spec.components?.[name] !== undefined)
    .map((name) => {
      const own = childName(parent, name);
      const ports = componentDefinitions[name].ports.map(({ containerPort }) => ({
        port: containerPort,
        protocol: 'TCP',
      }));
      const body = {
        metadata: childMetadata(parent, name),
        spec: {
          podSelector: { matchLabels: selectorLabels(parent, name) },
          policyTypes: ['Ingress'],
          ingress: [{ ports }, ...(networkPolicy.extraIngress ?? [])],
        },
      };
      return { kind: childKinds.networkPolicy, name: own, body };
    });
}

function monitors(parent: Parent, spec: IngesterSpec): readonly Child[] {
  const { monitoring } = spec;
  if (monitoring === undefined) return [];
  const part: ComponentName = 'query';
  const metadata = { ...childMetadata(parent, part, parent.name) } as {
    readonly labels: Readonly<Record<string, string>>;
  };
  const body = {
    metadata: { ...metadata, labels: { ...monitoring.labels, ...metadata.labels } },
    spec: {
      selector: { matchLabels: { [INGESTER_LABEL]: parent.name } },
      endpoints: [{ port: 'health', path: '/metrics', interval: monitoring.interval ?? '30s' }],
    },
  };
  return [{ kind: childKinds.serviceMonitor, name: parent.name, body }];
}
