// What users of the chart may change, and where it stands in the manifests.
import type { JsonObject } from '../../src/base/json.ts';

export interface Place {
  /** Kind and name. */
  readonly of: RegExp;
  /** A name stands for the item of a list that has it. */
  readonly path: readonly (string | number)[];
  /** Section and key of the value; or else what stands there whatever the values are. */
  readonly value?: string;
  readonly fixed?: string;
  /** Of the value: a map, or a text that is a YAML file. A scalar unless given. */
  readonly form?: 'map' | 'file';
  /** What the manifests do not have, and have only where the value is not empty; this is the empty value. */
  readonly empty?: JsonObject | readonly JsonObject[];
  /** Condition of the template without which nothing stands there. */
  readonly when?: string;
}

const container = ['spec', 'template', 'spec', 'containers', 0] as const;

const CONFIG = 'ingester-reconciler-config';

const annotations = ['metadata', 'annotations'] as const;

/** What a user has to say of the query API's certificate where cert-manager does not make it. */
const AUTHORITY =
  'query.enabled without certManager.enabled: set query.caBundle to the PEM of the authority whose certificate is in the Secret ingester-query-tls';

/** What talks to MySQL. */
const toMysql = /^(Deployment ingester-(reconciler|query)|Job ingester-migrate)$/;

/** What every pod of the release has, that of a Job too. */
const ofPods = (
  [
    ['imagePullSecrets', { empty: [] }],
    ['nodeSelector', { form: 'map' }],
    ['tolerations', { empty: [] }],
  ] as const
).map(([key, how]): Place => {
  return { of: /^(Deployment|Job) /, path: ['spec', 'template', 'spec', key], value: `pods.${key}`, ...how };
});

export const places: readonly Place[] = [
  ...ofPods,
  { of: /^Deployment ingester-webhook$/, path: ['spec', 'replicas'], value: 'webhook.replicas' },
  { of: /^Deployment ingester-webhook$/, path: [...container, 'resources'], value: 'webhook.resources', form: 'map' },
  {
    of: /^(Mutating|Validating)WebhookConfiguration /,
    path: ['webhooks', 0, 'failurePolicy'],
    value: 'webhook.failurePolicy',
  },
  { of: /^Deployment ingester-reconciler$/, path: ['spec', 'replicas'], value: 'reconciler.replicas' },
  {
    of: /^Deployment ingester-reconciler$/,
    path: [...container, 'resources'],
    value: 'reconciler.resources',
    form: 'map',
  },
  { of: /^Deployment ingester-query$/, path: ['spec', 'replicas'], value: 'query.replicas' },
  { of: /^Deployment ingester-query$/, path: [...container, 'resources'], value: 'query.resources', form: 'map' },
  // The API server trusts the query API by one of these.
  {
    of: /^APIService /,
    path: annotations,
    when: '.Values.certManager.enabled',
    fixed: '{ cert-manager.io/inject-ca-from-secret: {{ .Release.Namespace }}/ingester-query-tls }',
  },
  {
    of: /^APIService /,
    path: ['spec', 'caBundle'],
    when: 'not .Values.certManager.enabled',
    fixed: `{{ required "${AUTHORITY}" .Values.query.caBundle | b64enc }}`,
  },
  {
    // Where traces go, from a ConfigMap or a Secret with the variables of OpenTelemetry.
    of: /^Deployment ingester-(webhook|reconciler)$/,
    path: [...container, 'envFrom'],
    value: 'tracing.envFrom',
    empty: [],
  },
  {
    of: new RegExp(`^ConfigMap ${CONFIG}-`),
    path: ['data', 'config.yaml'],
    value: 'reconciler.config',
    form: 'file',
  },
  {
    // Restarts the pods when the configuration changes.
    of: /^Deployment ingester-(reconciler|webhook)$/,
    path: ['spec', 'template', ...annotations, 'checksum/config'],
    fixed: '{{ toYaml .Values.reconciler.config | sha256sum }}',
  },
  // Quoted, and not a value by itself: to Helm an unquoted "off" is false.
  {
    of: toMysql,
    path: [...container, 'env', 'INGESTER_MYSQL_TLS_MODE', 'value'],
    fixed: '{{ ternary "verify" "off" .Values.mysql.verify | quote }}',
  },
  {
    of: toMysql,
    path: [...container, 'env', 'INGESTER_MYSQL_TLS_CA_FILE', 'value'],
    fixed: '{{ ternary .Values.mysql.caFile "" .Values.mysql.verify | quote }}',
  },
  // A Job cannot be changed, so each release makes its own.
  {
    of: /^Job ingester-certificates$/,
    path: ['metadata', 'name'],
    fixed: 'ingester-certificates-{{ .Release.Revision }}',
  },
  {
    of: /^Job ingester-(migrate|probe)$/,
    path: [...annotations, 'helm.sh/hook-delete-policy'],
    fixed: 'before-hook-creation',
  },
  {
    of: /^Job ingester-uninstall$/,
    path: [...annotations, 'helm.sh/hook-delete-policy'],
    fixed: 'before-hook-creation,hook-succeeded',
  },
  // Made when they are needed, so that an uninstall is possible whatever an earlier attempt has removed.
  ...(
    [
      ['helm.sh/hook', 'pre-delete'],
      ['helm.sh/hook-weight', "'-1'"],
      ['helm.sh/hook-delete-policy', 'before-hook-creation,hook-succeeded'],
    ] as const
  ).map(([annotation, fixed]) => ({
    of: /^(ServiceAccount|(Cluster)?Role(Binding)?) ingester-uninstall$/,
    path: [...annotations, annotation],
    fixed,
  })),
  // Before anything of the bundle is deleted. Where it fails, nothing is.
  { of: /^Job ingester-uninstall$/, path: [...annotations, 'helm.sh/hook'], fixed: 'pre-delete' },
  // The schema comes before the program that needs it, and the proof last.
  { of: /^Job ingester-migrate$/, path: [...annotations, 'helm.sh/hook'], fixed: 'pre-install,pre-upgrade' },
  { of: /^Job ingester-probe$/, path: [...annotations, 'helm.sh/hook'], fixed: 'post-install,post-upgrade' },
];

/** Where the alerts look for their runbooks. */
export const RUNBOOKS = 'https://git.example/ingester/docs/runbooks.md';

/** Texts that stand for something of the release, wherever they are. */
export const texts: readonly { readonly find: RegExp; readonly expression: string }[] = [
  { find: /\bmichelangelo-ingester:\d[\w.-]*/g, expression: '{{ include "ingester.image" . }}' },
  { find: /\bingester-mysql-migrate\b/g, expression: '{{ .Values.mysql.migrateSecretName }}' },
  { find: /\bingester-mysql\b/g, expression: '{{ .Values.mysql.secretName }}' },
  { find: new RegExp(`\\b${CONFIG}-\\w+`, 'g'), expression: CONFIG },
  { find: /\bingester-system\b/g, expression: '{{ .Release.Namespace }}' },
  { find: new RegExp(RUNBOOKS, 'g'), expression: '{{ .Values.prometheus.runbooks }}' },
];

export interface Switch {
  /** File of the chart. */
  readonly name: string;
  readonly components: readonly string[];
  /** Section whose `enabled` decides. */
  readonly section: string;
  readonly enabled: boolean;
  /** Another condition than that the section is enabled. */
  readonly condition?: string;
}

const folder = (name: string): string => `config/components/${name}`;

export const switches: readonly Switch[] = [
  { name: 'cert-manager', components: [folder('cert-manager')], section: 'certManager', enabled: true },
  {
    name: 'no-cert-manager',
    components: [folder('no-cert-manager')],
    section: 'certManager',
    enabled: true,
    condition: 'not .Values.certManager.enabled',
  },
  { name: 'migrate', components: [folder('migrate')], section: 'migrate', enabled: true },
  { name: 'probe', components: [folder('probe')], section: 'probe', enabled: true },
  { name: 'uninstall', components: [folder('uninstall-hook')], section: 'uninstall', enabled: true },
  {
    name: 'deletion-protection',
    components: [folder('deletion-protection')],
    section: 'deletionProtection',
    enabled: true,
  },
  { name: 'network-policy', components: [folder('network-policy')], section: 'networkPolicy', enabled: false },
  { name: 'prometheus', components: [folder('prometheus')], section: 'prometheus', enabled: false },
  {
    name: 'query',
    components: [folder('query'), folder('ha')],
    section: 'query',
    enabled: false,
  },
  {
    name: 'query-certificate',
    components: [folder('query-certificate')],
    section: 'query',
    enabled: false,
    condition: 'and .Values.query.enabled .Values.certManager.enabled',
  },
];
