// The fake API server of the unit tests and the real one answer the same, as far as this program asks.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from 'undici';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { KubeClient, WatchEvent } from '../../src/kube/client.ts';
import { isKubeError, type KubeReason } from '../../src/kube/errors.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { pagesOf } from '../../src/kube/pages.ts';
import { configMaps, namespaces } from '../../src/kube/resources.ts';
import { addFinalizerPatch, removeFinalizerPatch } from '../../src/sync/finalizer.ts';
import { eventually } from '../support/eventually.ts';
import { FakeKubeClient } from '../support/fake-kube-client.ts';
import { aModel } from '../support/objects.ts';

const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
const NS = 'contract';

interface Subject {
  readonly client: KubeClient;
  /** Creates an object as another client would. */
  create(name: string, finalizers: readonly string[]): Promise<KubernetesObject>;
}

function contract(title: string, subject: () => Subject): void {
  describe(title, () => {
    const ref = (name: string) => ({ resource, namespace: NS, name });
    const list = async () => (await subject().client.list(resource, { limit: 500 }, signal)).items;
    const { signal } = new AbortController();
    const find = async (name: string): Promise<KubernetesObject | undefined> =>
      (await list()).find(({ identity }) => identity.name === name)?.parse();
    const failsWith = (reason: KubeReason, call: Promise<unknown>) =>
      assert.rejects(call, (error) => isKubeError(error, reason));

    it('lists in pages that add up to the whole', async () => {
      for (const name of ['page-a', 'page-b', 'page-c']) await subject().create(name, []);
      const names: string[] = [];
      let continueToken: string | undefined;
      do {
        const options = { limit: 2, ...(continueToken === undefined ? {} : { continueToken }) };
        const page = await subject().client.list(resource, options, signal);
        assert.ok(page.items.length <= 2);
        names.push(...page.items.map(({ identity }) => identity.name));
        ({ continueToken } = page);
      } while (continueToken !== undefined);
      for (const name of ['page-a', 'page-b', 'page-c']) assert.ok(names.includes(name));
    });

    it('gives items of a list their kind and apiVersion', async () => {
      const object = await subject().create('typed', []);
      const listed = await find('typed');
      assert.deepEqual([listed?.kind, listed?.apiVersion], [object.kind, object.apiVersion]);
    });

    it('watches from a version on, in order, with the object of each event', async () => {
      const { resourceVersion } = await subject().client.list(resource, { limit: 500 }, signal);
      const stop = new AbortController();
      const seen: WatchEvent[] = [];
      let taken: boolean | undefined;
      const watching = (async () => {
        const options = { resourceVersion, timeoutSeconds: 60 };
        for await (const events of subject().client.watch(resource, options, stop.signal)) {
          taken ??= events.length === 0;
          seen.push(...events.filter(({ type }) => type !== 'BOOKMARK'));
        }
      })();
      const object = await subject().create('watched', ['example.com/a']);
      const patched = await subject().client.patch(ref('watched'), addFinalizerPatch(object));
      await subject().client.patch(ref('watched'), [{ op: 'replace', path: '/metadata/finalizers', value: [] }]);
      const { uid } = patched.metadata;
      const current = await find('watched');
      await subject().client.delete(ref('watched'), { uid, resourceVersion: current?.metadata.resourceVersion ?? '' });
      await eventually(() => assert.equal(seen.length, 4));
      assert.deepEqual(
        seen.map(({ type }) => type),
        ['ADDED', 'MODIFIED', 'MODIFIED', 'DELETED'],
      );
      assert.equal(taken, true);
      stop.abort();
      await watching.catch((error: unknown) => assert.ok(isKubeError(error, 'Unavailable'), String(error)));
    });

    it('gives the newest version as a list would, and the object of a name', async () => {
      const { metadata } = await subject().create('newest', []);
      const newest = async (name?: string) => {
        const selection = { namespace: NS, ...(name === undefined ? {} : { name }) };
        const answer = await subject().client.newest(resource, selection, new AbortController().signal);
        assert.ok(BigInt(answer.resourceVersion) >= BigInt(metadata.resourceVersion), answer.resourceVersion);
        return answer.object;
      };
      assert.deepEqual([await newest(), await newest('nothing-has-it')], [undefined, undefined]);
      const { uid, resourceVersion } = (await newest('newest')) ?? {};
      assert.deepEqual([uid, resourceVersion], [metadata.uid, metadata.resourceVersion]);
    });

    it('calls a JSON patch whose test fails a conflict, and changes nothing', async () => {
      const object = await subject().create('patched', ['example.com/a']);
      const stale = { ...object, metadata: { ...object.metadata, resourceVersion: '1' } };
      await failsWith('Conflict', subject().client.patch(ref('patched'), addFinalizerPatch(stale)));
      assert.deepEqual((await find('patched'))?.metadata.finalizers, ['example.com/a']);
    });

    it('deletes exactly the object named by uid and resourceVersion', async () => {
      const { metadata } = await subject().create('deleted', []);
      const { uid, resourceVersion } = metadata;
      await failsWith('Conflict', subject().client.delete(ref('deleted'), { uid, resourceVersion: '1' }));
      const other = '00000000-0000-4000-8000-00000000ffff';
      await failsWith('Conflict', subject().client.delete(ref('deleted'), { uid: other, resourceVersion }));
      await subject().client.delete(ref('deleted'), { uid, resourceVersion });
      assert.equal(await find('deleted'), undefined);
    });

    it('keeps an object with finalizers until the last one is removed', async () => {
      const created = await subject().create('held', ['michelangelo/Ingester']);
      const { uid, resourceVersion } = created.metadata;
      await subject().client.delete(ref('held'), { uid, resourceVersion });
      const held = await find('held');
      assert.ok(held?.metadata.deletionTimestamp !== undefined);
      await subject().client.patch(ref('held'), removeFinalizerPatch(held));
      assert.equal(await find('held'), undefined);
    });

    it('gets, creates, updates and merges single objects', async () => {
      const manifest = {
        apiVersion: 'michelangelo.api/v2',
        kind: 'Model',
        metadata: { name: 'written' },
        spec: { source: 'a' },
      };
      const created = await subject().client.create(resource, NS, manifest);
      assert.equal(created.metadata.namespace, NS);
      assert.deepEqual((await subject().client.get(ref('written'))).metadata.uid, created.metadata.uid);
      await failsWith('Conflict', subject().client.create(resource, NS, manifest));
      const updated = await subject().client.update(ref('written'), { ...created, spec: { source: 'b' } });
      assert.deepEqual(updated['spec'], { source: 'b' });
      await failsWith('Conflict', subject().client.update(ref('written'), { ...created, spec: { source: 'c' } }));
      const merged = await subject().client.mergePatch(ref('written'), { spec: { source: null, algorithm: 'x' } });
      assert.deepEqual(merged['spec'], { algorithm: 'x' });
    });

    it('applies an object that is missing and an object that exists', async () => {
      const manifest = (source: string) => ({
        apiVersion: 'michelangelo.api/v2',
        kind: 'Model',
        metadata: { name: 'applied', namespace: NS },
        spec: { source },
      });
      const options = { fieldManager: 'test', force: true };
      const first = await subject().client.apply(ref('applied'), manifest('a'), options);
      const second = await subject().client.apply(ref('applied'), manifest('b'), options);
      assert.equal(second.metadata.uid, first.metadata.uid);
      assert.deepEqual(second['spec'], { source: 'b' });
    });

    it('answers NotFound for an object that does not exist', async () => {
      await failsWith('NotFound', subject().client.patch(ref('absent'), []));
      const options = { uid: 'x', resourceVersion: '1' };
      await failsWith('NotFound', subject().client.delete(ref('absent'), options));
    });
  });
}

const fake = new FakeKubeClient();
let uids = 0;
contract('the fake API server', () => ({
  client: fake,
  create: (name, finalizers) => {
    uids += 1;
    return Promise.resolve(fake.put(aModel({ name, namespace: NS, uid: `uid-${uids}`, finalizers })));
  },
}));

describe('with a real control plane', () => {
  let controlPlane: ControlPlane;
  let client: HttpKubeClient;
  before(async () => {
    controlPlane = await startControlPlane();
    await controlPlane.kubectlRun(['apply', '-k', 'crds']);
    await controlPlane.kubectlRun(['wait', '--for=condition=Established', 'crd', '--all']);
    await controlPlane.kubectlRun(['create', 'namespace', NS]);
    client = new HttpKubeClient(
      new PooledTransport({ kubeconfig: controlPlane.kubeconfig, context: '', clock: systemClock }),
    );
  });
  after(async () => {
    await client.close();
    await controlPlane.stop();
  });

  contract('the real API server', () => ({
    client,
    create: async (name, finalizers) => {
      const manifest = {
        apiVersion: 'michelangelo.api/v2',
        kind: 'Model',
        metadata: { name, namespace: NS, finalizers },
      };
      const input = JSON.stringify({ ...manifest, spec: { algorithm: 'x' } });
      const { stdout } = await controlPlane.kubectlRun(['create', '-o', 'json', '-f', '-'], { input });
      return JSON.parse(stdout) as KubernetesObject;
    },
  }));

  it('writes the status, and nothing but the status, through its subresource', async () => {
    const metadata = { name: 'with-status' };
    const manifest = {
      apiVersion: 'michelangelo.api/v2',
      kind: 'PipelineRun',
      metadata,
      spec: { description: 'kept' },
    };
    const runs = { ...resource, plural: 'pipelineruns' };
    await client.create(runs, NS, manifest);
    const ref = { resource: runs, namespace: NS, name: 'with-status' };
    const patch = { spec: { description: 'lost' }, status: { state: 'PIPELINE_RUN_STATE_RUNNING' } };
    await client.mergePatch(ref, patch, { subresource: 'status' });
    const object = await client.get(ref);
    assert.deepEqual(object['spec'], { description: 'kept' });
    assert.deepEqual(object['status'], { state: 'PIPELINE_RUN_STATE_RUNNING' });
    const status = { apiVersion: manifest.apiVersion, kind: manifest.kind, status: { logUrl: 'https://logs' } };
    await client.apply(ref, status, { subresource: 'status', fieldManager: 'test', force: false });
    assert.deepEqual((await client.get(ref))['status'], {
      logUrl: 'https://logs',
      state: 'PIPELINE_RUN_STATE_RUNNING',
    });
    await assert.rejects(client.update(ref, object, { subresource: 'status' }), (error) =>
      isKubeError(error, 'Conflict'),
    );
  });

  it('changes nothing in a dry run', async () => {
    const manifest = { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { name: 'dry' } };
    await client.create(resource, NS, manifest, { dryRun: true });
    await assert.rejects(client.get({ resource, namespace: NS, name: 'dry' }), (error) =>
      isKubeError(error, 'NotFound'),
    );
  });

  it('selects by labels, and reads metadata alone on request', async () => {
    const metadata = { name: 'labelled', labels: { pick: 'me' } };
    await client.create(resource, NS, {
      apiVersion: 'michelangelo.api/v2',
      kind: 'Model',
      metadata,
      spec: { source: 'x' },
    });
    const options = { namespace: NS, labelSelector: 'pick=me', metadataOnly: true, limit: 10 };
    const { items } = await client.list(resource, options, new AbortController().signal);
    assert.deepEqual(
      items.map((item) => [item.identity.name, item.parse()['spec']]),
      [['labelled', undefined]],
    );
    const nothing = { ...options, labelSelector: 'pick=none' };
    assert.deepEqual((await client.list(resource, nothing, new AbortController().signal)).items, []);
  });

  it('lists nothing where no object matches, with metadata alone too', async () => {
    for (const metadataOnly of [true, false]) {
      const options = { namespace: NS, labelSelector: 'pick=none', metadataOnly, limit: 10 };
      const { items, resourceVersion } = await client.list(resource, options, new AbortController().signal);
      assert.deepEqual(items, []);
      assert.match(resourceVersion, /^\d+$/);
    }
  });

  it('reads and writes objects of the core group and of the cluster', async () => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'core' }, data: { a: 'b' } };
    await client.create(configMaps, NS, object);
    const read = await client.get({ resource: configMaps, namespace: NS, name: 'core' });
    assert.deepEqual(read['data'], { a: 'b' });
    assert.equal((await client.get({ resource: namespaces, namespace: '', name: NS })).metadata.name, NS);
  });

  it('never gives managedFields', async () => {
    const { items } = await client.list(resource, { limit: 500 }, new AbortController().signal);
    assert.ok(items.length > 0);
    for (const item of items) assert.equal(item.parse().metadata['managedFields'], undefined);
  });

  it('answers NotFound for a resource that is not installed', async () => {
    const unknown = { ...resource, plural: 'nothings' };
    const call = client.list(unknown, { limit: 1 }, new AbortController().signal);
    await assert.rejects(call, (error) => isKubeError(error, 'NotFound'));
  });

  it('goes on behind the page before where the version of a list is forgotten, if each page may be of its own', async () => {
    for (const name of ['aged-a', 'aged-b', 'aged-c'])
      await client.create(resource, NS, { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { name } });
    await compact(controlPlane);
    const forgetful: Pick<KubeClient, 'list'> = {
      list: async (...call) => {
        const page = await client.list(...call);
        return page.continueToken === undefined ? page : { ...page, continueToken: aged(page.continueToken) };
      },
    };
    const namesBy = async (consistency: 'one-version' | 'each-page'): Promise<readonly string[]> => {
      const names: string[] = [];
      const stop = new AbortController().signal;
      for await (const { items } of pagesOf(forgetful, resource, { namespace: NS, consistency }, stop))
        names.push(...items.map(({ identity }) => identity.name));
      return names;
    };
    const all = (await client.list(resource, { namespace: NS, limit: 500 }, new AbortController().signal)).items;
    assert.deepEqual(
      await namesBy('each-page'),
      all.map(({ identity }) => identity.name),
    );
    await assert.rejects(namesBy('one-version'), (error) => isKubeError(error, 'Expired'));
  });

  it('answers Expired for a watch from a version the server has forgotten', async () => {
    const stream = client.watch(resource, { resourceVersion: '1', timeoutSeconds: 5 }, new AbortController().signal);
    const drain = async () => {
      for await (const events of stream) assert.deepEqual(events, []);
    };
    await assert.rejects(drain(), (error) => isKubeError(error, 'Expired'));
  });

  it('opens few connections for many calls', async () => {
    const before = connectionsTo(controlPlane);
    for (let call = 0; call < 200; call += 1) await client.list(resource, { limit: 1 }, new AbortController().signal);
    assert.ok(connectionsTo(controlPlane) - before <= 2);
  });

  it('is refused with Unauthorized or Forbidden where it has no rights', async () => {
    const { stdout } = await controlPlane.kubectlRun(['create', 'token', 'default', '-n', 'default']);
    const config = JSON.parse((await controlPlane.kubectlRun(['config', 'view', '--raw', '-o', 'json'])).stdout) as {
      users: { user: object }[];
    };
    for (const entry of config.users) entry.user = { token: stdout.trim() };
    const kubeconfig = `${controlPlane.directory}/default.kubeconfig`;
    writeFileSync(kubeconfig, JSON.stringify(config));
    const powerless = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
    const call = powerless.list(resource, { limit: 1 }, new AbortController().signal);
    await assert.rejects(call, (error) => isKubeError(error, 'Forbidden'));
    await powerless.close();
  });
});

/** As the API server would have given it for the first version of all, which its caches do not have either. */
function aged(continueToken: string): string {
  const token = JSON.parse(Buffer.from(continueToken, 'base64url').toString()) as object;
  return Buffer.from(JSON.stringify({ ...token, rv: 2 })).toString('base64url');
}

/** Takes all versions but the newest away, as the API server has etcd do every five minutes. */
async function compact({ directory, etcdUrl }: ControlPlane): Promise<void> {
  const file = (name: string): string => readFileSync(join(directory, 'pki', name), 'utf8');
  const connect = { ca: file('etcd-ca.crt'), cert: file('etcd-client.crt'), key: file('etcd-client.key') };
  const etcd = new Client(etcdUrl, { connect });
  const call = async (path: string, body: object): Promise<unknown> => {
    const answer = await etcd.request({ method: 'POST', path: `/v3/kv/${path}`, body: JSON.stringify(body) });
    return answer.body.json();
  };
  const key = Buffer.from('anything').toString('base64');
  const { header } = (await call('put', { key })) as { header: { revision: string } };
  await call('compaction', { revision: header.revision });
  await etcd.close();
}

/** TCP connections the API server has accepted and that are open. */
function connectionsTo(controlPlane: ControlPlane): number {
  const port = Number(new URL(controlPlane.url).port).toString(16).toUpperCase().padStart(4, '0');
  const tables = readFileSync('/proc/net/tcp', 'utf8');
  return tables.split('\n').filter((line) => line.includes(`0100007F:${port} 01 `)).length;
}
