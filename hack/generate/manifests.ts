// Manifests that list the kinds: a plural that is typed by hand and wrong is accepted by the API server and matches
// nothing.
import { stringify } from 'yaml';
import type { KindDefinition } from '../../src/api/kind.ts';
import { GROUP } from '../../src/api/names.ts';
import { crdName } from '../../src/kinds/kind-names.ts';
import { calledByUrl, mutatingWebhook, validatingWebhooks } from './admission.ts';
import { admissionPolicies } from './admission-policies.ts';
import { INGESTER_CRD } from './crds/ingester.ts';
import { decisionPolicies } from './decision-policy.ts';
import { optionalKindOutputs } from './optional-kinds.ts';
import { generatedNotice, type Output } from './output.ts';

const labels = { 'app.kubernetes.io/name': 'michelangelo-ingester' };

export function manifestOutputs(
  kinds: readonly KindDefinition[],
  openFields: readonly (readonly string[])[],
): readonly Output[] {
  const ingested = kinds.filter((kind) => !kind.optional);
  const [mutating, validating] = [mutatingWebhook(ingested), validatingWebhooks(ingested, openFields)];
  return [
    output('config/base/rbac/reconciler-role.yaml', reconcilerRole(ingested.map(({ plural }) => plural))),
    output('config/base/rbac/webhook-role.yaml', webhookRole()),
    output('config/base/webhook/mutating.yaml', mutating),
    output('config/base/webhook/validating.yaml', validating),
    output('config/components/admission-policies/policies.yaml', ...admissionPolicies(ingested)),
    output('config/components/lifecycle/decisions.yaml', ...decisionPolicies()),
    output('config/components/query/writes.yaml', ...queryWrites(ingested.map(({ plural }) => plural))),
    output('config/overlays/local/mutating-by-url.yaml', calledByUrl(mutating)),
    output('config/overlays/local/validating-by-url.yaml', calledByUrl(validating)),
    output('crds/kustomization.yaml', kustomization(ingested.map(crdName))),
    output('crds/ingester/kustomization.yaml', kustomization([INGESTER_CRD])),
    ...optionalKindOutputs(kinds, (listed) => listing(listed, openFields)),
  ];
}

/** Every document that lists kinds which an overlay can add. */
function listing(kinds: readonly KindDefinition[], openFields: readonly (readonly string[])[]): readonly object[] {
  const plurals = kinds.map(({ plural }) => plural);
  return [
    reconcilerRole(plurals),
    ...queryWrites(plurals),
    mutatingWebhook(kinds),
    validatingWebhooks(kinds, openFields),
    ...admissionPolicies(kinds),
  ];
}

function output(path: string, ...documents: readonly object[]): Output {
  const content = documents.map((document) => stringify(document, { lineWidth: 0 })).join('---\n');
  return { path, content: generatedNotice('#', 'src/kinds/catalogue.ts and hack/generate/manifests.ts') + content };
}

/**
 * Exactly the calls the reconciler makes. It never creates or updates an object; it writes events beside them, in their
 * namespaces.
 */
function reconcilerRole(plurals: readonly string[]): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'ingester-reconciler', labels },
    rules: [
      { apiGroups: [GROUP], resources: plurals, verbs: ['get', 'list', 'watch', 'patch', 'delete'] },
      { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['list'] },
      { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
      // Its uid names the cluster.
      { apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] },
    ],
  };
}

/**
 * What the validating rules ask: what a user may do, and whether a kind has objects before its CRD takes something
 * away, or goes; also a kind of a newer original, which we do not know. The webhook writes nothing.
 */
function webhookRole(): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'ingester-webhook', labels },
    rules: [
      { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
      { apiGroups: [GROUP], resources: ['*'], verbs: ['list'] },
    ],
  };
}

/**
 * What the writes of the query API need: a restore creates an object and writes its status, a deletion sets an
 * annotation, which takes the right to delete as well. The requesting user must have the same rights. Objects that are in
 * MySQL only are written where the query API may delete, and sees that no such object lives.
 */
function queryWrites(plurals: readonly string[]): readonly object[] {
  const metadata = { name: 'ingester-query-writes', labels };
  const group = 'rbac.authorization.k8s.io';
  const status = plurals.map((plural) => `${plural}/status`);
  return [
    {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRole',
      metadata,
      rules: [
        { apiGroups: [GROUP], resources: plurals, verbs: ['get', 'create', 'patch', 'delete'] },
        { apiGroups: [GROUP], resources: status, verbs: ['patch'] },
      ],
    },
    {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: group, kind: 'ClusterRole', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', name: 'ingester-query', namespace: 'ingester-system' }],
    },
  ];
}

function kustomization(names: readonly string[]): object {
  return {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: names.map((name) => `${name}.yaml`),
  };
}
