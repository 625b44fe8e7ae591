// A user who removes the bundle without `ingester uninstall` gets that done, or a refusal that names it; never half
// an installation that can neither work nor be removed.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findGoProgram, goPrograms } from '../../hack/local/go-program.ts';
import { type PodCluster, startPodCluster } from '../../hack/local/pod-bundle.ts';
import { type CommandResult, runCommand } from '../../hack/local/run-command.ts';
import { writeChart } from '../../hack/release/chart.ts';
import { writeReleaseManifests } from '../../hack/release/manifests.ts';
import { eventually } from '../support/eventually.ts';

const SYSTEM = 'ingester-system';
const MODELS = 'models.michelangelo.api';
const RECONCILER = ['-n', SYSTEM, 'deployment/ingester-reconciler'];
const REASON = /run "ingester uninstall" first, or apply uninstall\.yaml/;

describe('a removal without `ingester uninstall`', async () => {
  const preparation = { env: process.env, progress: () => undefined, signal: undefined };
  const helmPath = await findGoProgram(goPrograms.helm, preparation);
  const withHelm = { skip: helmPath === undefined ? 'needs Go on PATH to build Helm' : false };
  const home = mkdtempSync(join(tmpdir(), 'uninstall-'));
  let cluster: PodCluster;

  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(...args);
  const tryKubectl = (...args: readonly string[]): Promise<CommandResult> =>
    cluster.controlPlane.kubectlRun(args, { allowFailure: true });

  async function helm(...args: readonly string[]): Promise<CommandResult> {
    const folders = Object.fromEntries(
      ['CACHE', 'CONFIG', 'DATA'].map((name) => [`HELM_${name}_HOME`, join(home, name)]),
    );
    const env = { ...process.env, ...folders, KUBECONFIG: cluster.controlPlane.kubeconfig };
    return runCommand(helmPath ?? '', [...args, '-n', SYSTEM, '--timeout', '180s'], { env });
  }

  async function copied(name: string): Promise<void> {
    const manifest = { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { namespace: 'default', name } };
    await cluster.controlPlane.kubectlRun(['create', '-f', '-'], { input: JSON.stringify(manifest) });
    await eventually(async () => assert.equal((await rowsOf(name)).length, 1));
  }
  const rowsOf = (name: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    cluster.database.query('SELECT delete_time FROM model WHERE name = ?', [name]);

  /** Also with new pods: whatever the reconciler needs is there. */
  async function stillWorks(name: string): Promise<void> {
    await kubectl('rollout', 'restart', ...RECONCILER);
    await kubectl('rollout', 'status', ...RECONCILER, '--timeout=120s');
    await kubectl('delete', MODELS, '-n', 'default', name, '--timeout=90s');
    assert.notEqual((await rowsOf(name))[0]?.['delete_time'], null);
  }

  async function nothingIsLeft(kept: string): Promise<void> {
    const finalizers = ['get', MODELS, '-n', 'default', kept, '-o', 'jsonpath={.metadata.finalizers}'];
    assert.doesNotMatch(await kubectl(...finalizers), /michelangelo/);
    assert.equal((await rowsOf(kept))[0]?.['delete_time'], null);
    const kinds =
      'deployments,clusterroles,clusterrolebindings,validatingadmissionpolicies,mutatingwebhookconfigurations';
    const labelled = ['-l', 'app.kubernetes.io/name=michelangelo-ingester', '-o', 'name'];
    await eventually(async () => assert.equal(await kubectl('get', kinds, '-n', SYSTEM, ...labelled), ''));
  }

  before(async () => {
    cluster = await startPodCluster({ progress: () => undefined });
  });
  after(async () => {
    await cluster.stop();
    rmSync(home, { recursive: true });
  });

  it(
    'by helm is refused with the command where hooks are off, leaves what works, and uninstalls where they are on',
    withHelm,
    async () => {
      const chart = join(home, 'chart');
      await writeChart({ kubectl: cluster.controlPlane.kubectl, folder: chart });
      const small = [
        'webhook.replicas=1',
        'reconciler.replicas=1',
        'certManager.enabled=false',
        'crds.michelangelo=true',
      ];
      const installed = await helm(
        'install',
        'ingester',
        chart,
        '--wait',
        ...small.flatMap((value) => ['--set', value]),
      );
      assert.equal(installed.code, 0, installed.stderr);
      await copied('deleted');
      await copied('kept');
      const refused = await helm('uninstall', 'ingester', '--no-hooks', '--debug');
      assert.notEqual(refused.code, 0);
      assert.match(refused.stderr, REASON);
      await stillWorks('deleted');
      const removed = await helm('uninstall', 'ingester');
      assert.equal(removed.code, 0, removed.stderr);
      await nothingIsLeft('kept');
    },
  );

  it('by kubectl is refused with the command, leaves what works, and is done after the uninstall', async () => {
    const folder = join(home, 'release');
    await writeReleaseManifests({ kubectl: cluster.controlPlane.kubectl, folder });
    const [crds, install, uninstall] = ['install-crds.yaml', 'install-no-cert-manager.yaml', 'uninstall.yaml'].map(
      (name) => join(folder, name),
    );
    await kubectl('apply', '--server-side', '--force-conflicts', '-f', crds ?? '', '-f', install ?? '');
    await kubectl('wait', '-n', SYSTEM, '--for=condition=Complete', '--timeout=180s', 'job/ingester-probe');
    await kubectl('rollout', 'status', ...RECONCILER, '--timeout=120s');
    await copied('deleted-too');
    await copied('kept-too');
    const refused = await tryKubectl('delete', '-f', install ?? '', '--ignore-not-found', '--timeout=60s');
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, REASON);
    await stillWorks('deleted-too');
    await kubectl('apply', '-f', uninstall ?? '');
    await kubectl('wait', '-n', SYSTEM, '--for=condition=Complete', '--timeout=120s', 'job/ingester-uninstall');
    await kubectl('delete', '-f', uninstall ?? '', '-f', install ?? '', '--ignore-not-found', '--timeout=120s');
    await nothingIsLeft('kept-too');
  });
});
