// Whatever happens to the connection or to the API server: afterwards the informer knows exactly the objects and
// versions that the API server has, and has told its handler of each.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { startTcpProxy, type TcpProxy } from '../../hack/local/tcp-proxy.ts';
import { systemClock } from '../../src/base/clock.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { Informer } from '../../src/kube/informer.ts';
import { IdentityStore } from '../../src/kube/store.ts';
import { eventually } from '../support/eventually.ts';
import { RecordingLogger } from '../support/recording-logger.ts';

const NS = 'watch-faults';
const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

describe('an informer under faults', () => {
  let controlPlane: ControlPlane;
  let proxy: TcpProxy;
  /** Writes, straight to the API server. */
  let direct: HttpKubeClient;
  /** Watches, through the proxy. */
  let watching: HttpKubeClient;
  let informer: Informer;
  let finished: Promise<void>;
  const logger = new RecordingLogger();
  const stop = new AbortController();
  /** What the handler was told last of each object. */
  const told = new Map<string, string>();
  let counter = 0;

  before(async () => {
    controlPlane = await startControlPlane({ minimal: true });
    await controlPlane.kubectlRun(['apply', '-k', 'crds']);
    await controlPlane.kubectlRun(['wait', '--for=condition=Established', 'crd', '--all']);
    await controlPlane.kubectlRun(['create', 'namespace', NS]);
    proxy = await startTcpProxy({ host: '127.0.0.1', port: Number(new URL(controlPlane.url).port) });
    const kubeconfig = join(controlPlane.directory, 'proxied.kubeconfig');
    const text = readFileSync(controlPlane.kubeconfig, 'utf8');
    writeFileSync(kubeconfig, text.replaceAll(controlPlane.url, `https://${proxy.host}:${proxy.port}`));
    const clientFor = (path: string): HttpKubeClient =>
      new HttpKubeClient(new PooledTransport({ kubeconfig: path, context: '', clock: systemClock }));
    direct = clientFor(controlPlane.kubeconfig);
    watching = clientFor(kubeconfig);
    const store = new IdentityStore();
    informer = new Informer({ client: watching, resource, store, clock: systemClock, logger });
    informer.addHandler({
      add: ({ key, identity }) => told.set(key, versionOf(identity)),
      update: (_before, { key, identity }) => told.set(key, versionOf(identity)),
      delete: ({ key }) => told.delete(key),
    });
    finished = informer.run(stop.signal);
    await eventually(() => assert.ok(informer.synced));
  });
  after(async () => {
    stop.abort();
    await finished;
    await Promise.all([direct.close(), watching.close(), proxy.close()]);
    await controlPlane.stop();
  });

  const versionOf = ({ uid, resourceVersion }: { uid: string; resourceVersion: string }) => `${uid} ${resourceVersion}`;
  const manifest = (name: string, algorithm: string) => ({
    apiVersion: 'michelangelo.api/v2',
    kind: 'Model',
    metadata: { name, namespace: NS },
    spec: { algorithm, description: 'x'.repeat(3000) },
  });
  const options = { fieldManager: 'test', force: true };

  /** Creates, changes, deletes and re-creates objects. */
  const write = async (): Promise<void> => {
    counter += 1;
    const names = Array.from({ length: 30 }, (_, index) => `model-${(counter * 7 + index) % 60}`);
    const ref = (name: string) => ({ resource, namespace: NS, name });
    await Promise.all(
      names.map(async (name, index) => {
        await direct.apply(ref(name), manifest(name, `v${counter}`), options);
        if (index % 3 === 0) await direct.delete(ref(name), {});
        if (index % 6 === 0) await direct.apply(ref(name), manifest(name, `again${counter}`), options);
      }),
    );
  };

  const settles = (): Promise<void> =>
    eventually(async () => {
      const { items } = await direct.list(resource, { limit: 500 }, new AbortController().signal);
      const server = new Map(items.map(({ key, identity }) => [key, versionOf(identity)]));
      assert.deepEqual(new Map([...told].sort()), new Map([...server].sort()));
      assert.equal(informer.store.size, server.size);
    }, 60_000);

  it('follows ordinary changes', async () => {
    for (let round = 0; round < 3; round += 1) await write();
    await settles();
  });

  it('survives connections that are cut again and again while objects change', async () => {
    for (let round = 0; round < 5; round += 1) {
      const writing = write();
      await proxy.cut();
      await proxy.heal();
      await writing;
    }
    await settles();
  });

  it('survives a network that is gone for a while', async () => {
    await proxy.cut();
    await write();
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await proxy.heal();
    await settles();
  });

  it('survives a connection that freezes and comes back', async () => {
    proxy.freeze();
    await write();
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await proxy.heal();
    await settles();
  });

  it('survives an API server that is killed while objects change', async () => {
    // Some of these writes meet a server that is not there, and say so.
    const writing = write().catch((error: unknown) => assert.ok(error instanceof KubeError, String(error)));
    controlPlane.apiServer.kill('SIGKILL');
    await controlPlane.apiServer.exited();
    await controlPlane.apiServer.start();
    await writing;
    await eventually(write);
    await settles();
  });

  it('survives etcd being killed and restarted', async () => {
    controlPlane.etcd.kill('SIGKILL');
    await controlPlane.etcd.exited();
    await controlPlane.etcd.start();
    await eventually(write, 60_000);
    await settles();
  });

  it('logs no error over all these faults, and ends without a watch left open', async () => {
    assert.deepEqual(
      logger.lines.filter(({ level }) => level === 'error'),
      [],
    );
    stop.abort();
    await finished;
  });
});
