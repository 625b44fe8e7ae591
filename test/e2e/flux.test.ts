// What Flux does with the manifests: its own kustomize-controller applies config/flux, and commits follow.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { findGoProgram, goPrograms } from '../../hack/local/go-program.ts';
import { type PodBundle, startPodBundle } from '../../hack/local/pod-bundle.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { eventually } from '../support/eventually.ts';
import { Flux } from '../support/flux.ts';
import { thirdPartyCrds } from '../support/third-party-crds.ts';

const NS = 'ingester-test';
const preparation = { env: process.env, progress: () => undefined, signal: undefined };
const program = await findGoProgram(goPrograms.kustomizeController, preparation);
const skip = program === undefined ? 'needs Go on PATH to build kustomize-controller' : false;

/** As config/overlays/production, for a node of this machine: neither cert-manager nor Prometheus. */
const overlay = stringify({
  apiVersion: 'kustomize.config.k8s.io/v1beta1',
  kind: 'Kustomization',
  resources: ['../process-node'],
  components: ['../../components/guard', '../../components/flux'],
});
const samples = ['00-namespace', '01-project', '02-modelfamily', '03-model', '04-pipeline'];
const instancesOf = (names: readonly string[]): string =>
  stringify({ kind: 'Kustomization', resources: names.map((name) => `${name}.yaml`) });

describe('Flux', { skip }, () => {
  let bundle: PodBundle;
  let flux: Flux;
  before(async () => {
    bundle = await startPodBundle({ progress: () => undefined });
    flux = await Flux.start(bundle.controlPlane, { program: program ?? '', crds: (await thirdPartyCrds()) ?? '' });
    flux.write('config/overlays/production/kustomization.yaml', overlay);
    flux.write('config/samples/kustomization.yaml', instancesOf(samples));
  });
  after(async () => {
    await flux.stop();
    await bundle.stop();
  });

  const applied = (name: string, revision: string): Promise<void> =>
    eventually(async () => {
      const { conditions, lastAppliedRevision } = await flux.kustomization(name);
      const ready = conditions.find(({ type }) => type === 'Ready');
      assert.deepEqual([ready?.status, lastAppliedRevision], ['True', revision], JSON.stringify(conditions));
    }, 240_000);
  const rowOf = async (table: string, name: string): Promise<Readonly<Record<string, unknown>>> => {
    const rows = await bundle.database.query(`SELECT * FROM \`${table}\` WHERE namespace = ? AND name = ?`, [NS, name]);
    assert.equal(rows.length, 1, `rows of ${name}`);
    return rows[0] ?? {};
  };
  const get = async (plural: string, name: string): Promise<string | undefined> => {
    const args = ['get', `${plural}.michelangelo.api`, name, '-n', NS, '-o', 'json', '--ignore-not-found'];
    const { stdout } = await bundle.controlPlane.kubectlRun(args);
    return stdout === '' ? undefined : stdout;
  };
  const makeReady = (): Promise<string> =>
    bundle.kubectl(
      ...['patch', 'pipelines.michelangelo.api', 'ingester-test-pipeline', '-n', NS, '--subresource=status'],
      ...['--type=merge', '-p', '{"status":{"state":"PIPELINE_STATE_READY"}}'],
    );

  it('takes over platform and bundle, then applies the instances, which are not ready before they are', async () => {
    await bundle.kubectl('apply', '-f', 'config/flux/source.yaml');
    const revision = await flux.commit();
    await bundle.kubectl(
      ...['platform', 'bundle', 'instances']
        .flatMap((unit) => ['-f', `config/flux/${unit}.yaml`])
        .toSpliced(0, 0, 'apply'),
    );
    await applied('ingester-platform', revision);
    await applied('ingester-bundle', revision);
    await eventually(async () => assert.notEqual(await get('pipelines', 'ingester-test-pipeline'), undefined));
    const { conditions } = await flux.kustomization('ingester-instances');
    assert.notEqual(conditions.find(({ type }) => type === 'Ready')?.status, 'True', JSON.stringify(conditions));
    await makeReady();
    await applied('ingester-instances', revision);
    for (const [plural, name] of [
      ['projects', 'ingester-test'],
      ['models', 'ingester-test-model'],
    ] as const) {
      const { metadata } = JSON.parse((await get(plural, name)) ?? '{}') as { metadata: { finalizers: string[] } };
      assert.deepEqual(metadata.finalizers, [FINALIZER]);
    }
    await eventually(() => rowOf('model', 'ingester-test-model'));
  });

  it('brings a commit into MySQL, and finds no drift in what the bundle adds to objects', async () => {
    flux.write(
      'config/samples/03-model.yaml',
      flux.read('config/samples/03-model.yaml').replaceAll('sklearn', 'torch'),
    );
    const revision = await flux.commit();
    await applied('ingester-instances', revision);
    await eventually(async () => {
      const { json } = (await rowOf('model', 'ingester-test-model')) as {
        json: { spec: { trainingFramework: string } };
      };
      assert.equal(json.spec.trainingFramework, 'torch');
    });
    const version = (text: string | undefined): unknown =>
      (JSON.parse(text ?? '{}') as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
    const before = version(await get('models', 'ingester-test-model'));
    await applied('ingester-instances', await flux.commit());
    assert.equal(version(await get('models', 'ingester-test-model')), before);
  });

  it('changes the bundle by a commit and takes it back by its revert', async () => {
    const period = async (): Promise<string> =>
      bundle.kubectl(
        ...['get', 'deployment', 'ingester-reconciler', '-n', 'ingester-system', '-o'],
        'jsonpath={.spec.template.spec.containers[0].env[?(@.name=="INGESTER_INGESTER_REQUEUE_PERIOD")].value}',
      );
    const path = 'config/overlays/process-node/kustomization.yaml';
    const shipped = flux.read(path);
    flux.write(path, shipped.replace('value: 2s', 'value: 3s'));
    await applied('ingester-bundle', await flux.commit());
    assert.equal(await period(), '3s');
    flux.write(path, shipped);
    await applied('ingester-bundle', await flux.commit());
    assert.equal(await period(), '2s');
  });

  it('never writes its mark of archived objects to one that lives, so that no eviction waits for it', async () => {
    const path = 'config/samples/03-model.yaml';
    const [shipped, mark] = [flux.read(path), { 'kustomize.toolkit.fluxcd.io/ssa': 'Ignore' }];
    const marked = parse(shipped) as { metadata: { annotations?: object } };
    marked.metadata.annotations = mark;
    flux.write(path, stringify(marked));
    await applied('ingester-instances', await flux.commit());
    assert.doesNotMatch((await get('models', 'ingester-test-model')) ?? '', /toolkit.fluxcd.io\/ssa/);
    flux.write(path, shipped);
  });

  it('does not create an archived object again once the ConfigMap of tombstones says so', async () => {
    const [path, name] = ['config/samples/03-model.yaml', 'ingester-test-model'];
    const allowed = parse(flux.read(path)) as { metadata: { annotations?: object } };
    allowed.metadata.annotations = { 'michelangelo/Eviction': 'Allow' };
    const placeholders = await render(stringify(allowed), '-o', 'placeholders');
    flux.write(path, placeholders);
    await applied('ingester-instances', await flux.commit());
    await bundle.kubectl('annotate', 'models.michelangelo.api', name, '-n', NS, 'michelangelo/Immutable=true');
    await eventually(async () => assert.equal(await get('models', name), undefined));
    const tombstones = await render(placeholders, '-o', 'configmap', '--configmap-namespace', 'flux-system');
    await bundle.controlPlane.kubectlRun(['apply', '-f', '-'], { input: tombstones });
    await applied('ingester-instances', await flux.commit());
    assert.equal(await get('models', name), undefined);
    const { evict_time: evicted, delete_time: deleted } = await rowOf('model', name);
    assert.notEqual(evicted, null);
    assert.equal(deleted, null);
  });

  it('prunes what is no longer in Git after MySQL has its final state', async () => {
    flux.write('config/samples/kustomization.yaml', instancesOf(samples.filter((name) => name !== '02-modelfamily')));
    await applied('ingester-instances', await flux.commit());
    await eventually(async () => assert.equal(await get('modelfamilys', 'ingester-test-model-family'), undefined));
    assert.notEqual((await rowOf('modelfamily', 'ingester-test-model-family'))['delete_time'], null);
  });

  it('ends with the instances when their Kustomization is deleted, and leaves the bundle where it is', async () => {
    for (const unit of ['instances', 'bundle', 'platform']) {
      const kustomization = ['kustomizations.kustomize.toolkit.fluxcd.io', `ingester-${unit}`];
      await flux.kubectl('delete', ...kustomization, '--timeout=240s');
    }
    assert.equal(await get('pipelines', 'ingester-test-pipeline'), undefined);
    assert.notEqual((await rowOf('pipeline', 'ingester-test-pipeline'))['delete_time'], null);
    await bundle.kubectl('rollout', 'status', '-n', 'ingester-system', 'deployment/ingester-webhook', '--timeout=120s');
  });

  async function render(input: string, ...args: readonly string[]): Promise<string> {
    const { host, port } = bundle.databaseLink;
    const { name, writer } = bundle.database;
    const { code, stdout, stderr } = await runCommand(process.execPath, ['src/main.ts', 'render', ...args], {
      env: {
        ...process.env,
        INGESTER_KUBERNETES_KUBECONFIG: bundle.controlPlane.kubeconfig,
        INGESTER_METADATA_STORAGE_ENABLE_METADATA_STORAGE: 'true',
        ...{ INGESTER_MYSQL_HOST: host, INGESTER_MYSQL_PORT: String(port), INGESTER_MYSQL_DATABASE: name },
        ...{ INGESTER_MYSQL_USER: writer.user, INGESTER_MYSQL_PASSWORD: writer.password },
      },
      input,
    });
    assert.equal(code, 0, stderr);
    return stdout;
  }
});
