// What the component production does to everything that is listed before it: read from the manifests.
import { isDeepStrictEqual } from 'node:util';
import { valueAt } from '../../src/base/json.ts';
import { type Manifest, nameOf } from './renders.ts';

type Rule = (manifest: Manifest, all: readonly Manifest[]) => boolean;

const annotation = ({ metadata }: Manifest, name: string): unknown => valueAt(metadata, ['annotations', name]);
const text = (value: unknown): string => JSON.stringify(value ?? '');
const pod = (manifest: Manifest): unknown => valueAt(manifest, ['spec', 'template', 'spec']);

const outlives: Rule = (manifest) =>
  annotation(manifest, 'kustomize.toolkit.fluxcd.io/prune') === 'disabled' &&
  text(annotation(manifest, 'argocd.argoproj.io/sync-options')).includes('Prune=false,Delete=false');

/** Of the operator of Prometheus: nothing waits for them. */
const withoutWave = /^(ServiceMonitor|PrometheusRule|Job ingester-uninstall)/;

const rules: Readonly<Record<string, readonly [of: RegExp, rule: Rule]>> = {
  'has no disruption budget': [
    /^Deployment /,
    (deployment, all) =>
      all.some(
        (other) =>
          other.kind === 'PodDisruptionBudget' &&
          isDeepStrictEqual(valueAt(other, ['spec', 'selector']), valueAt(deployment, ['spec', 'selector'])),
      ),
  ],
  'has no priority': [/^Deployment /, (deployment) => text(pod(deployment)).includes('"system-cluster-critical"')],
  'is not spread over nodes and zones': [
    /^Deployment /,
    (deployment) =>
      (text(pod(deployment)).match(/"matchLabelKeys":\["app.kubernetes.io\/component"/g) ?? []).length === 2,
  ],
  'serves its metrics to all clients': [
    /^Deployment /,
    (deployment) => text(pod(deployment)).includes('"INGESTER_METRICS_BIND_ADDRESS","value":":8443"'),
  ],
  'is scraped without TLS': [
    /^Service .*-metrics$/,
    (service) => text(valueAt(service, ['spec', 'ports'])).includes('"port":8443'),
  ],
  'is substituted by Flux': [
    /./,
    (manifest) => annotation(manifest, 'kustomize.toolkit.fluxcd.io/substitute') === 'disabled',
  ],
  'has no wave': [
    /./,
    (manifest) =>
      withoutWave.test(`${manifest.kind} ${manifest.metadata.name}`) ||
      annotation(manifest, 'argocd.argoproj.io/sync-wave') !== undefined,
  ],
  'may be pruned': [/^(CustomResourceDefinition|Namespace) /, outlives],
};

/** What is missing, and where. */
export function unlikeProduction(manifests: readonly Manifest[]): readonly string[] {
  return Object.entries(rules).flatMap(([problem, [of, rule]]) =>
    manifests
      .filter((manifest) => of.test(`${manifest.kind} ${manifest.metadata.name}`) && !rule(manifest, manifests))
      .map((manifest) => `${nameOf(manifest)} ${problem}`),
  );
}
