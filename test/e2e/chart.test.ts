// The Helm chart, rendered and installed by Helm itself: the same manifests as those of kustomize.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { findGoProgram, goPrograms } from '../../hack/local/go-program.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { writeChart } from '../../hack/release/chart.ts';
import { imagesOf, type Manifest, manifestsOf, nameOf, renderText } from '../support/renders.ts';
import { mysqlClients } from '../support/shipped-pods.ts';

const release = 'ingester';
const namespace = 'metadata';
const everything = ['networkPolicy', 'prometheus', 'query'].map((section) => `${section}.enabled=true`);
const digest = `sha256:${'0a'.repeat(32)}`;
const authority = '-----BEGIN CERTIFICATE-----';
const withoutCertManager = ['certManager.enabled=false', `query.caBundle=${authority}`];

describe('the Helm chart', async () => {
  const preparation = { env: process.env, progress: () => undefined, signal: undefined };
  const helmPath = await findGoProgram(goPrograms.helm, preparation);
  const options = { skip: helmPath === undefined ? 'needs Go on PATH to build Helm' : false };
  const home = mkdtempSync(join(tmpdir(), 'chart-'));
  const chart = join(home, 'chart');
  let controlPlane: ControlPlane;
  before(async () => {
    controlPlane = await startControlPlane({ progress: () => undefined });
    await writeChart({ kubectl: controlPlane.kubectl, folder: chart });
  });
  after(async () => {
    await controlPlane.stop();
    rmSync(home, { recursive: true });
  });

  async function helm(...args: readonly string[]): Promise<string> {
    const folders = Object.fromEntries(
      ['CACHE', 'CONFIG', 'DATA'].map((name) => [`HELM_${name}_HOME`, join(home, name)]),
    );
    const env = { ...process.env, ...folders, KUBECONFIG: controlPlane.kubeconfig };
    const { code, stdout, stderr } = await runCommand(helmPath ?? '', [...args, '-n', namespace], { env });
    assert.equal(code, 0, stderr);
    return stdout;
  }
  const template = (...values: readonly string[]): Promise<string> => {
    const set = values.flatMap((value) => ['--set', value]);
    return helm('template', release, chart, '--kube-version', '1.36.0', ...set);
  };
  const names = (manifests: readonly Manifest[]): readonly string[] => manifests.map(nameOf).sort();

  it('is rendered twice alike, and as kustomize renders it', options, async () => {
    const text = await template(...everything);
    assert.equal(await template(...everything), text);
    const components = [
      'ha',
      'probe',
      'uninstall-hook',
      'deletion-protection',
      'network-policy',
      'prometheus',
      'query',
      'query-certificate',
    ];
    const expected = manifestsOf(await renderText(controlPlane.kubectl, { base: 'default', components, namespace }));
    const hashless = (name: string): string => name.replace(/(ingester-reconciler-config)-\w+$/, '$1');
    assert.deepEqual(
      names(manifestsOf(text)),
      names(expected.filter(({ kind }) => kind !== 'Namespace'))
        .map(hashless)
        .sort(),
    );
    assert.doesNotMatch(text, /ingester-system/);
    const found = (manifests: readonly Manifest[], name: string): Manifest =>
      manifests.find((each) => nameOf(each) === name) ?? assert.fail(name);
    for (const name of ['MutatingWebhookConfiguration ingester-finalizer', 'APIService v2.stored.michelangelo.api']) {
      assert.deepEqual(found(manifestsOf(text), name), found(expected, name));
    }
  });

  it('has the objects, images and replicas that the values ask for', options, async () => {
    const values = [
      `image.digest=${digest}`,
      'webhook.replicas=5',
      'query.enabled=true',
      'query.replicas=4',
      'query.resources.limits.memory=1Gi',
      'webhook.failurePolicy=Ignore',
      'crds.ingester=false',
    ];
    const manifests = manifestsOf(await template(...values, ...withoutCertManager, 'mysql.secretName=ours'));
    assert.ok(manifests.every(({ kind }) => kind !== 'CustomResourceDefinition' && kind !== 'Certificate'));
    const named = (name: string): Manifest => manifests.find((each) => nameOf(each) === name) ?? assert.fail(name);
    const replicas = ['webhook', 'reconciler', 'query'].map(
      (name) => (named(`Deployment ${namespace}/ingester-${name}`)['spec'] as unknown as { replicas: number }).replicas,
    );
    assert.deepEqual(replicas, [5, 2, 4]);
    assert.match(JSON.stringify(named(`Deployment ${namespace}/ingester-query`)), /"limits":\{"memory":"1Gi"\}/);
    assert.deepEqual(new Set(manifests.flatMap(imagesOf)), new Set([`michelangelo-ingester@${digest}`]));
    const text = JSON.stringify(named(`Deployment ${namespace}/ingester-reconciler`));
    assert.match(text, /"items":\[\{"key":"password","path":"password"\}\],"name":"ours"/);
    assert.match(JSON.stringify(named('MutatingWebhookConfiguration ingester-finalizer')), /"failurePolicy":"Ignore"/);
    named(`Job ${namespace}/ingester-certificates-1`);
  });

  it(
    'puts pull secrets, node selectors and tolerations into every pod, and only where they are given',
    options,
    async () => {
      const given = [
        'pods.imagePullSecrets[0].name=registry',
        'pods.nodeSelector.disk=fast',
        'pods.tolerations[0].key=ml',
        'pods.tolerations[0].operator=Exists',
      ];
      const podsOf = async (...values: readonly string[]): Promise<readonly object[]> =>
        manifestsOf(await template(...everything, ...withoutCertManager, ...values))
          .filter(({ kind }) => ['Deployment', 'Job'].includes(kind))
          .map(({ spec }) => (spec as unknown as { template: { spec: object } }).template.spec);
      const wanted = {
        imagePullSecrets: [{ name: 'registry' }],
        nodeSelector: { 'kubernetes.io/os': 'linux', disk: 'fast' },
        tolerations: [{ key: 'ml', operator: 'Exists' }],
      };
      const pods = await podsOf(...given);
      assert.ok(pods.length > 5);
      for (const pod of pods) assert.deepEqual({ ...pod, ...wanted }, pod);
      for (const pod of await podsOf()) {
        for (const key of ['imagePullSecrets', 'tolerations']) assert.ok(!(key in pod), key);
      }
    },
  );

  it(
    'sends traces where a ConfigMap says, from the webhook and the reconciler, and only where one is named',
    options,
    async () => {
      interface Pods {
        readonly template: { readonly spec: { readonly containers: readonly { readonly envFrom?: unknown }[] } };
      }
      const tracedBy = async (...values: readonly string[]): Promise<readonly unknown[]> =>
        manifestsOf(await template(...everything, ...values))
          .filter(({ kind }) => kind === 'Deployment')
          .map(({ metadata, spec }) => [metadata.name, (spec as unknown as Pods).template.spec.containers[0]?.envFrom])
          .filter(([, envFrom]) => envFrom !== undefined);
      const envFrom = [{ configMapRef: { name: 'tracing' } }];
      assert.deepEqual((await tracedBy('tracing.envFrom[0].configMapRef.name=tracing')).toSorted(), [
        ['ingester-reconciler', envFrom],
        ['ingester-webhook', envFrom],
      ]);
      assert.deepEqual(await tracedBy(), []);
    },
  );

  it('refuses values that it does not have, and of another type', options, async () => {
    await assert.rejects(
      template('webhook.replica=5'),
      /additional properties 'replica' not allowed|replica is not allowed/i,
    );
    await assert.rejects(template('query.enabled=perhaps'), /boolean/);
    await template('reconciler.config.metadataStorage.enableMetadataStorage=false', 'global.anything=1');
  });

  const refused: Readonly<Record<string, RegExp>> = {
    'webhook.failurePolicy=Fial': /'Fail', 'Ignore'/,
    'webhook.replicas=-1': /want 0/,
    'reconciler.replicas=-1': /want 0/,
    'query.replicas=-1': /want 0/,
    'webhook.resources.limit.memory=1Gi': /'limit' not allowed/,
    'image.digest=sha256:abc': /does not match pattern/,
    'image.tag=1.2.3@': /does not match pattern/,
    'image.repository=https://registry.example/name': /does not match pattern/,
    'image.digest=,image.tag=': /set image\.digest or image\.tag/,
    'reconciler.config.evictImmutableKindz=true': /'evictImmutableKindz' not allowed/,
    'reconciler.config.ingester.evictImmutableKindz=true': /'evictImmutableKindz' not allowed/,
    'reconciler.config.eviction.rules[0].keepLatest=1': /'keepLatest' not allowed/,
    'query.caBundle=LS0tLS1CRUdJTg': /BEGIN CERTIFICATE/,
  };
  for (const [value, reason] of Object.entries(refused)) {
    it(`refuses ${value}, and says why`, options, () => assert.rejects(template(value), reason));
  }

  it('takes keys of the configuration at every depth, and variables in them', options, async () => {
    const settings = [
      'mysql.port=${PORT}',
      'ingester.deletionDelayMap.Model=5m',
      'eviction.rules[0].finishedFor=1h',
      'query.clusters[0].mysql.database=eu',
      'clone.environment=Staging',
    ];
    const text = await template(...settings.map((setting) => `reconciler.config.${setting}`));
    for (const line of ['port: ${PORT}', 'Model: 5m', 'finishedFor: 1h', 'database: eu'])
      assert.ok(text.includes(line));
  });

  it('has nothing of cert-manager where there is none: the user says whom the API server trusts', options, async () => {
    const off = ['query.enabled=true', 'certManager.enabled=false'];
    await assert.rejects(template(...off), /set query\.caBundle to the PEM .* Secret ingester-query-tls/);
    const manifests = manifestsOf(await template(...off, ...withoutCertManager));
    assert.deepEqual(
      manifests.filter(({ apiVersion }) => apiVersion.startsWith('cert-manager.io/')),
      [],
    );
    const registration = manifests.find(({ kind }) => kind === 'APIService') ?? assert.fail('no APIService');
    assert.equal(registration.metadata['annotations'], undefined);
    const dryRun = ['create', '--dry-run=server', '-f', '-', '-o', 'jsonpath={.spec.caBundle}'];
    const { stdout } = await controlPlane.kubectlRun(dryRun, { input: JSON.stringify(registration) });
    assert.equal(Buffer.from(stdout, 'base64').toString(), authority);
  });

  it(
    'verifies MySQL by the authority of the Secret, by a public one, or not at all, as the values say',
    options,
    async () => {
      const modes = async (...values: readonly string[]): Promise<Readonly<Record<string, string>>> =>
        mysqlClients(manifestsOf(await template('query.enabled=true', ...values)));
      const all = (mode: string): Readonly<Record<string, string>> =>
        Object.fromEntries(
          ['Deployment ingester-query', 'Deployment ingester-reconciler', 'Job ingester-migrate'].map((name) => [
            name,
            mode,
          ]),
        );
      assert.deepEqual(await modes(), all('verify /etc/ingester/mysql/ca.crt'));
      assert.deepEqual(await modes('mysql.caFile='), all('verify '));
      assert.deepEqual(await modes('mysql.verify=false'), all('off '));
    },
  );

  it('is installed, and leaves the definitions when it is removed', options, async () => {
    // There is no node here, so nothing that waits for pods.
    const values = ['--set', 'certManager.enabled=false,crds.michelangelo=true', '--no-hooks'];
    await helm('install', release, chart, '--create-namespace', ...values);
    const definitions = ['get', 'crd', '-o', 'name'];
    const { stdout: installed } = await controlPlane.kubectlRun(definitions);
    assert.match(installed, /models\.michelangelo\.api/);
    await helm('upgrade', release, chart, ...values);
    // The deletion protection allows it once the marker says that the uninstall is over.
    const removable = JSON.stringify({ data: { phase: 'removable' } });
    await controlPlane.kubectlRun(['patch', 'configmap', 'ingester-uninstall', '-n', namespace, '-p', removable]);
    await helm('uninstall', release, '--no-hooks', '--ignore-not-found');
    assert.equal((await controlPlane.kubectlRun(definitions)).stdout, installed);
    const admission = ['get', 'mutatingwebhookconfigurations,validatingwebhookconfigurations', '-o', 'name'];
    assert.equal((await controlPlane.kubectlRun(admission)).stdout, '');
  });
});
