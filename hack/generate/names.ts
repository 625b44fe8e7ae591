// Keeps names consistent where a user gives the bundle another namespace or a name prefix. Kustomize renames objects and
// the references it knows; the rest (parts of texts, fields of admission and of cert-manager) is listed here. The list is
// a component for outer overlays, and part of config/default for tools that set the namespace there.
import { parseAllDocuments, stringify } from 'yaml';
import { generatedNotice, type Output } from './output.ts';

const NAMESPACE = 'ingester-system';
const RECONCILER = 'ingester-reconciler';
const WEBHOOK = 'ingester-webhook';
const QUERY = 'ingester-query';
/** An object that is in every render, and what its annotations hold: a replacement needs a source. */
const CONSTANTS = { kind: 'ConfigMap', name: 'ingester-uninstall' };
const annotation = (name: string): string => `metadata.annotations.[ingester.michelangelo.api/${name}]`;
/** ConfigMaps that the program finds by name. */
const FIXED_NAMES = [
  'ingester-uninstall',
  'ingester-control',
  'ingester-status',
  'ingester-tombstones',
  'ingester-admission-record',
];
const PROTECTION = { kind: 'ValidatingAdmissionPolicyBinding', name: 'ingester-deletion-protection' };
const STAYING_BINDING = 'ingester-query-auth-reader';

interface Target {
  readonly select: { readonly kind: string; readonly name?: string; readonly annotationSelector?: string };
  readonly fieldPaths: readonly string[];
  readonly options?: { readonly delimiter: string; readonly index: number };
}

/** `manifests`: those with expressions. Where their texts name parts of the bundle is found, not typed. */
export function namesOutputs(manifests: readonly Output[]): readonly Output[] {
  const expressions = manifests.flatMap(({ content }) =>
    parseAllDocuments(content).flatMap((document) => expressionsOf(document.toJS() as Admission)),
  );
  const replacements = replacementsFor(expressions);
  const component = {
    apiVersion: 'kustomize.config.k8s.io/v1alpha1',
    kind: 'Component',
    patches: [{ target: { kind: '(Validating|Mutating)AdmissionPolicy(Binding)?' }, patch: WITHOUT_NAMESPACE }],
    replacements: [{ path: 'names.yaml' }],
  };
  return [
    output('config/components/names/kustomization.yaml', component),
    output('config/components/names/names.yaml', replacements),
    output('config/default/names.yaml', replacements),
  ];
}

/** Kustomize takes these kinds for namespaced ones. What is not there cannot be removed, so it is added first. */
const WITHOUT_NAMESPACE = stringify([
  { op: 'add', path: '/metadata/namespace', value: NAMESPACE },
  { op: 'remove', path: '/metadata/namespace' },
]);

function output(path: string, document: object): Output {
  const content = generatedNotice('#', 'hack/generate/names.ts') + stringify(document, { lineWidth: 0 });
  return { path, content };
}

interface Condition {
  readonly name: string;
  readonly expression: string;
}

interface Admission {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly webhooks?: readonly { readonly matchConditions?: readonly Condition[] }[];
  readonly spec?: { readonly matchConditions?: readonly Condition[] };
}

interface Expression {
  readonly select: Target['select'];
  readonly fieldPath: string;
  readonly text: string;
}

function expressionsOf({ kind, metadata, webhooks = [], spec }: Admission): readonly Expression[] {
  const at = (path: string, conditions: readonly Condition[] = []): readonly Expression[] =>
    conditions.map(({ name, expression }) => ({
      select: { kind, name: metadata.name },
      fieldPath: `${path}.matchConditions.[name=${name}].expression`,
      text: expression,
    }));
  return [
    ...webhooks.flatMap(({ matchConditions }, index) => at(`webhooks.${index}`, matchConditions)),
    ...at('spec', spec?.matchConditions),
  ];
}

/** One target for each place where `name` stands alone between quotes. */
function quoted(name: string, expressions: readonly Expression[]): readonly Target[] {
  return expressions.flatMap(({ select, fieldPath, text }) =>
    ['"', "'"].flatMap((delimiter) =>
      text
        .split(delimiter)
        .flatMap((part, index) =>
          part === name ? [{ select, fieldPaths: [fieldPath], options: { delimiter, index } }] : [],
        ),
    ),
  );
}

function whole(select: Target['select'], ...fieldPaths: readonly string[]): Target {
  return { select, fieldPaths };
}

function part(kind: string, fieldPath: string, delimiter: string, index: number): Target {
  return { select: { kind }, fieldPaths: [fieldPath], options: { delimiter, index } };
}

/** Only where it is annotated: without cert-manager nothing is injected. */
function annotated(kind: string, name: string, index: number): Target {
  const target = part(kind, `metadata.annotations.[${name}]`, '/', index);
  return { ...target, select: { kind, annotationSelector: name } };
}

function dnsName(name: string, index: number): Target {
  return { ...part('Certificate', 'spec.dnsNames.*', '.', index), select: { kind: 'Certificate', name } };
}

const admissionKinds = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'];
/** Where cert-manager's injector takes the authority from: a Certificate, or a Secret. Both are `<namespace>/<name>`. */
const INJECTED = 'cert-manager.io/inject-ca-from';
const INJECTED_SECRET = 'cert-manager.io/inject-ca-from-secret';
/** `system:serviceaccount:<namespace>:<name>` */
const RECONCILER_USER =
  'spec.template.spec.containers.[name=webhook].env.[name=INGESTER_WEBHOOK_RECONCILER_USER].value';

function user(index: number): Target {
  return { ...whole({ kind: 'Deployment', name: WEBHOOK }, RECONCILER_USER), options: { delimiter: ':', index } };
}

function replacementsFor(expressions: readonly Expression[]): readonly object[] {
  const source = (kind: string, name: string, fieldPath: string): object => ({ kind, name, fieldPath });
  return [
    {
      source: source('ServiceAccount', RECONCILER, 'metadata.namespace'),
      targets: [
        ...quoted(NAMESPACE, expressions),
        user(2),
        ...admissionKinds.map((kind) => whole({ kind }, 'webhooks.*.clientConfig.service.namespace')),
        ...admissionKinds.map((kind) => annotated(kind, INJECTED, 0)),
        annotated('APIService', INJECTED_SECRET, 0),
        dnsName(WEBHOOK, 1),
        dnsName(QUERY, 1),
        ...['ingester-deletion-protection', 'ingester-permitted'].map((name) =>
          whole({ kind: 'ValidatingAdmissionPolicyBinding', name }, 'spec.paramRef.namespace'),
        ),
        whole({ kind: 'APIService' }, 'spec.service.namespace'),
        whole({ kind: 'RoleBinding', name: STAYING_BINDING }, 'subjects.0.namespace'),
      ],
    },
    {
      source: source('ServiceAccount', RECONCILER, 'metadata.name'),
      targets: [...quoted(RECONCILER, expressions), user(3)],
    },
    {
      // The Service has the same name, but is not there where policies take the place of the webhook.
      source: source('ServiceAccount', WEBHOOK, 'metadata.name'),
      targets: [
        ...admissionKinds.map((kind) => whole({ kind }, 'webhooks.*.clientConfig.service.name')),
        ...admissionKinds.map((kind) => annotated(kind, INJECTED, 1)),
        dnsName(WEBHOOK, 0),
      ],
    },
    {
      // The prefix alone: what is before the name. The query API is not in every render, so it cannot be the source.
      source: { ...source('ServiceAccount', WEBHOOK, 'metadata.name'), options: { delimiter: WEBHOOK, index: 0 } },
      targets: [{ ...dnsName(QUERY, 0), options: { delimiter: QUERY, index: 0 } }],
    },
    {
      source: { ...CONSTANTS, fieldPath: annotation('system-namespace') },
      targets: [whole({ kind: 'RoleBinding', name: STAYING_BINDING }, 'metadata.namespace')],
    },
    ...FIXED_NAMES.map((name) => ({
      source: { ...CONSTANTS, fieldPath: annotation(name) },
      targets: [
        whole({ kind: 'ConfigMap', name }, 'metadata.name'),
        ...roleNames(name),
        ...(name === 'ingester-uninstall' ? [whole(PROTECTION, 'spec.paramRef.name')] : []),
      ],
    })),
  ];
}

/** Where the roles of the bundle name a ConfigMap; kustomize has put the prefix there too. */
function roleNames(name: string): readonly Target[] {
  const role = (roleName: string, fieldPath: string): Target => whole({ kind: 'Role', name: roleName }, fieldPath);
  switch (name) {
    case 'ingester-uninstall':
      return [
        role('ingester-uninstall-marker', 'rules.0.resourceNames.0'),
        role('ingester-uninstall', 'rules.1.resourceNames.0'),
      ];
    case 'ingester-tombstones':
      return ['ingester-tombstones-writer', 'ingester-tombstones-reader'].map((each) =>
        role(each, 'rules.0.resourceNames.0'),
      );
    case 'ingester-admission-record':
      return [
        role('ingester-control', 'rules.2.resourceNames.0'),
        role('ingester-admission-record', 'rules.0.resourceNames.0'),
      ];
    case 'ingester-control':
      return ['ingester-control', 'ingester-query'].map((each) => role(each, 'rules.0.resourceNames.0'));
    default:
      return [role('ingester-control', 'rules.1.resourceNames.0'), role('ingester-query', 'rules.0.resourceNames.1')];
  }
}
