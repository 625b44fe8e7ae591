// The manifests as users get them: rendered by kustomize, compared with what was agreed on, held to the rules for what is
// shipped, and accepted by a real API server that knows every field.
import assert from 'node:assert/strict';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { writeReleaseManifests } from '../../hack/release/manifests.ts';
import { INGESTER_PLURAL } from '../../src/api/ingester/spec.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { catalogue } from '../../src/kinds/catalogue.ts';
import {
  difference,
  imagesOf,
  linesOf,
  type Manifest,
  manifestsOf,
  nameOf,
  recipes,
  renderText,
} from '../support/renders.ts';
import { mysqlClients, podProblems, strayLeaders } from '../support/shipped-pods.ts';
import { thirdPartyCrds } from '../support/third-party-crds.ts';

const root = join(import.meta.dirname, '../..');
const golden = join(root, 'test/golden/renders');
const update = process.env['UPDATE_GOLDEN'] !== undefined;

describe('the manifests', () => {
  let controlPlane: ControlPlane;
  const texts = new Map<string, string>();
  const renders = new Map<string, readonly Manifest[]>();
  const of = (name: string): readonly Manifest[] => renders.get(name) ?? [];
  const only = (name: string, kind: string, object: string): Manifest => {
    const [found] = of(name).filter((manifest) => manifest.kind === kind && manifest.metadata.name === object);
    assert.ok(found, `${name} has no ${kind} ${object}`);
    return found;
  };

  before(async () => {
    controlPlane = await startControlPlane({ progress: () => undefined });
    for (const [name, recipe] of Object.entries(recipes)) {
      const text = await renderText(controlPlane.kubectl, recipe);
      texts.set(name, text);
      renders.set(name, manifestsOf(text));
    }
  });
  after(() => controlPlane.stop());

  for (const name of Object.keys(recipes)) {
    it(`are rendered as agreed: ${name}`, () => {
      // All but the first by what they do differently, which is what a reviewer wants to see.
      const lines = name === 'base' ? linesOf(of(name)) : difference(linesOf(of('base')), linesOf(of(name)));
      const [file, text] = [join(golden, `${name}.txt`), `${lines.join('\n')}\n`];
      if (update) writeFileSync(file, text);
      assert.ok(existsSync(file), `${file} is missing; UPDATE_GOLDEN=1 writes it`);
      assert.deepEqual(text.split('\n'), readFileSync(file, 'utf8').split('\n'), 'UPDATE_GOLDEN=1 accepts the change');
    });
  }

  it('are all rendered here: every component, in an overlay or in a combination', () => {
    const overlays = globSync('config/{default,overlays/**,units/*,components/production}/kustomization.yaml', {
      cwd: root,
    });
    const named = [JSON.stringify(recipes), ...overlays.map((file) => readFileSync(join(root, file), 'utf8'))].join();
    const all = join(root, 'config/components');
    const components = globSync('**/kustomization.yaml', { cwd: all }).map((file) => dirname(file));
    assert.ok(components.length > 10);
    for (const name of components) assert.match(named, new RegExp(`(components|\\.\\.)/${name}\\b|"${name}"`), name);
  });

  it('have no field that the API server or cert-manager writes', () => {
    for (const [name, manifests] of renders) {
      for (const manifest of manifests) {
        assert.ok(!('status' in manifest), `${name}: ${nameOf(manifest)} has a status`);
        assert.ok(!('creationTimestamp' in manifest.metadata), `${name}: ${nameOf(manifest)}`);
      }
      assert.doesNotMatch(texts.get(name) ?? '', /caBundle|:latest\b/, name);
    }
  });

  it('name no secret value, only Secrets', () => {
    for (const [name, manifests] of renders) {
      assert.deepEqual(
        manifests.filter(({ kind }) => kind === 'Secret'),
        [],
        name,
      );
    }
  });

  it('run restricted pods with bounded resources and probes', () => {
    for (const [name, manifests] of renders) assert.deepEqual(manifests.flatMap(podProblems), [], name);
  });

  it('have every reconciler lead in the namespace that it is in, whatever that is called', () => {
    for (const [name, manifests] of renders) assert.deepEqual(strayLeaders(manifests), [], name);
  });

  it('verify MySQL wherever they talk to it, unless the component mysql-without-tls says otherwise', () => {
    const verified = 'verify /etc/ingester/mysql/ca.crt';
    const [reconciler, query, migrate] = [
      'Deployment ingester-reconciler',
      'Deployment ingester-query',
      'Job ingester-migrate',
    ];
    for (const [name, manifests] of renders) {
      const expected = name === 'without-tls' ? 'off ' : verified;
      for (const [client, mode] of Object.entries(mysqlClients(manifests)))
        assert.equal(mode, expected, `${name}: ${client}`);
    }
    assert.deepEqual(Object.keys(mysqlClients(of('production'))), [reconciler, migrate]);
    assert.deepEqual(Object.keys(mysqlClients(of('query'))), [query, reconciler, migrate]);
    assert.deepEqual(mysqlClients(of('without-tls')), { [query]: 'off ', [reconciler]: 'off ', [migrate]: 'off ' });
  });

  it('have rules for exactly the kinds of the catalogue', () => {
    const plurals = catalogue.filter(({ optional }) => !optional).map(({ plural }) => plural);
    const pluralsIn = (render: string): readonly string[] =>
      of(render)
        .filter(({ kind }) => kind === 'CustomResourceDefinition')
        .map((crd) => (crd['spec'] as unknown as { names: { plural: string } }).names.plural);
    assert.deepEqual(pluralsIn('crds').toSorted(), [...plurals, INGESTER_PLURAL].toSorted());
    assert.deepEqual(pluralsIn('default'), [INGESTER_PLURAL]);
    const { webhooks } = only('default', 'MutatingWebhookConfiguration', 'ingester-finalizer') as unknown as Webhooks;
    assert.deepEqual(webhooks[0]?.rules[0]?.resources, plurals);
  });

  it('keep every name consistent under another namespace and with a prefix', () => {
    const name = 'custom-namespace';
    const text = linesOf(of(name)).join('\n');
    assert.doesNotMatch(text, /ingester-system/);
    only(name, 'Service', 'acme-ingester-webhook');
    const certificate = only(name, 'Certificate', 'acme-ingester-webhook')['spec'] as unknown as CertificateSpec;
    assert.deepEqual(certificate.dnsNames, [
      'acme-ingester-webhook.metadata.svc',
      'acme-ingester-webhook.metadata.svc.cluster.local',
    ]);
    only(name, 'Issuer', certificate.issuerRef.name);
    for (const [kind, object] of webhookConfigurations) {
      const { webhooks, metadata } = only(name, kind, object) as unknown as Webhooks;
      assert.equal(metadata.annotations['cert-manager.io/inject-ca-from'], 'metadata/acme-ingester-webhook');
      for (const { clientConfig, matchConditions } of webhooks) {
        assert.equal(clientConfig.service.name, 'acme-ingester-webhook');
        assert.equal(clientConfig.service.namespace, 'metadata');
        const [own] = matchConditions.filter((condition) => condition.name === 'not-reconciler');
        if (own !== undefined) assert.match(own.expression, /"metadata" \+ ":" \+ "acme-ingester-reconciler"$/);
      }
    }
    assert.match(text, /RECONCILER_USER.*|value = "system:serviceaccount:metadata:acme-ingester-reconciler"/);
    const protection = JSON.stringify(only(name, 'ValidatingAdmissionPolicy', 'acme-ingester-deletion-protection'));
    assert.match(
      protection,
      /oldObject\.metadata\.name == 'acme-ingester-reconciler' && request\.namespace == 'metadata'/,
    );
    // The program finds these by name.
    for (const fixed of ['ingester-uninstall', 'ingester-control', 'ingester-status', 'ingester-admission-record'])
      only(name, 'ConfigMap', fixed);
  });

  it('keep names consistent where the query API is part of another namespace', () => {
    const name = 'query-elsewhere';
    assert.doesNotMatch(linesOf(of(name)).join('\n'), /ingester-system/);
    const { dnsNames } = only(name, 'Certificate', 'ingester-query')['spec'] as unknown as CertificateSpec;
    assert.equal(dnsNames[0], 'ingester-query.metadata.svc');
    // It has to be where the API server keeps what it tells aggregated APIs.
    assert.equal(only(name, 'RoleBinding', 'ingester-query-auth-reader').metadata.namespace, 'kube-system');
  });

  it('keep names consistent where the query API has a prefix, and the webhook no cert-manager', () => {
    const name = 'query-renamed';
    assert.doesNotMatch(linesOf(of(name)).join('\n'), /ingester-system/);
    const { dnsNames, issuerRef } = only(name, 'Certificate', 'acme-ingester-query')[
      'spec'
    ] as unknown as CertificateSpec;
    assert.deepEqual(dnsNames, ['acme-ingester-query.metadata.svc', 'acme-ingester-query.metadata.svc.cluster.local']);
    only(name, 'Issuer', issuerRef.name);
    const { metadata, spec } = only(name, 'APIService', 'v2.stored.michelangelo.api');
    assert.deepEqual((spec as unknown as { service: object }).service, {
      name: 'acme-ingester-query',
      namespace: 'metadata',
      port: 443,
    });
    only(name, 'Service', 'acme-ingester-query');
    // A Secret keeps its name under a prefix.
    const injected = (metadata['annotations'] as JsonObject)['cert-manager.io/inject-ca-from-secret'];
    assert.equal(injected, 'metadata/ingester-query-tls');
    const { rules } = only(name, 'ClusterRole', 'acme-ingester-certificates') as unknown as {
      rules: readonly { readonly resourceNames?: readonly string[] }[];
    };
    const registrations = webhookConfigurations.map(([, object]) => object);
    assert.deepEqual(rules[1]?.resourceNames, registrations);
    for (const [kind, object] of webhookConfigurations) {
      const { webhooks } = only(name, kind, object) as unknown as Webhooks;
      for (const { clientConfig } of webhooks) assert.equal(clientConfig.service.name, 'acme-ingester-webhook');
    }
  });

  it('let the uninstall remove every admission configuration that is shipped, and none by another name', () => {
    const shipped = ['uninstall-hook', 'admission-policies', 'lifecycle'].flatMap(of).filter(({ kind, metadata }) => {
      const { 'app.kubernetes.io/component': component } = (metadata['labels'] ?? {}) as Readonly<
        Record<string, string>
      >;
      return /WebhookConfiguration$|AdmissionPolicy/.test(kind) && component !== 'deletion-protection';
    });
    const { rules } = only('uninstall-hook', 'ClusterRole', 'ingester-uninstall') as unknown as {
      rules: readonly { readonly apiGroups: readonly string[]; readonly resourceNames?: readonly string[] }[];
    };
    const named = rules.filter(({ apiGroups }) => apiGroups.includes('admissionregistration.k8s.io'));
    const names = [...new Set(shipped.map(({ metadata }) => metadata.name))];
    assert.deepEqual(named.flatMap(({ resourceNames = [] }) => resourceNames).toSorted(), names.toSorted());
  });

  it('have no variable that Flux would substitute, unless substitution is off', () => {
    for (const [name, manifests] of renders) {
      for (const manifest of manifests) {
        const off = manifest.metadata['annotations'] as unknown as Readonly<Record<string, string>> | undefined;
        if (off?.['kustomize.toolkit.fluxcd.io/substitute'] === 'disabled') continue;
        assert.doesNotMatch(JSON.stringify(manifest), /\$\{/, `${name}: ${nameOf(manifest)}`);
      }
    }
  });

  it('are published with the image by its digest, and only the definitions by themselves', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'release-'));
    try {
      const image = `registry.example/michelangelo-ingester@sha256:${'0'.repeat(64)}`;
      const paths = await writeReleaseManifests({ kubectl: controlPlane.kubectl, folder, image });
      const files = paths.map((path) => [basename(path), manifestsOf(readFileSync(path, 'utf8'))] as const);
      for (const [name, manifests] of files) {
        assert.deepEqual(
          new Set(manifests.flatMap(imagesOf)),
          new Set(name.endsWith('crds.yaml') || name.endsWith('crd.yaml') ? [] : [image]),
          name,
        );
        const definitions = manifests.filter(({ kind }) => kind === 'CustomResourceDefinition').length;
        const expected: Readonly<Record<string, number>> = { 'install-crds.yaml': 14, 'install-ingester-crd.yaml': 1 };
        assert.equal(definitions, expected[name] ?? 0, name);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('give no right to a service account that they do not have', () => {
    for (const [name, manifests] of renders) {
      const accounts = new Set(manifests.filter(({ kind }) => kind === 'ServiceAccount').map(nameOf));
      for (const { kind, metadata, subjects } of manifests) {
        if (!kind.endsWith('RoleBinding')) continue;
        for (const subject of subjects as unknown as readonly (Manifest['metadata'] & { kind: string })[])
          if (subject.kind === 'ServiceAccount')
            assert.ok(
              accounts.has(`ServiceAccount ${subject.namespace ?? ''}/${subject.name}`),
              `${name}: ${kind} ${metadata.name} is for ${subject.name}`,
            );
      }
    }
  });

  it('are deleted by Argo CD with the deletion protection last, which refuses the rest before the uninstall is over', async () => {
    const bundle = manifestsOf(await renderText(controlPlane.kubectl, { folder: 'config/units/bundle' }));
    const isProtection = ({ metadata }: Manifest): boolean => metadata.name === 'ingester-deletion-protection';
    const [protection, others] = [bundle.filter(isProtection), bundle.filter((manifest) => !isProtection(manifest))];
    assert.equal(protection.length, 2);
    assert.ok(Math.max(...protection.map(waveOf)) < Math.min(...others.map(waveOf)));
  });

  it('have samples for Argo CD and Flux that start the units in their order', () => {
    const argocd = gitopsSamples('argocd');
    const applications = argocd.filter(({ kind }) => kind === 'Application');
    // None of them becomes healthy without its project.
    assert.deepEqual(
      argocd.toSorted((a, b) => waveOf(a) - waveOf(b)).map(({ metadata }) => metadata.name),
      ['michelangelo', 'ingester-platform', 'ingester-bundle', 'ingester-instances'],
    );
    const flux = gitopsSamples('flux').filter(({ kind }) => kind === 'Kustomization');
    const dependencies = flux.map(({ metadata, spec }) => [
      metadata.name,
      (spec as unknown as { dependsOn?: { name: string }[] }).dependsOn?.map(({ name }) => name),
    ]);
    assert.deepEqual(Object.fromEntries(dependencies), {
      'ingester-platform': undefined,
      'ingester-bundle': ['ingester-platform'],
      'ingester-instances': ['ingester-bundle'],
    });
    for (const { metadata, spec } of [...applications, ...flux]) {
      const { path, source } = spec as unknown as { path?: string; source?: { path: string } };
      assert.ok(existsSync(join(root, path ?? source?.path ?? '-', 'kustomization.yaml')), metadata.name);
    }
  });

  it('are accepted by the API server, which knows every field', async (test) => {
    const crds = await thirdPartyCrds();
    if (crds === undefined) {
      test.skip('needs Go on PATH to fetch the CRDs of cert-manager and the Prometheus operator');
      return;
    }
    const kubectl = async (args: readonly string[], input?: string): Promise<string> =>
      (await controlPlane.kubectlRun(args, input === undefined ? {} : { input })).stdout;
    await kubectl(['apply', '--server-side', '-f', crds]);
    for (const folder of ['crds', 'crds/ingester']) await kubectl(['apply', '--server-side', '-k', folder]);
    await kubectl(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
    await kubectl(['create', 'namespace', 'ingester-system']);
    await kubectl(['create', 'namespace', 'metadata']);
    for (const [name, text] of texts) {
      await assert.doesNotReject(
        () => kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'], text),
        name,
      );
    }
    // No module has the definitions of Flux's notification controller, so its two kinds are left out.
    const samples = ['argocd', 'argocd/tombstones', 'flux']
      .flatMap(gitopsSamples)
      .filter(({ apiVersion }) => !apiVersion.startsWith('notification.'));
    for (const name of ['argocd', 'flux-system', 'ingester-test']) await kubectl(['create', 'namespace', name]);
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: samples });
    await kubectl(['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'], list);
  });

  it('change in the parts of Argo CD only the settings, containers and volumes of the bundle', async () => {
    const folder = argocdStub();
    try {
      const rendered = manifestsOf(await renderText(controlPlane.kubectl, { folder: folder.path }));
      const data = dataOf(rendered, 'argocd-cm');
      assert.equal(data['url'], 'https://argocd.example');
      assert.ok('resource.customizations.health.michelangelo.api_PipelineRun' in data);
      assert.ok('extension.config.ingester' in data);
      assert.deepEqual(
        podOf(rendered, 'argocd-repo-server')
          .containers.map(({ name }) => name)
          .toSorted(),
        ['argocd-repo-server', 'ingester-render'],
      );
      const server = podOf(rendered, 'argocd-server');
      assert.equal(server.containers.length, 1);
      const script = server.volumes?.find(({ name }) => name === 'ingester-extension')?.configMap?.name ?? '';
      assert.match(dataOf(rendered, script)['extension-ingester.js'] ?? '', /registerResourceExtension/);
      assert.ok('trigger.ingester-needs-attention' in dataOf(rendered, 'argocd-notifications-cm'));
      for (const { metadata } of rendered) assert.equal(metadata.namespace, 'argocd');
    } finally {
      folder.remove();
    }
  });
});

interface PodSpec {
  readonly containers: readonly { readonly name: string }[];
  readonly volumes?: readonly { readonly name: string; readonly configMap?: { readonly name: string } }[];
}

function waveOf({ metadata }: Manifest): number {
  const annotations = metadata['annotations'] as Readonly<Record<string, string>> | undefined;
  return Number(annotations?.['argocd.argoproj.io/sync-wave'] ?? 0);
}

function named(manifests: readonly Manifest[], wanted: string): Manifest {
  const found = manifests.find(({ metadata }) => metadata.name === wanted);
  assert.ok(found !== undefined, wanted);
  return found;
}

function dataOf(manifests: readonly Manifest[], configMap: string): Readonly<Record<string, string>> {
  return named(manifests, configMap)['data'] as Readonly<Record<string, string>>;
}

function podOf(manifests: readonly Manifest[], deployment: string): PodSpec {
  return (named(manifests, deployment)['spec'] as unknown as { template: { spec: PodSpec } }).template.spec;
}

/** Manifests in the sample folder of a tool, as they are written. */
function gitopsSamples(tool: string): readonly Manifest[] {
  const files = globSync(`config/${tool}/*.yaml`, { cwd: root }).filter((file) => !file.endsWith('kustomization.yaml'));
  assert.ok(files.length > 2, tool);
  return files.flatMap((file) => manifestsOf(readFileSync(join(root, file), 'utf8')));
}

/** The parts of an Argo CD installation that our components patch, as its own manifests have them: without a namespace. */
function argocdStub(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(root, '.local/argocd-'));
  const configMap = (name: string, data: object): object => {
    return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data };
  };
  const deployment = (name: string): object => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { template: { spec: { containers: [{ name, image: 'argocd' }] } } },
  });
  const files = {
    'cm.yaml': configMap('argocd-cm', { url: 'https://argocd.example' }),
    'params.yaml': configMap('argocd-cmd-params-cm', {}),
    'notifications.yaml': configMap('argocd-notifications-cm', {}),
    'repo-server.yaml': deployment('argocd-repo-server'),
    'server.yaml': deployment('argocd-server'),
  };
  const kustomization = {
    namespace: 'argocd',
    resources: Object.keys(files),
    components: ['customizations', 'notifications', 'plugin', 'extension'].map((name) => `../../config/argocd/${name}`),
  };
  for (const [name, content] of Object.entries({ ...files, 'kustomization.yaml': kustomization })) {
    writeFileSync(join(path, name), stringify(content));
  }
  return { path: relative(root, path), remove: () => rmSync(path, { recursive: true }) };
}

interface Webhooks {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly webhooks: readonly {
    readonly clientConfig: { readonly service: { readonly name: string; readonly namespace: string } };
    readonly rules: readonly { readonly resources: readonly string[] }[];
    readonly matchConditions: readonly { readonly name: string; readonly expression: string }[];
  }[];
}

interface CertificateSpec {
  readonly dnsNames: readonly string[];
  readonly issuerRef: { readonly name: string };
}

const webhookConfigurations = [
  ['MutatingWebhookConfiguration', 'acme-ingester-finalizer'],
  ['ValidatingWebhookConfiguration', 'acme-ingester-rules'],
] as const;
