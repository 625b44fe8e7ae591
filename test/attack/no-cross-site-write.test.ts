// A user runs kubectl proxy and visits a page of a stranger. That page can post to 127.0.0.1 without being asked for any
// header; the proxy adds the rights of the user. Nothing is restored and nothing is deleted.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type QueryServer, startQueryServer } from '../support/query-server.ts';
import { useBundle } from '../support/use-bundle.ts';

const OBJECT = '/apis/stored.michelangelo.api/v2/namespaces/default/models/deleted';

describe('through kubectl proxy', () => {
  const bundle = useBundle();
  let server: QueryServer | undefined;
  let proxy: ChildProcess | undefined;
  let address = '';

  before(async () => {
    const cluster = new Cluster(bundle());
    server = await startQueryServer(bundle());
    await cluster.apply(aManifest('Model', 'default', 'deleted'));
    await eventually(async () => assert.equal((await cluster.rows(kind('Model'), 'default')).length, 1));
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', 'default', 'deleted');
    const available = ['--for=condition=Available', '--timeout=60s', 'apiservice/v2.stored.michelangelo.api'];
    await cluster.kubectl('wait', ...available);
    const { kubectl, kubeconfig } = bundle().controlPlane;
    proxy = spawn(kubectl, ['--kubeconfig', kubeconfig, 'proxy', '--port=0'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [said] = (await once(proxy.stdout ?? proxy, 'data')) as [Buffer];
    address = `http://${/127\.0\.0\.1:\d+/.exec(said.toString())?.[0] ?? ''}`;
  });
  after(async () => {
    proxy?.kill();
    await server?.stop();
  });

  const restore = (headers: Readonly<Record<string, string>>, body?: string): Promise<Response> =>
    fetch(`${address}${OBJECT}/restore`, { method: 'POST', headers, ...(body === undefined ? {} : { body }) });

  for (const [what, headers, body] of [
    ['a form without fields', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }, undefined],
    ['a form in an old browser', { origin: 'https://evil.example' }, undefined],
    ['a form of plain text', { origin: 'https://evil.example', 'content-type': 'text/plain' }, '{}'],
    ['a frame without an origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }, undefined],
    ['another port of this machine', { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' }, undefined],
  ] as const) {
    it(`a page of another site restores nothing by ${what}`, async () => {
      assert.equal((await restore(headers, body)).status, 403);
      const { stderr } = await new Cluster(bundle()).tryKubectl('get', 'models.michelangelo.api', 'deleted');
      assert.match(stderr, /NotFound/);
    });
  }

  it('a page of another site is not allowed to delete by the API server', async () => {
    const headers = { origin: 'https://evil.example', 'access-control-request-method': 'DELETE' };
    const asked = await fetch(`${address}${OBJECT}`, { method: 'OPTIONS', headers });
    assert.equal(asked.headers.get('access-control-allow-origin'), null);
  });

  it('the user who runs the proxy restores an object', async () => {
    const { status } = await restore({ 'content-type': 'application/json' }, '{"dryRun":true}');
    assert.equal(status, 200);
  });
});
