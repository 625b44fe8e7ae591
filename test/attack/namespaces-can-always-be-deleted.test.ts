// With the query API registered, the API server has to ask it for discovery before it deletes any namespace of the
// cluster. Whatever happens to the query API and its database, namespaces go; where nothing of ours can help, one command
// of a runbook does.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Authority, createAuthority } from '../../hack/local/certificates.ts';
import { type PodBundle, startPodBundle } from '../../hack/local/pod-bundle.ts';
import { trustQuery } from '../../hack/local/trust-query.ts';
import { runUninstall } from '../../src/app/commands/uninstall.ts';
import { loadConfiguration } from '../../src/config/load.ts';
import { commandsOf } from '../support/docs-page.ts';
import { eventually } from '../support/eventually.ts';
import { type Overlay, overlayOf } from '../support/overlay-of.ts';

const SYSTEM = 'ingester-system';
const API_SERVICE = 'apiservice/v2.stored.michelangelo.api';
const QUERY = 'deployment/ingester-query';
const DAY_MS = 86_400_000;

describe('namespaces can be deleted', () => {
  let bundle: PodBundle;
  let overlay: Overlay;
  let authority: Authority;
  let namespaces = 0;

  const kubectl = (...args: readonly string[]): Promise<string> => bundle.kubectl(...args);
  const available = (): Promise<string> => kubectl('wait', API_SERVICE, '--for=condition=Available', '--timeout=90s');

  async function aNamespace(): Promise<string> {
    namespaces += 1;
    const name = `unrelated-${namespaces}`;
    await kubectl('create', 'namespace', name);
    return name;
  }

  async function isDeleted(): Promise<void> {
    await kubectl('delete', 'namespace', await aNamespace(), '--timeout=60s');
  }

  async function serveWith(notAfter: Date): Promise<void> {
    const hosts = [`ingester-query.${SYSTEM}.svc`];
    const { certificatePem, keyPem } = await authority.issue({ commonName: 'ingester-query', hosts, notAfter });
    const stringData = { 'tls.crt': certificatePem, 'tls.key': keyPem };
    const metadata = { name: 'ingester-query-tls', namespace: SYSTEM };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/tls', stringData };
    await bundle.controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(secret) });
  }

  async function installQuery(): Promise<void> {
    await kubectl('apply', '-k', overlay.folder);
    await trustQuery(kubectl, authority.caPem);
  }

  /** As after a restart of their nodes. */
  const restartQuery = (): Promise<string> =>
    kubectl('delete', 'pod', '-n', SYSTEM, '-l', 'app.kubernetes.io/component=query', '--grace-period=1');

  before(async () => {
    bundle = await startPodBundle({ progress: () => undefined });
    overlay = overlayOf('config/overlays/process-node', undefined, ['query']);
    authority = await createAuthority('ingester-query-ca');
    await serveWith(new Date(Date.now() + DAY_MS));
    await installQuery();
  });
  after(async () => {
    overlay.remove();
    await bundle.stop();
  });

  it('while MySQL is down and the pods of the query API start anew', async () => {
    await bundle.databaseLink.cut();
    try {
      await restartQuery();
      await kubectl('rollout', 'status', '-n', SYSTEM, QUERY, '--timeout=90s');
      await available();
      const args = ['get', 'models.stored.michelangelo.api', '-n', 'default', '--request-timeout=60s'];
      const { stderr } = await bundle.controlPlane.kubectlRun(args, { allowFailure: true });
      assert.match(stderr, /MySQL is not available/);
      await isDeleted();
    } finally {
      await bundle.databaseLink.heal();
    }
  });

  it('while new pods of the query API crash in a loop', async () => {
    await kubectl('set', 'env', '-n', SYSTEM, QUERY, 'INGESTER_QUERY_REQUEST_TIMEOUT=nonsense');
    await eventually(async () => {
      const path = 'jsonpath={.items[*].status.containerStatuses[*].restartCount}';
      assert.match(
        await kubectl('get', 'pods', '-n', SYSTEM, '-l', 'app.kubernetes.io/component=query', '-o', path),
        /[1-9]/,
      );
    });
    await isDeleted();
    await kubectl('rollout', 'undo', '-n', SYSTEM, QUERY);
    await kubectl('rollout', 'status', '-n', SYSTEM, QUERY, '--timeout=90s');
  });

  it('after the command of the runbook where the certificate has expired', async () => {
    await serveWith(new Date(Date.now() - 1000));
    await restartQuery();
    // The API server notices it up to a minute later. A namespace that is deleted before goes, five seconds after its
    // deletion as any other.
    const name = await eventually(async () => {
      const namespace = await aNamespace();
      await kubectl('delete', 'namespace', namespace, '--wait=false');
      await kubectl(
        'wait',
        `namespace/${namespace}`,
        '--for=condition=NamespaceDeletionDiscoveryFailure',
        '--timeout=20s',
      );
      return namespace;
    }, 180_000);
    const [command = ''] = commandsOf('runbooks.md', 'IngesterQueryDown').split('\n');
    assert.match(command, /^kubectl delete apiservice /);
    await kubectl(...command.split(' ').slice(1));
    await kubectl('wait', `namespace/${name}`, '--for=delete', '--timeout=90s');
    await serveWith(new Date(Date.now() + DAY_MS));
    await restartQuery();
    await installQuery();
  });

  it('after an uninstall, whatever becomes of the pods of the query API', async () => {
    const env = { INGESTER_KUBERNETES_KUBECONFIG: bundle.controlPlane.kubeconfig };
    const progress = { note: () => undefined, finalizersRemoved: () => undefined };
    const run = { progress, timeoutMs: 60_000, signal: new AbortController().signal };
    await runUninstall(loadConfiguration({ file: undefined, env }), run);
    await kubectl('scale', '-n', SYSTEM, QUERY, '--replicas=0');
    await isDeleted();
    await installQuery();
  });

  it('where the first namespace deleted is the namespace of the bundle, without an uninstall', async () => {
    await kubectl('delete', 'namespace', SYSTEM, '--timeout=120s');
    await isDeleted();
  });
});
