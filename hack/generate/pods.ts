// The pods of the plain bundle, and what finds and keeps them: from the same definitions as the children of an Ingester
// resource. What is here differs, or is of programs that no Ingester runs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { BUNDLE_LABEL, BUNDLE_NAME } from '../../src/api/names.ts';
import type { JsonObject } from '../../src/base/json.ts';
import {
  certificateFiles,
  componentPod,
  health,
  rollingUpdate,
  serverPod,
} from '../../src/lifecycle/children/component-pod.ts';
import { disruptionBudgetSpec } from '../../src/lifecycle/children/components.ts';
import { taskPod } from '../../src/lifecycle/children/jobs.ts';
import { COMPONENT_LABEL } from '../../src/lifecycle/children/names.ts';
import { metricsServiceSpec, serviceSpec } from '../../src/lifecycle/children/network.ts';
import {
  databaseEnv,
  type Files,
  mysqlFiles,
  type PodInput,
  podTemplate,
  readOnly,
} from '../../src/lifecycle/children/pod.ts';
import { generatedNotice, type Output } from './output.ts';

const namespace = 'ingester-system';
const root = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };

export function podOutputs(): readonly Output[] {
  return [
    output('base/reconciler/deployment', deployment('reconciler', reconciler())),
    output('base/webhook/deployment', deployment('webhook', webhook())),
    output('base/webhook/service', service('webhook', 'webhook')),
    output('components/query/deployment', deployment('query', query()), disruptionBudget('query')),
    output('components/query/service', service('query', 'https'), metricsService('query')),
    output('components/lifecycle/deployment', deployment('lifecycle', lifecycle()), disruptionBudget('lifecycle')),
    output('components/lifecycle/service', metricsService('lifecycle')),
    output('components/prometheus/services', metricsService('webhook'), metricsService('reconciler')),
    output('components/ha/disruption', disruptionBudget('webhook'), disruptionBudget('reconciler')),
    output('components/migrate/job', migrate()),
    output('components/probe/job', probe()),
    output('components/uninstall-hook/job', uninstall()),
    output('components/no-cert-manager/jobs', ...certificates()),
  ];
}

function output(path: string, ...documents: readonly object[]): Output {
  const text = documents.map((document) => stringify(withoutEmpty(document), { lineWidth: 0 }));
  return { path: `config/${path}.yaml`, content: generatedNotice('#', 'hack/generate/pods.ts') + text.join('---\n') };
}

/** Every list and map that is empty here is one that nothing was put into. */
function withoutEmpty(document: object): object {
  const isEmpty = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  const text = JSON.stringify(document, (_key, value: unknown) => (isEmpty(value) ? undefined : value));
  return JSON.parse(text) as object;
}

function labelsOf(component: string): Readonly<Record<string, string>> {
  return { [BUNDLE_LABEL]: BUNDLE_NAME, [COMPONENT_LABEL]: component };
}

function metadata(component: string, name: string = component, more: object = {}): object {
  return { name: `ingester-${name}`, namespace, labels: { ...labelsOf(component), ...more } };
}

function deployment(component: string, template: JsonObject): object {
  const selector = { matchLabels: labelsOf(component) };
  const spec = { replicas: 2, strategy: rollingUpdate, selector, template };
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: metadata(component), spec };
}

function service(component: string, port: string): object {
  const spec = serviceSpec(labelsOf(component), port);
  return { apiVersion: 'v1', kind: 'Service', metadata: metadata(component), spec };
}

function metricsService(component: string): object {
  const own = metadata(component, `${component}-metrics`, { 'ingester.michelangelo.api/metrics': 'true' });
  return { apiVersion: 'v1', kind: 'Service', metadata: own, spec: metricsServiceSpec(labelsOf(component)) };
}

/** Where no webhook or query API answers, creates or deletions of namespaces fail: one replica stays while nodes are drained. */
function disruptionBudget(component: string): object {
  const spec = disruptionBudgetSpec({ maxUnavailable: 1 }, labelsOf(component));
  return { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: metadata(component), spec };
}

/** The bundle can be in any namespace. */
const ownNamespace = {
  name: 'INGESTER_KUBERNETES_NAMESPACE',
  valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } },
};

function mysql(secret: string): Files & Pick<PodInput, 'env'> {
  const file = (key: string): JsonObject => ({ name: secret, items: [{ key, path: key }] });
  // Not needed where a public authority has signed the certificate of the server.
  const authority = { ...file('ca.crt'), optional: true };
  return {
    env: [
      ...databaseEnv({ credentialsSecret: secret }, secret),
      // The component mysql-without-tls is for a server that proves nothing.
      { name: 'INGESTER_MYSQL_TLS_MODE', value: 'verify' },
      { name: 'INGESTER_MYSQL_TLS_CA_FILE', value: `${mysqlFiles}/ca.crt` },
    ],
    volumes: [{ name: 'mysql', projected: { sources: [{ secret: file('password') }, { secret: authority }] } }],
    mounts: [readOnly('mysql', mysqlFiles)],
  };
}

const none: Files = { volumes: [], mounts: [] };

function ofBundle(component: string): Pick<PodInput, 'spec' | 'layers' | 'labels' | 'containerName'> {
  return { spec: { version }, layers: [], labels: labelsOf(component), containerName: component };
}

/** One of the replicas leads; the others take over when it goes. */
function reconciler(): JsonObject {
  const { env, ...files } = mysql('ingester-mysql');
  return componentPod('sync', {
    ...ofBundle('reconciler'),
    args: ['reconciler'],
    env: [ownNamespace, ...env],
    configMap: 'ingester-reconciler-config',
    files,
  });
}

/** All replicas answer. */
function query(): JsonObject {
  const { env, ...files } = mysql('ingester-mysql');
  return componentPod('query', {
    ...ofBundle('query'),
    args: ['query'],
    env: [ownNamespace, ...env],
    configMap: 'ingester-query-config',
    files,
    certificate: 'ingester-query-tls',
  });
}

/** All replicas answer. Creates need neither MySQL nor the API server, so nothing but the webhook itself can stop them. */
function webhook(): JsonObject {
  const tls = certificateFiles('ingester-webhook-tls');
  // Whether metadata storage is on. Without the file it counts as on: an object that is not guarded can be lost.
  const config = { name: 'reconciler-config', configMap: { name: 'ingester-reconciler-config', optional: true } };
  return podTemplate({
    ...ofBundle('webhook'),
    ...serverPod,
    args: ['webhook'],
    env: [
      ownNamespace,
      // Kustomize keeps both parts: config/components/names.
      {
        name: 'INGESTER_WEBHOOK_RECONCILER_USER',
        value: `system:serviceaccount:${namespace}:ingester-reconciler`,
      },
      // A small young generation takes less; a smaller one is swept so often that one call in a hundred waits for it.
      { name: 'NODE_OPTIONS', value: '--max-semi-space-size=4 --max-old-space-size=128' },
      // What the optimizing compiler and large bodies took once goes back to the node (docs/admission.md).
      { name: 'MALLOC_MMAP_THRESHOLD_', value: '32768' },
      { name: 'MALLOC_TRIM_THRESHOLD_', value: '65536' },
    ],
    ports: [{ name: 'webhook', containerPort: 9443 }, health],
    // A replica that hangs gets no requests after six seconds. One slow answer is load, and to take the replica out for
    // it would put its load on the others (docs/admission.md).
    probes: { ...serverPod.probes, readinessProbe: { ...serverPod.probes.readinessProbe, timeoutSeconds: 2 } },
    volumes: [config, ...tls.volumes],
    mounts: [...tls.mounts, readOnly('reconciler-config', '/etc/ingester/reconciler')],
    resources: { requests: { cpu: '100m', memory: '96Mi' }, limits: { memory: '256Mi' } },
    serviceAccount: 'ingester-webhook',
    // Longer than shutdownDelay and the time for requests in flight together.
    graceSeconds: 45,
  });
}

/** One of the replicas leads. It reads no Secret and needs no database: what touches one runs in Jobs. */
function lifecycle(): JsonObject {
  return podTemplate({
    ...ofBundle('lifecycle'),
    ...serverPod,
    args: ['reconciler', '--controllers', 'lifecycle'],
    env: [
      { name: 'INGESTER_LEADER_ELECTION_ENABLED', value: 'true' },
      ownNamespace,
      // Images are permitted from where its own is from.
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ],
    ports: [health],
    ...none,
    resources: { requests: { cpu: '50m', memory: '96Mi' }, limits: { memory: '256Mi' } },
    serviceAccount: 'ingester-lifecycle',
  });
}

function job(component: string, spec: object, annotations: object = {}): object {
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: { ...metadata(component), annotations }, spec };
}

function migrate(): object {
  const { env, ...files } = mysql('ingester-mysql-migrate');
  const template = podTemplate({
    ...ofBundle('migrate'),
    ...taskPod,
    ...files,
    args: ['task', 'migrate'],
    env: [
      { name: 'INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE', value: 'true' },
      ...env,
      { name: 'INGESTER_MYSQL_PASSWORD_FILE', value: `${mysqlFiles}/password` },
    ],
    // It talks to MySQL only.
    serviceAccount: undefined,
  });
  // Trying again helps against a database that is away, and not against a wrong configuration (2) or a schema that is
  // too new for this version (3): then a rollout must stop at once.
  const onExitCodes = { containerName: 'migrate', operator: 'In', values: [2, 3] };
  return job('migrate', {
    backoffLimit: 10,
    podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes }] },
    template,
  });
}

function probe(): object {
  const args = ['probe', '--timeout', '2m'];
  return job('probe', { backoffLimit: 3, template: oneOff('probe', args) });
}

/** As an Argo CD hook it exists only while the application is being deleted. It needs no MySQL. */
function uninstall(): object {
  const template = oneOff('uninstall', ['uninstall', '--output', 'json']);
  return job(
    'uninstall',
    { backoffLimit: 6, template },
    {
      'argocd.argoproj.io/hook': 'PreDelete',
      // Kept while the rest is deleted, which may begin before it is done, and removed afterwards.
      'argocd.argoproj.io/hook-delete-policy': 'HookSucceeded',
      'argocd.argoproj.io/sync-options': 'Delete=false',
    },
  );
}

function certificates(): readonly object[] {
  const template = oneOff('certificates', ['task', 'certificates']);
  const renewal = {
    // A certificate lives for a year and is renewed in its last third, so a day without a run is no matter.
    schedule: '17 3 * * *',
    concurrencyPolicy: 'Forbid',
    successfulJobsHistoryLimit: 1,
    failedJobsHistoryLimit: 1,
    jobTemplate: { metadata: { labels: labelsOf('certificates') }, spec: { backoffLimit: 3, template } },
  };
  return [
    job('certificates', { backoffLimit: 10, template }),
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: metadata('certificates', 'renew-certificates'),
      spec: renewal,
    },
  ];
}

function oneOff(component: string, args: readonly string[]): JsonObject {
  return podTemplate({
    ...ofBundle(component),
    ...taskPod,
    args,
    env: [ownNamespace],
    ...none,
    serviceAccount: `ingester-${component}`,
  });
}
