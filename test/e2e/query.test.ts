// The query API as its users meet it: kubectl against a real API server that aggregates it, over a real MySQL.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { httpsGet } from '../support/https-get.ts';
import { argoCdSuite } from '../support/query/argo-cd-suite.ts';
import { clientSuite } from '../support/query/client-suite.ts';
import { kubectlSuite } from '../support/query/kubectl-suite.ts';
import { pageSuite } from '../support/query/page-suite.ts';
import { pluginSuite } from '../support/query/plugin-suite.ts';
import { rightsSuite } from '../support/query/rights-suite.ts';
import { secretsSuite } from '../support/query/secrets-suite.ts';
import { type Listed, MODELS, PATH } from '../support/query/stored-models.ts';
import { type QueryServer, startQueryServer } from '../support/query-server.ts';
import { useBundle } from '../support/use-bundle.ts';

describe('the query API', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  let server: QueryServer | undefined;
  let storage: MysqlMetadataStorage | undefined;

  before(async () => {
    cluster = new Cluster(bundle());
    server = await startQueryServer(bundle(), { query: { requestTimeout: '30s' } });
    const { database, server: mysql } = bundle();
    const { host, port } = mysql;
    const pool = { maxOpenConns: 8, maxIdleConns: 8, connMaxLifetimeMs: 0 };
    storage = new MysqlMetadataStorage(
      { host, port, database: database.name, ...database.writer, ...pool },
      systemClock,
    );
    await cluster.kubectl('apply', '-k', 'config/samples');
    for (const name of ['ml', 'waiting']) await cluster.namespace(name);
    for (const name of ['kept', 'evicted', 'deleted']) {
      // Creation times have whole seconds, and the lists below are ordered by them.
      await delay(1_100);
      const labels = { team: name === 'kept' ? 'a' : 'b' };
      await cluster.apply(
        aManifest('Model', 'ml', name, {
          metadata: { namespace: 'ml', name, labels },
          spec: { algorithm: name === 'kept' ? 'xgboost' : `${name}-algorithm` },
        }),
      );
    }
    await eventually(async () => assert.equal((await cluster.rows(kind('Model'), 'ml')).length, 3));
    await cluster.patch(kind('Model'), 'ml', 'evicted', {
      metadata: { annotations: { 'michelangelo/Immutable': 'true' } },
    });
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', 'ml', 'deleted');
    await cluster.gone(kind('Model'), 'ml', 'evicted');
    await cluster.kubectl(
      'wait',
      '--for=condition=Available',
      '--timeout=60s',
      'apiservice/v2.stored.michelangelo.api',
    );
  });

  after(async () => {
    await storage?.close();
    await server?.stop();
  });

  kubectlSuite({ cluster: () => cluster, storage: () => storage! });

  rightsSuite(() => cluster);

  describe('without the API server in between', () => {
    const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
      httpsGet(`${server?.url}${PATH}${path}`, { caPem: server?.caPem ?? '', headers });
    let token: string;
    before(async () => {
      await cluster.kubectl('create', 'serviceaccount', 'reader', '-n', 'ml');
      await cluster.kubectl(
        'create',
        'rolebinding',
        'reader',
        '-n',
        'ml',
        '--clusterrole=model-reader',
        '--serviceaccount=ml:reader',
      );
      token = (await cluster.kubectl('create', 'token', 'reader', '-n', 'ml')).trim();
    });

    it('answers a token of the cluster', async () => {
      const { status, body } = await get('/namespaces/ml/models', { authorization: `Bearer ${token}` });
      assert.equal(status, 200);
      assert.equal((body as Listed).items.length, 2);
      assert.equal((await get('/namespaces/default/models', { authorization: `Bearer ${token}` })).status, 403);
    });

    it('answers no client without credentials, whatever its headers say', async () => {
      const forged = { 'x-remote-user': 'kubernetes-admin', 'x-remote-group': 'system:masters' };
      assert.equal((await get('/namespaces/ml/models', forged)).status, 401);
      assert.equal((await get('/namespaces/ml/models', { authorization: 'Bearer forged' })).status, 401);
    });

    it('gives every object that changed, once it has settled, from a cursor on', async () => {
      const headers = { authorization: `Bearer ${token}` };
      const names: string[] = [];
      let since = '';
      await eventually(async () => {
        const { body } = await get(`/namespaces/ml/models/-/changes?limit=1${since}`, headers);
        const { items, metadata } = body as Listed;
        names.push(...items.map((item) => item.metadata.name));
        if (metadata.continue !== undefined) since = `&since=${metadata.continue}`;
        assert.deepEqual(names.toSorted(), ['deleted', 'deleted', 'evicted', 'kept']);
      }, 60_000);
    });

    clientSuite({
      server: () => server!,
      token: () => token,
      kubeconfig: () => bundle().controlPlane.kubeconfig,
    });

    const seen = {
      directory: () => bundle().directory,
      server: () => server!,
      token: () => Promise.resolve(token),
      kubectl: (...args: readonly string[]) => cluster.kubectl(...args),
    };
    pageSuite(seen);
    argoCdSuite(seen);

    it('says 503 while MySQL is away, and answers again when it is back', async () => {
      const headers = { authorization: `Bearer ${token}` };
      await bundle().databaseLink.cut();
      try {
        await eventually(async () => {
          const { status, headers: answered, body } = await get('/namespaces/ml/models', headers);
          assert.equal(status, 503, JSON.stringify(body));
          assert.equal(answered['retry-after'], '1');
        });
        const { code, stderr } = await cluster.tryKubectl('get', MODELS, '-n', 'ml');
        assert.notEqual(code, 0);
        assert.match(stderr, /MySQL is not available/);
      } finally {
        await bundle().databaseLink.heal();
      }
      await eventually(async () => assert.equal((await get('/namespaces/ml/models', headers)).status, 200));
    });
  });

  pluginSuite({
    directory: () => bundle().directory,
    kubectlPath: () => bundle().controlPlane.kubectl,
    kubeconfig: () => bundle().controlPlane.kubeconfig,
    rowState: async (name) => (await cluster.rows(kind('Model'), 'ml', name)).at(-1)?.['row_state'],
  });

  secretsSuite({ bundle, server: () => server! });
});
