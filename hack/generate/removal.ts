// Manifests for the removal of the bundle: what keeps it from being removed too early, and what the uninstall may do.
import { stringify } from 'yaml';
import type { KindDefinition } from '../../src/api/kind.ts';
import { GROUP } from '../../src/api/names.ts';
import { crdName } from '../../src/kinds/kind-names.ts';
import { generatedNotice, type Output } from './output.ts';

const NAMESPACE = 'ingester-system';
const labels = { 'app.kubernetes.io/name': 'michelangelo-ingester' };
/** Every admission configuration the bundle ships, whatever its kind. */
const ADMISSION_NAMES = [
  'ingester-finalizer',
  'ingester-rules',
  'ingester-objects',
  'ingester-new-objects',
  'ingester-versions',
  'ingester-permitted',
  'ingester-decisions',
  'ingester-decision-by',
  'ingester-crd-deletion',
];

/**
 * What the reconciler reads and writes. The last is its configuration in the Helm chart and in the release; in an overlay it
 * has a hash in its name, and GitOps prunes the old ones while the bundle is in use.
 */
const CONFIG_MAPS = [
  'ingester-uninstall',
  'ingester-control',
  'ingester-status',
  'ingester-admission-record',
  'ingester-reconciler-config',
];

/** CEL: whether what is deleted has the label. */
function labelled(label: string, value: string): string {
  return `oldObject.metadata.?labels['app.kubernetes.io/${label}'].orValue('') == '${value}'`;
}

/** What runs the reconciler where the lifecycle controller is installed: its children go with it. A canary has no reconciler of use. */
const INGESTER = { group: 'ingester.michelangelo.api', resource: 'ingesters' };
const isIngester =
  `(request.resource.group == '${INGESTER.group}' && request.resource.resource == '${INGESTER.resource}' && ` +
  "oldObject.metadata.?labels['michelangelo/canary'].orValue('') != 'true')";

/** That of the query API. */
const REGISTRATION = 'v2.stored.michelangelo.api';

export function removalOutputs(kinds: readonly KindDefinition[]): readonly Output[] {
  return [
    output(
      'config/components/deletion-protection/policy.yaml',
      deletionProtectionPolicy([...kinds.map(crdName), `${INGESTER.resource}.${INGESTER.group}`]),
    ),
    output('config/components/uninstall-hook/rbac.yaml', ...uninstallRbac(kinds.map((kind) => kind.plural))),
  ];
}

function output(path: string, ...documents: readonly object[]): Output {
  const content = documents.map((document) => stringify(document, { lineWidth: 0 })).join('---\n');
  return { path, content: generatedNotice('#', 'src/kinds/catalogue.ts') + content };
}

/**
 * Denies deleting what guarded objects need to lose the finalizer, until the uninstall marker says that none is left. The names are
 * compared in CEL: a resourceNames rule does not see the deletion of a collection.
 */
function deletionProtectionPolicy(crds: readonly string[]): object {
  const isOurs = (group: string, resource: string, name: string, namespace = ''): string =>
    `(request.resource.group == '${group}' && request.resource.resource == '${resource}' && ` +
    `oldObject.metadata.name == '${name}'${namespace === '' ? '' : ` && request.namespace == '${namespace}'`})`;
  const ours = [
    "(request.resource.resource == 'customresourcedefinitions' && " +
      `oldObject.metadata.name in [${crds.map((name) => `'${name}'`).join(', ')}])`,
    isIngester,
    isOurs('', 'namespaces', NAMESPACE),
    isOurs('apps', 'deployments', 'ingester-reconciler', NAMESPACE),
    isOurs('', 'serviceaccounts', 'ingester-reconciler', NAMESPACE),
    ...CONFIG_MAPS.map((name) => isOurs('', 'configmaps', name, NAMESPACE)),
    isOurs('rbac.authorization.k8s.io', 'clusterroles', 'ingester-reconciler'),
    isOurs('rbac.authorization.k8s.io', 'clusterrolebindings', 'ingester-reconciler'),
    // By their label: kustomize gives them a prefix, and not to the ConfigMaps of the same name.
    "(request.resource.group == 'rbac.authorization.k8s.io' && request.resource.resource in ['roles', 'rolebindings'] && " +
      `request.namespace == '${NAMESPACE}' && ${labelled('name', 'michelangelo-ingester')} && ` +
      `${labelled('component', 'reconciler')})`,
    // No prefix here either.
    "(request.resource.group == 'coordination.k8s.io' && request.resource.resource == 'leases' && " +
      `request.namespace == '${NAMESPACE}' && oldObject.metadata.name.endsWith('-reconciler'))`,
  ];
  const rule = (apiGroups: string, ...resources: readonly string[]): object => ({
    apiGroups: [apiGroups],
    apiVersions: ['v1'],
    operations: ['DELETE'],
    resources,
  });
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: {
      name: 'ingester-deletion-protection',
      labels: { ...labels, 'app.kubernetes.io/component': 'deletion-protection' },
    },
    spec: {
      failurePolicy: 'Fail',
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConstraints: {
        resourceRules: [
          rule('apiextensions.k8s.io', 'customresourcedefinitions'),
          rule('', 'namespaces', 'serviceaccounts', 'configmaps'),
          rule('apps', 'deployments'),
          rule(INGESTER.group, INGESTER.resource),
          rule('rbac.authorization.k8s.io', 'clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'),
          rule('coordination.k8s.io', 'leases'),
        ],
      },
      matchConditions: [{ name: 'part-of-the-bundle', expression: ours.join(' || ') }],
      validations: [
        {
          expression: "params.data.phase == 'removable'",
          message:
            'objects may still hold the finalizer michelangelo/Ingester; run "ingester uninstall" first, or apply uninstall.yaml of the release',
          reason: 'Forbidden',
        },
      ],
    },
  };
}

/** What the hook Job of the uninstall may do: exactly the calls it makes. Deleting is limited to the shipped names. */
function uninstallRbac(plurals: readonly string[]): readonly object[] {
  const name = 'ingester-uninstall';
  const rbac = 'rbac.authorization.k8s.io';
  const subjects = [{ kind: 'ServiceAccount', name, namespace: NAMESPACE }];
  const removes = (group: string, resources: readonly string[], names: readonly string[]): readonly object[] => [
    { apiGroups: [group], resources, verbs: ['list'] },
    { apiGroups: [group], resources, resourceNames: names, verbs: ['delete'] },
  ];
  const clusterRules = [
    { apiGroups: [GROUP], resources: plurals, verbs: ['list', 'patch'] },
    ...removes(
      'admissionregistration.k8s.io',
      [
        'mutatingwebhookconfigurations',
        'validatingwebhookconfigurations',
        'mutatingadmissionpolicies',
        'mutatingadmissionpolicybindings',
        'validatingadmissionpolicies',
        'validatingadmissionpolicybindings',
      ],
      ADMISSION_NAMES,
    ),
    ...removes('apiregistration.k8s.io', ['apiservices'], [REGISTRATION]),
  ];
  const markerRules = [
    { apiGroups: [''], resources: ['configmaps'], verbs: ['create'] },
    { apiGroups: [''], resources: ['configmaps'], resourceNames: ['ingester-uninstall'], verbs: ['patch'] },
  ];
  const object = (apiVersion: string, kind: string, namespace: object, more: object): object => ({
    apiVersion,
    kind,
    metadata: { name, ...namespace, labels },
    ...more,
  });
  const inNamespace = { namespace: NAMESPACE };
  const role = (kind: string): object => ({ apiGroup: rbac, kind, name });
  return [
    object('v1', 'ServiceAccount', inNamespace, {}),
    object(`${rbac}/v1`, 'ClusterRole', {}, { rules: clusterRules }),
    object(`${rbac}/v1`, 'ClusterRoleBinding', {}, { roleRef: role('ClusterRole'), subjects }),
    object(`${rbac}/v1`, 'Role', inNamespace, { rules: markerRules }),
    object(`${rbac}/v1`, 'RoleBinding', inNamespace, { roleRef: role('Role'), subjects }),
  ];
}
