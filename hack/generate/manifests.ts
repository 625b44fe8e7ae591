// Manifests that list the kinds: a plural that is typed by hand and wrong is accepted by the API server and matches
// nothing.
import { stringify } from 'yaml';
import type { KindDefinition } from '../../src/api/kind.ts';
import { crdName } from '../../src/api/kinds.ts';
import { GROUP, VERSION } from '../../src/api/names.ts';
import { generatedNotice, type Output } from './output.ts';

const NAMESPACE = 'ingester-system';
const labels = { 'app.kubernetes.io/name': 'michelangelo-ingester' };

export function manifestOutputs(kinds: readonly KindDefinition[]): readonly Output[] {
  const plurals = kinds.filter((kind) => !kind.optional).map((kind) => kind.plural);
  return [
    output('config/base/rbac/reconciler-role.yaml', reconcilerRole(plurals)),
    output('config/base/webhook/mutating.yaml', mutatingWebhook(plurals)),
    output('crds/kustomization.yaml', crdKustomization(kinds)),
  ];
}

function output(path: string, document: object): Output {
  const content = stringify(document, { lineWidth: 0 });
  return { path, content: generatedNotice('#', 'schema/kinds/catalogue.ts') + content };
}

/** Exactly the calls the reconciler makes. It never creates or updates an object. */
function reconcilerRole(plurals: readonly string[]): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'ingester-reconciler', labels },
    rules: [{ apiGroups: [GROUP], resources: plurals, verbs: ['get', 'list', 'watch', 'patch', 'delete'] }],
  };
}

/**
 * Fail: an object created without the finalizer is worse than one that has to be created again. The rules are narrow,
 * so nothing but a create of our kinds waits for the webhook; no update and no delete ever does.
 */
function mutatingWebhook(plurals: readonly string[]): object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: 'ingester-finalizer', labels },
    webhooks: [
      {
        name: 'finalizer.ingester.michelangelo.api',
        admissionReviewVersions: ['v1'],
        clientConfig: { service: { name: 'ingester-webhook', namespace: NAMESPACE, path: '/mutate', port: 443 } },
        rules: [
          {
            apiGroups: [GROUP],
            apiVersions: [VERSION],
            operations: ['CREATE'],
            resources: plurals,
            scope: 'Namespaced',
          },
        ],
        failurePolicy: 'Fail',
        matchPolicy: 'Equivalent',
        reinvocationPolicy: 'Never',
        sideEffects: 'None',
        timeoutSeconds: 5,
      },
    ],
  };
}

function crdKustomization(kinds: readonly KindDefinition[]): object {
  return {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: kinds.filter((kind) => !kind.optional).map((kind) => `${crdName(kind)}.yaml`),
  };
}
