// From an empty cluster to objects that are guarded, by one Application.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { findGoProgram, gitopsPrograms } from '../../hack/local/go-program.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { appOfApps, writeAddress } from '../support/app-of-apps.ts';
import { ArgoCd } from '../support/argo-cd-core.ts';
import { eventually } from '../support/eventually.ts';
import { GitRepository } from '../support/git-repository.ts';
import { useEmptyCluster } from '../support/use-installed.ts';

const preparation = { env: process.env, progress: () => undefined, signal: undefined };
const program = await findGoProgram(gitopsPrograms.argoCd, preparation);
const skip = program === undefined ? 'needs Go on PATH to build Argo CD' : false;

/** Without cert-manager: its certificate is made by a Job of the bundle. */
const overlay = {
  ...{ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' },
  resources: ['../no-cert-manager'],
  components: ['crds', 'probe', 'deletion-protection', 'argocd'].map((name) => `../../components/${name}`),
};

describe('Argo CD in an empty cluster', { skip }, () => {
  const use = useEmptyCluster();
  let git: GitRepository;
  let argoCd: ArgoCd;

  before(async () => {
    git = await GitRepository.create();
    git.write('config/overlays/production/kustomization.yaml', stringify(overlay));
    git.write(
      'config/samples/kustomization.yaml',
      stringify({ kind: 'Kustomization', resources: ['00-namespace.yaml', '01-project.yaml', '03-model.yaml'] }),
    );
    writeAddress(git);
    argoCd = await ArgoCd.start(use(), program);
  });
  after(async () => {
    await argoCd.stop();
    git.remove();
  });

  it('creates no object before the sync of the bundle is over, so that each is born guarded', async () => {
    await git.commit('install the ingester');
    for (const manifest of appOfApps(git)) await use().apply(manifest);
    const project = ['get', 'projects.michelangelo.api', 'ingester-test', '-n', 'ingester-test', '-o', 'json'];
    await eventually(async () => {
      const { text } = await argoCd.application('ingester-bundle').catch(() => ({ text: 'no Application yet' }));
      assert.equal((await use().tryKubectl(...project)).code, 0, text);
    }, 600_000);
    const { metadata } = JSON.parse(await use().kubectl(...project)) as {
      metadata: { creationTimestamp: string; finalizers: string[] };
    };
    assert.deepEqual(metadata.finalizers, [FINALIZER]);
    const bundle = await argoCd.kubectl('get', 'applications.argoproj.io', 'ingester-bundle', '-o', 'json');
    const { status } = JSON.parse(bundle) as { status: { history?: readonly { deployedAt: string }[] } };
    const [first] = status.history ?? [];
    assert.ok(first !== undefined && first.deployedAt <= metadata.creationTimestamp, JSON.stringify(status.history));
  });
});
