// What Flux does with the manifests: its own kustomize-controller applies config/flux, and commits follow. On the cluster
// that E2E_KUBECONFIG names (hack/kind/test flux), all of Flux does.
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { findGoProgram, goPrograms } from '../../hack/local/go-program.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { eventually } from '../support/eventually.ts';
import { Flux } from '../support/flux.ts';
import { renderMarks } from '../support/render-marks.ts';
import { thirdPartyCrds } from '../support/third-party-crds.ts';
import { useInstalled } from '../support/use-installed.ts';

const NS = 'ingester-test';
const onTheirs = process.env['E2E_GIT_URL'] !== undefined;
const preparation = { env: process.env, progress: () => undefined, signal: undefined };
const program = onTheirs ? undefined : await findGoProgram(goPrograms.kustomizeController, preparation);
const skip = program === undefined && !onTheirs ? 'needs Go on PATH to build kustomize-controller' : false;

const samples = ['00-namespace', '01-project', '02-modelfamily', '03-model', '04-pipeline'];
const instancesOf = (names: readonly string[]): string =>
  stringify({ kind: 'Kustomization', resources: names.map((name) => `${name}.yaml`) });

describe('Flux', { skip }, () => {
  const use = useInstalled();
  let flux: Flux;
  before(async () => {
    const local = program === undefined ? undefined : { program, crds: (await thirdPartyCrds()) ?? '' };
    flux = await Flux.start(use(), local);
    // As config/overlays/production, without the operator of Prometheus.
    const overlay = {
      ...{ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' },
      resources: [`../${basename(use().overlay)}`],
      components: ['../../components/deletion-protection', '../../components/flux'],
    };
    flux.repository.write('config/overlays/production/kustomization.yaml', stringify(overlay));
    flux.repository.write('config/samples/kustomization.yaml', instancesOf(samples));
  });
  after(() => flux.stop());

  const applied = (name: string, revision: string): Promise<void> =>
    eventually(async () => {
      const { conditions, lastAppliedRevision } = await flux.kustomization(name);
      const ready = conditions.find(({ type }) => type === 'Ready');
      assert.deepEqual([ready?.status, lastAppliedRevision], ['True', revision], JSON.stringify(conditions));
    }, 240_000);
  const rowOf = async (table: string, name: string): Promise<Readonly<Record<string, unknown>>> => {
    const rows = await use().query(`SELECT * FROM \`${table}\` WHERE namespace = ? AND name = ?`, [NS, name]);
    assert.equal(rows.length, 1, `rows of ${name}`);
    return rows[0] ?? {};
  };
  const get = async (plural: string, name: string): Promise<string | undefined> => {
    const args = ['get', `${plural}.michelangelo.api`, name, '-n', NS, '-o', 'json', '--ignore-not-found'];
    const text = await use().kubectl(...args);
    return text === '' ? undefined : text;
  };
  const makeReady = (): Promise<string> =>
    use().kubectl(
      ...['patch', 'pipelines.michelangelo.api', 'ingester-test-pipeline', '-n', NS, '--subresource=status'],
      ...['--type=merge', '-p', '{"status":{"state":"PIPELINE_STATE_READY"}}'],
    );

  it('takes over platform and bundle, then applies the instances, which are not ready before they are', async () => {
    const { url, branch } = flux.repository;
    const source = flux.repository.read('config/flux/source.yaml').replace(/tag: .*/, `branch: ${branch}`);
    // Flux reads no folders, and here nothing reads the address.
    await use().apply(parse(onTheirs ? source.replace(/url: .*/, `url: ${url}`) : source) as object);
    const revision = await flux.commit();
    await use().kubectl(
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
    flux.repository.write(
      'config/samples/03-model.yaml',
      flux.repository.read('config/samples/03-model.yaml').replaceAll('sklearn', 'torch'),
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
      use().kubectl(
        ...['get', 'deployment', 'ingester-reconciler', '-n', 'ingester-system', '-o'],
        'jsonpath={.spec.template.spec.containers[0].env[?(@.name=="INGESTER_INGESTER_REQUEUE_PERIOD")].value}',
      );
    const path = `${use().overlay}/kustomization.yaml`;
    const shipped = flux.repository.read(path);
    flux.repository.write(path, shipped.replace('value: 2s', 'value: 3s'));
    await applied('ingester-bundle', await flux.commit());
    assert.equal(await period(), '3s');
    flux.repository.write(path, shipped);
    await applied('ingester-bundle', await flux.commit());
    assert.equal(await period(), '2s');
  });

  it('never writes its mark of archived objects to a live object, so that no eviction waits for the mark', async () => {
    const path = 'config/samples/03-model.yaml';
    const [shipped, mark] = [flux.repository.read(path), { 'kustomize.toolkit.fluxcd.io/ssa': 'Ignore' }];
    const marked = parse(shipped) as { metadata: { annotations?: object } };
    marked.metadata.annotations = mark;
    flux.repository.write(path, stringify(marked));
    await applied('ingester-instances', await flux.commit());
    assert.doesNotMatch((await get('models', 'ingester-test-model')) ?? '', /toolkit.fluxcd.io\/ssa/);
    flux.repository.write(path, shipped);
  });

  it('does not create an archived object again once the ConfigMap of tombstones says so', async () => {
    const [path, name] = ['config/samples/03-model.yaml', 'ingester-test-model'];
    const allowed = parse(flux.repository.read(path)) as { metadata: { annotations?: object } };
    allowed.metadata.annotations = { 'michelangelo/Eviction': 'Allow' };
    const placeholders = await renderMarks(use().settings, stringify(allowed), '-o', 'placeholders');
    flux.repository.write(path, placeholders);
    await applied('ingester-instances', await flux.commit());
    await use().kubectl('annotate', 'models.michelangelo.api', name, '-n', NS, 'michelangelo/Immutable=true');
    await eventually(async () => assert.equal(await get('models', name), undefined));
    const form = ['-o', 'configmap', '--configmap-namespace', 'flux-system'];
    await use().apply(parse(await renderMarks(use().settings, placeholders, ...form)) as object);
    await applied('ingester-instances', await flux.commit());
    assert.equal(await get('models', name), undefined);
    const { evict_time: evicted, delete_time: deleted } = await rowOf('model', name);
    assert.notEqual(evicted, null);
    assert.equal(deleted, null);
  });

  it('prunes an object that is no longer in Git after MySQL has its final state', async () => {
    flux.repository.write(
      'config/samples/kustomization.yaml',
      instancesOf(samples.filter((name) => name !== '02-modelfamily')),
    );
    await applied('ingester-instances', await flux.commit());
    await eventually(async () => assert.equal(await get('modelfamilys', 'ingester-test-model-family'), undefined));
    assert.notEqual((await rowOf('model_family', 'ingester-test-model-family'))['delete_time'], null);
  });

  it('ends with the instances when their Kustomization is deleted, and leaves the bundle where it is', async () => {
    for (const unit of ['instances', 'bundle', 'platform']) {
      const kustomization = ['kustomizations.kustomize.toolkit.fluxcd.io', `ingester-${unit}`];
      await flux.kubectl('delete', ...kustomization, '--timeout=240s');
    }
    assert.equal(await get('pipelines', 'ingester-test-pipeline'), undefined);
    assert.notEqual((await rowOf('pipeline', 'ingester-test-pipeline'))['delete_time'], null);
    await use().kubectl(
      'rollout',
      'status',
      '-n',
      'ingester-system',
      'deployment/ingester-reconciler',
      '--timeout=120s',
    );
  });
});
