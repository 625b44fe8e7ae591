// What each component needs of the network, read from the same manifests, against the policies that are installed with it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { findBinaries } from '../../hack/local/binaries.ts';
import type { IngesterSpec } from '../../src/api/ingester/spec.ts';
import { valueAt } from '../../src/base/json.ts';
import { componentChildren, maintenanceChildren } from '../../src/lifecycle/children/components.ts';
import type { Child } from '../../src/lifecycle/children/kinds.ts';
import { networkChildren, serviceChildren } from '../../src/lifecycle/children/network.ts';
import { isAllowed, type Labels, type Other, type Pod, podsOf, selects } from '../support/network-policies.ts';
import { type Manifest, manifestsOf, type Recipe, renderText } from '../support/renders.ts';

const NS = 'ingester-system';
const METRICS = 'ingester.michelangelo.api/metrics';
const queried = ['query', 'query-certificate', 'tombstones'];
/** Every component with pods, in the combinations that can be installed. */
const installed: Readonly<Record<string, Recipe>> = {
  production: { folder: 'config/overlays/production' },
  everything: {
    base: 'default',
    components: [...queried, 'ha', 'prometheus', 'probe', 'uninstall-hook', 'deletion-protection', 'network-policy'],
  },
  lifecycle: {
    base: 'default',
    components: ['query', 'query-certificate', 'lifecycle', 'lifecycle-query', 'prometheus', 'network-policy'],
  },
  'no cert-manager': { base: 'overlays/no-cert-manager', components: [...queried, 'prometheus', 'network-policy'] },
  'policies instead of a webhook': {
    base: 'base',
    components: ['ha', 'network-policy', 'prometheus', 'admission-policies', 'migrate'],
  },
};

const COLLECTOR = 4318;

const spec: IngesterSpec = {
  version: '1.0.0',
  database: { credentialsSecret: 'mysql' },
  components: { sync: {}, query: { certificateSecret: 'tls' }, audit: {} },
  monitoring: {},
};

/** What the lifecycle controller makes beside the bundle, during maintenance and otherwise. */
function childrenOf(ingester: IngesterSpec): readonly Manifest[] {
  const parent = { namespace: NS, name: 'one', uid: 'u-1' };
  const children: readonly Child[] = [
    ...componentChildren(parent, ingester, {}),
    ...maintenanceChildren(parent, ingester),
    ...networkChildren(parent, ingester),
    ...(['query', 'maintenance'] as const).flatMap((to) => serviceChildren(parent, ingester, to)),
  ];
  return children.map(({ kind, body }) => ({ kind: kind.kind, ...body }) as unknown as Manifest);
}

/** The Services that the API server calls: of webhooks, and of the APIs behind it. */
function calledByApiServer(manifests: readonly Manifest[]): ReadonlySet<string> {
  const webhooks = manifests
    .filter(({ kind }) => kind.endsWith('WebhookConfiguration'))
    .flatMap(({ webhooks: all }) => all as unknown as { clientConfig: { service: { name: string } } }[])
    .map(({ clientConfig }) => clientConfig.service.name);
  const apis = manifests
    .filter(({ kind }) => kind === 'APIService')
    .map((api) => String(valueAt(api, ['spec', 'service', 'name'])));
  // The lifecycle controller's Service of the query API is what its users register.
  return new Set([...webhooks, ...apis, 'one-query']);
}

interface Target {
  readonly service: string;
  readonly pod: Pod;
  readonly port: number;
  readonly portName: string;
}

/** Each port of each Service with each pod behind it. */
function targetsOf(manifests: readonly Manifest[]): readonly Target[] {
  const pods = podsOf(manifests);
  return manifests
    .filter(({ kind }) => kind === 'Service')
    .flatMap((service) => {
      const selector = valueAt(service, ['spec', 'selector']) as Labels;
      const ports = valueAt(service, ['spec', 'ports']) as { name: string; targetPort: string }[];
      const behind = pods.filter(({ labels }) => selects({ matchLabels: selector }, labels));
      return behind.flatMap((pod) =>
        ports.map(({ name, targetPort }) => ({
          service: service.metadata.name,
          pod,
          portName: name,
          port: pod.ports.find((port) => port.name === targetPort)?.containerPort ?? 0,
        })),
      );
    });
}

const monitoring = { namespaceLabels: { [METRICS]: 'true' } };
const others = { namespaceLabels: { 'kubernetes.io/metadata.name': 'tenant' } };
const ingress = (manifests: readonly Manifest[], { pod, port }: Target, other: Other): boolean =>
  isAllowed(manifests, pod, { direction: 'ingress', other, port });

describe('the network policies', () => {
  let kubectl: string;
  before(async () => {
    const folder = await findBinaries({ env: process.env, progress: () => undefined, signal: undefined });
    kubectl = join(folder, 'kubectl');
  });
  const installedManifests = async (name: string): Promise<readonly Manifest[]> => {
    const recipe = installed[name];
    assert.ok(recipe !== undefined);
    const bundle = manifestsOf(await renderText(kubectl, recipe));
    return name === 'lifecycle' ? [...bundle, ...childrenOf(spec)] : bundle;
  };

  for (const name of Object.keys(installed)) {
    it(`let the API server reach every server of ${name}, Prometheus every metric, and no other client either`, async () => {
      const manifests = await installedManifests(name);
      const called = calledByApiServer(manifests);
      const targets = targetsOf(manifests);
      const wrong = targets.flatMap((target) => {
        const { service, pod, portName, port } = target;
        const isMetrics = [8081, 8443].includes(port);
        const expected = isMetrics
          ? [false, false, true]
          : [called.has(service), called.has(service), called.has(service)];
        const actual = ['outside' as const, others, monitoring].map((other) => ingress(manifests, target, other));
        return expected.join() === actual.join() ? [] : [`${pod.name} ${portName} ${port}: ${actual.join()}`];
      });
      assert.deepEqual(wrong, []);
      assert.ok(targets.length > 0);
    });

    it(`let every pod of ${name} ask for names and call the API server, and those with a database MySQL`, async () => {
      const manifests = await installedManifests(name);
      const pods = podsOf(manifests);
      assert.ok(pods.length > 1);
      const wrong = pods.flatMap((pod) => {
        const to = (port: number, protocol: 'TCP' | 'UDP' = 'TCP'): boolean =>
          isAllowed(manifests, pod, { direction: 'egress', other: 'outside', port, protocol });
        const needed = [to(53), to(53, 'UDP'), to(443), to(6443), !pod.usesMysql || to(3306)];
        return needed.every(Boolean) && !to(25) ? [] : [`${pod.name}: ${needed.join()}`];
      });
      assert.deepEqual(wrong, []);
    });
  }

  it('let spans out with the component tracing, and not without it', async () => {
    const components = ['network-policy', 'lifecycle', 'query', 'query-certificate'];
    for (const [added, expected] of [
      [[], false],
      [['tracing'], true],
    ] as const) {
      const recipe = { base: 'default', components: [...components, ...added] };
      const manifests = manifestsOf(await renderText(kubectl, recipe));
      const out = podsOf(manifests).map((pod) =>
        isAllowed(manifests, pod, { direction: 'egress', other: 'outside', port: COLLECTOR, protocol: 'TCP' }),
      );
      assert.ok(out.length > 1 && out.every((is) => is === expected), String(added));
    }
  });

  it('of an Ingester resource let clients reach the query API and its page, and Prometheus the metrics', () => {
    const children = childrenOf({ ...spec, networkPolicy: {} });
    const wrong = targetsOf(children).filter((target) => {
      const isMetrics = target.port === 8081;
      return ingress(children, target, others) === isMetrics || !ingress(children, target, monitoring);
    });
    assert.deepEqual(wrong, []);
    assert.ok(targetsOf(children).some(({ pod }) => pod.name === 'Deployment one-maintenance-page'));
    const pods = podsOf(children);
    for (const pod of pods) {
      assert.equal(isAllowed(children, pod, { direction: 'ingress', other: others, port: 22 }), false, pod.name);
    }
  });
});
