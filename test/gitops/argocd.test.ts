// What Argo CD does with the manifests: its own controller and repo server follow config/argocd from a Git repository.
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { findGoProgram, gitopsPrograms } from '../../hack/local/go-program.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { appOfApps, writeAddress } from '../support/app-of-apps.ts';
import { ArgoCd } from '../support/argo-cd-core.ts';
import { eventually } from '../support/eventually.ts';
import { GitRepository } from '../support/git-repository.ts';
import { renderMarks } from '../support/render-marks.ts';
import { useInstalled } from '../support/use-installed.ts';

const NS = 'ingester-test';
const onTheirs = process.env['E2E_GIT_URL'] !== undefined;
const preparation = { env: process.env, progress: () => undefined, signal: undefined };
const program = onTheirs ? undefined : await findGoProgram(gitopsPrograms.argoCd, preparation);
const skip = program === undefined && !onTheirs ? 'needs Go on PATH to build Argo CD' : false;

const samples = ['00-namespace', '01-project', '02-modelfamily', '03-model', '04-pipeline'];
const instancesOf = (names: readonly string[]): string =>
  stringify({ kind: 'Kustomization', resources: names.map((name) => `${name}.yaml`) });
/** Argo CD tries again after up to five minutes what fails once. */
const PATIENCE_MS = 600_000;
const model = 'ingester-test-model';
const modelFile = 'config/samples/03-model.yaml';
const instances = 'config/argocd/instances.yaml';

describe('Argo CD', { skip }, () => {
  const use = useInstalled();
  let git: GitRepository;
  let argoCd: ArgoCd;

  before(async () => {
    git = await GitRepository.create();
    // As config/overlays/production, without the operator of Prometheus.
    const overlay = {
      resources: [`../${basename(use().overlay)}`],
      components: ['deletion-protection', 'uninstall-hook', 'argocd'],
    };
    const components = overlay.components.map((name) => `../../components/${name}`);
    git.write('config/overlays/production/kustomization.yaml', stringify({ ...kustomization, ...overlay, components }));
    git.write('config/samples/kustomization.yaml', instancesOf(samples));
    writeAddress(git);
    argoCd = await ArgoCd.start(use(), program);
  });
  after(async () => {
    await argoCd.stop();
    git.remove();
  });

  /** The Application has applied the commit, and all of it is healthy. */
  const follows = async (name: string, commit: string, health = 'Healthy'): Promise<void> => {
    await argoCd.refresh(name);
    await eventually(async () => {
      const application = await argoCd.application(name);
      const seen = [application.sync, application.health, application.revision];
      assert.deepEqual(seen, ['Synced', health, commit], application.text);
    }, PATIENCE_MS);
  };
  const rowOf = async (table: string, name: string): Promise<Readonly<Record<string, unknown>>> => {
    const rows = await use().query(`SELECT * FROM \`${table}\` WHERE namespace = ? AND name = ?`, [NS, name]);
    assert.equal(rows.length, 1, `rows of ${name}`);
    return rows[0] ?? {};
  };
  const get = (plural: string, name: string): Promise<string> =>
    use().kubectl('get', `${plural}.michelangelo.api`, name, '-n', NS, '-o', 'json', '--ignore-not-found');
  const versionOf = async (plural: string, name: string): Promise<string> =>
    (JSON.parse(await get(plural, name)) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;

  it('applies platform, bundle and instances one after the other, and knows which objects are not ready', async () => {
    const commit = await git.commit('install the ingester');
    for (const manifest of appOfApps(git)) await use().apply(manifest);
    await eventually(async () => assert.notEqual(await get('pipelines', 'ingester-test-pipeline'), ''), PATIENCE_MS);
    // Waves: nothing of the instances before the bundle was healthy.
    await follows('ingester-platform', commit);
    await follows('ingester-bundle', commit);
    await follows('ingester-instances', commit, 'Progressing');
    await use().kubectl(
      ...['patch', 'pipelines.michelangelo.api', 'ingester-test-pipeline', '-n', NS, '--subresource=status'],
      ...['--type=merge', '-p', '{"status":{"state":"PIPELINE_STATE_READY"}}'],
    );
    await follows('ingester-instances', commit);
    await follows('ingester', commit);
    for (const [plural, name] of [
      ['projects', 'ingester-test'],
      ['models', model],
    ] as const) {
      const { metadata } = JSON.parse(await get(plural, name)) as { metadata: { finalizers: string[] } };
      assert.deepEqual(metadata.finalizers, [FINALIZER]);
    }
    await eventually(() => rowOf('model', model));
  });

  it('brings a commit into MySQL, and finds no drift in what the bundle adds to objects', async () => {
    git.write(modelFile, git.read(modelFile).replaceAll('sklearn', 'torch'));
    await follows('ingester-instances', await git.commit('another framework'));
    await eventually(async () => {
      const { json } = (await rowOf('model', model)) as { json: { spec: { trainingFramework: string } } };
      assert.equal(json.spec.trainingFramework, 'torch');
    });
    const before = await versionOf('models', model);
    await follows('ingester-instances', await git.commit('nothing new'));
    assert.equal(await versionOf('models', model), before);
  });

  it('changes the bundle by a commit and takes it back by git revert', async () => {
    const period = (): Promise<string> =>
      use().kubectl(
        ...['get', 'deployment', 'ingester-reconciler', '-n', 'ingester-system', '-o'],
        'jsonpath={.spec.template.spec.containers[0].env[?(@.name=="INGESTER_INGESTER_REQUEUE_PERIOD")].value}',
      );
    const path = `${use().overlay}/kustomization.yaml`;
    git.write(path, git.read(path).replace('value: 2s', 'value: 3s'));
    await follows('ingester-bundle', await git.commit('look again later'));
    assert.equal(await period(), '3s');
    await follows('ingester-bundle', await git.revert());
    assert.equal(await period(), '2s');
  });

  it('is refused a downgrade that a revert brings, says what to do, and goes on with the commit that permits it', async () => {
    git.write(modelFile, `${git.read(modelFile)}  revisionId: 2\n`);
    await follows('ingester-instances', await git.commit('second revision'));
    await git.revert();
    await argoCd.refresh('ingester-instances');
    await eventually(async () => {
      const { text } = await argoCd.application('ingester-instances');
      assert.match(text, /spec\.revisionId 2 -> .* is a downgrade; .*michelangelo\/allow-downgrade=/);
    }, PATIENCE_MS);
    assert.match(await get('models', model), /"revisionId": 2/);
    const manifest = parse(git.read(modelFile)) as { metadata: { annotations?: object }; spec: object };
    manifest.metadata.annotations = { 'michelangelo/allow-downgrade': '1' };
    git.write(modelFile, stringify({ ...manifest, spec: { ...manifest.spec, revisionId: 1 } }));
    await follows('ingester-instances', await git.commit('permitted'));
    assert.match(await get('models', model), /"revisionId": 1/);
  });

  it('keeps in etcd objects that Argo CD would create again, and lets go of objects that Git allows to leave', async () => {
    await use().kubectl('annotate', 'models.michelangelo.api', model, '-n', NS, 'michelangelo/Immutable=true');
    await eventually(async () => assert.notEqual((await rowOf('model', model))['evict_request_time'], null));
    assert.notEqual(await get('models', model), '');
    const manifest = parse(git.read(modelFile)) as { metadata: { annotations?: object } };
    manifest.metadata.annotations = { 'michelangelo/Eviction': 'Allow' };
    git.write(modelFile, stringify(manifest));
    await git.commit('may leave');
    await argoCd.refresh('ingester-instances');
    await eventually(async () => assert.equal(await get('models', model), ''), PATIENCE_MS);
    const { evict_time: evicted, delete_time: deleted } = await rowOf('model', model);
    assert.deepEqual([evicted === null, deleted], [false, null]);
  });

  it('does not create an archived object again where the plugin renders', {
    skip: onTheirs ? 'needs the plugin, and an image for it' : false,
  }, async () => {
    const shipped = git.read(instances);
    git.write(instances, shipped.replace(/( +)path: config\/samples\n/, '$&$1plugin: { name: ingester-render }\n'));
    const commit = await git.commit('render with the plugin');
    await follows('ingester', commit);
    await follows('ingester-instances', commit);
    assert.equal(await get('models', model), '');
    git.write(instances, shipped);
  });

  it('does not create an archived object again once its manifest is marked', async () => {
    git.write(modelFile, await renderMarks(use().settings, git.read(modelFile), '--for', 'argocd'));
    const commit = await git.commit('archived');
    await follows('ingester', commit);
    await follows('ingester-instances', commit);
    assert.equal(await get('models', model), '');
    assert.equal((await rowOf('model', model))['delete_time'], null);
  });

  it('prunes an object that is no longer in Git after MySQL has its final state', async () => {
    git.write('config/samples/kustomization.yaml', instancesOf(samples.filter((name) => name !== '02-modelfamily')));
    await follows('ingester-instances', await git.commit('no family'));
    assert.equal(await get('modelfamilys', 'ingester-test-model-family'), '');
    assert.notEqual((await rowOf('model_family', 'ingester-test-model-family'))['delete_time'], null);
  });

  it('ends with the instances when their Application is deleted, and uninstalls before it deletes the bundle', async () => {
    const own = { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { namespace: 'default', name: 'stays' } };
    await use().apply(own);
    const remove = (name: string): Promise<string> =>
      argoCd.kubectl('delete', 'applications.argoproj.io', name, '--timeout=600s');
    await remove('ingester');
    await remove('ingester-instances');
    assert.equal(await get('pipelines', 'ingester-test-pipeline'), '');
    assert.notEqual((await rowOf('pipeline', 'ingester-test-pipeline'))['delete_time'], null);
    await remove('ingester-bundle');
    const labelled = ['-l', 'app.kubernetes.io/name=michelangelo-ingester', '-o', 'name'];
    const admission = 'mutatingwebhookconfigurations,validatingwebhookconfigurations';
    assert.equal(await use().kubectl('get', `${admission},deployments`, '-A', ...labelled), '');
    const left = await use().kubectl('get', 'models.michelangelo.api', 'stays', '-n', 'default', '-o', 'json');
    assert.equal((JSON.parse(left) as { metadata: { finalizers?: object } }).metadata.finalizers, undefined);
    const [row] = await use().query("SELECT delete_time, evict_time FROM model WHERE name = 'stays'");
    assert.deepEqual(row, { delete_time: null, evict_time: null });
  });
});

const kustomization = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' };
