// The bundle as the docs install it, with certificates from cert-manager's own controllers and injector.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from 'node:tls';
import { findGoProgram, gitopsPrograms } from '../../hack/local/go-program.ts';
import { type PodCluster, startPodCluster } from '../../hack/local/pod-bundle.ts';
import { runCommand } from '../../hack/local/run-command.ts';
import { writeReleaseManifests } from '../../hack/release/manifests.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { commandClient } from '../../src/app/kube-client.ts';
import { systemClock } from '../../src/base/clock.ts';
import { messageOf } from '../../src/base/errors.ts';
import { loadConfiguration } from '../../src/config/load.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { startCertManager } from '../support/cert-manager.ts';
import { commandsOf } from '../support/docs-page.ts';
import { eventually } from '../support/eventually.ts';
import { type Call, underLoad } from '../support/under-load.ts';

const system = 'ingester-system';
const models = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
const preparation = { env: process.env, progress: () => undefined, signal: undefined };
const program = await findGoProgram(gitopsPrograms.certManager, preparation);
const skip = program === undefined ? 'needs Go on PATH to build cert-manager' : false;

interface Secret {
  readonly data: Readonly<Record<'ca.crt' | 'tls.crt', string>>;
}

interface Registration {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

describe('the bundle with cert-manager', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'with-cert-manager-'));
  let cluster: PodCluster;
  let client: KubeClient;
  let stopCertManager: (() => Promise<void>) | undefined;

  before(async () => {
    cluster = await startPodCluster({ progress: () => undefined });
    stopCertManager = await startCertManager(cluster.controlPlane, program ?? '');
    const env = { INGESTER_KUBERNETES_KUBECONFIG: cluster.controlPlane.kubeconfig };
    client = commandClient(loadConfiguration({ file: undefined, env }), systemClock);
    mkdirSync(join(folder, 'bin'));
    symlinkSync(cluster.controlPlane.kubectl, join(folder, 'bin/kubectl'));
  });
  after(async () => {
    await client.close();
    await stopCertManager?.();
    await cluster.stop();
    rmSync(folder, { recursive: true });
  });

  const get = async <T>(...args: readonly string[]): Promise<T> =>
    JSON.parse(await cluster.kubectl('get', ...args, '-o', 'json')) as T;
  const secret = (): Promise<Secret> => get('secret', '-n', system, 'ingester-webhook-tls');
  const aModel = (name: string): object => {
    return { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { namespace: 'default', name }, spec: {} };
  };
  const dryCreate: Call = async (index) => {
    try {
      const created = await client.create(models, 'default', aModel(`load-${index}`), { dryRun: true });
      return created.metadata.finalizers?.includes(FINALIZER) === true ? undefined : 'without finalizer';
    } catch (error) {
      return messageOf(error);
    }
  };
  /** Serial numbers of what the webhook's pods show to a client. */
  const served = async (): Promise<ReadonlySet<string>> => {
    const pods = await get<{ items: { status: { podIP: string } }[] }>(
      ...['pods', '-n', system, '-l', 'app.kubernetes.io/component=webhook'],
    );
    return new Set(
      await Promise.all(pods.items.map(({ status }) => serialAt(cluster.network.resolve(status.podIP, 9443)))),
    );
  };

  it('is installed by the commands of the docs', async () => {
    await writeReleaseManifests({ kubectl: cluster.controlPlane.kubectl, folder });
    const env = {
      ...process.env,
      PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
      ...{ KUBECONFIG: cluster.controlPlane.kubeconfig, KUBERC: 'off' },
    };
    const commands = commandsOf('install.md', 'With kubectl');
    const { code, stdout, stderr } = await runCommand('bash', ['-euc', commands], { cwd: folder, env });
    assert.equal(code, 0, `${stdout}${stderr}`);
    const ready = ['wait', '-n', system, '--for=condition=Ready', '--timeout=60s'];
    await cluster.kubectl(...ready, 'issuers.cert-manager.io,certificates.cert-manager.io', '--all');
  });

  it('has the API server trust the authority, and the authority sign what the webhook serves', async () => {
    const { data } = await secret();
    for (const registration of [
      'mutatingwebhookconfiguration/ingester-finalizer',
      'validatingwebhookconfiguration/ingester-rules',
    ]) {
      const { webhooks } = await get<Registration>(registration);
      assert.ok(webhooks.length > 0);
      for (const { clientConfig } of webhooks) assert.equal(clientConfig.caBundle, data['ca.crt'], registration);
    }
    assert.deepEqual([...(await served())], [serialOf(data)]);
  });

  it('guards and stores an object that is created', async () => {
    const { metadata } = await client.create(models, 'default', aModel('guarded'));
    assert.deepEqual(metadata.finalizers, [FINALIZER]);
    await eventually(async () => {
      const rows = await cluster.database.query("SELECT uid FROM model WHERE name = 'guarded'");
      assert.deepEqual(rows, [{ uid: metadata.uid }]);
    });
  });

  it('serves a renewed certificate without a create that fails', async () => {
    const before = (await secret()).data;
    const failed = await underLoad(dryCreate, async () => {
      await renew('ingester-webhook');
      await eventually(async () => assert.notEqual(serialOf((await secret()).data), serialOf(before)), 60_000);
      const renewed = (await secret()).data;
      // Signed by the same authority, so that trust needs no change.
      assert.equal(renewed['ca.crt'], before['ca.crt']);
      await eventually(async () => assert.deepEqual([...(await served())], [serialOf(renewed)]), 120_000);
    });
    assert.deepEqual(failed, []);
  });

  /** As "cmctl renew" does. */
  async function renew(name: string): Promise<void> {
    const now = new Date().toISOString();
    const issuing = { type: 'Issuing', status: 'True', reason: 'ManuallyTriggered', message: 'renewed by hand' };
    const certificate = await get<{ status: { conditions: readonly { type: string }[] } }>(
      'certificate',
      '-n',
      system,
      name,
    );
    const others = certificate.status.conditions.filter(({ type }) => type !== 'Issuing');
    const conditions = [...others, { ...issuing, lastTransitionTime: now }];
    await cluster.kubectl(
      ...['patch', 'certificate', '-n', system, name, '--subresource=status', '--type=merge'],
      ...['-p', JSON.stringify({ status: { conditions } })],
    );
  }
});

function serialOf(data: Secret['data']): string {
  return new X509Certificate(Buffer.from(data['tls.crt'], 'base64')).serialNumber;
}

function serialAt(address: { readonly host: string; readonly port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...address, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}
