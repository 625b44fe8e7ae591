// The query API as its users meet it: kubectl against a real API server that aggregates it, over a real MySQL.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import { MysqlMetadataStorage } from '../../src/storage/mysql/store/mysql-storage.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { commandsOf } from '../support/docs-page.ts';
import { eventually } from '../support/eventually.ts';
import { httpsGet } from '../support/https-get.ts';
import { aModelRow } from '../support/objects.ts';
import { argoCdSuite } from '../support/query/argo-cd-suite.ts';
import { clientSuite } from '../support/query/client-suite.ts';
import { pageSuite } from '../support/query/page-suite.ts';
import { pluginSuite } from '../support/query/plugin-suite.ts';
import { secretsSuite } from '../support/query/secrets-suite.ts';
import { type QueryServer, startQueryServer } from '../support/query-server.ts';
import { useBundle } from '../support/use-bundle.ts';

const MODELS = 'models.stored.michelangelo.api';
const PATH = '/apis/stored.michelangelo.api/v2';

interface Listed {
  readonly items: readonly { readonly metadata: { readonly name: string; readonly namespace: string } }[];
  readonly metadata: { readonly continue?: string; readonly resourceVersion?: string };
}

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

  /** Tables of kubectl, with what differs between runs left out. */
  const table = async (...args: readonly string[]) =>
    (await cluster.kubectl('get', ...args))
      .trim()
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
      .replaceAll(/\b(\d+[smhd])+\b/g, 'AGE')
      .split('\n')
      .map((line) => line.trim().split(/ {2,}/).join(' | '));

  describe('under kubectl', () => {
    const golden = [
      [
        'lists what is live and what was evicted, newest first',
        [MODELS, '-n', 'ml'],
        [
          'NAME | ALGORITHM | REVISION | OWNER | WHERE | AGE',
          'evicted | evicted-algorithm | MySQL | AGE',
          'kept | xgboost | etcd and MySQL | AGE',
        ],
      ],
      ['selects by label', [MODELS, '-n', 'ml', '-l', 'team=a', '-o', 'name'], ['model.stored.michelangelo.api/kept']],
      [
        'selects by a set of labels',
        [MODELS, '-n', 'ml', '-l', 'team in (a,b),team!=a', '-o', 'name'],
        ['model.stored.michelangelo.api/evicted'],
      ],
      [
        'selects by an indexed field',
        [MODELS, '-n', 'ml', '--field-selector', 'spec.algorithm=xgboost', '-o', 'name'],
        ['model.stored.michelangelo.api/kept'],
      ],
      [
        'shows one object',
        [
          MODELS,
          '-n',
          'ml',
          'evicted',
          '-o',
          'jsonpath={.apiVersion} {.spec.algorithm} {.metadata.annotations.stored\\.michelangelo\\.api/state}',
        ],
        ['stored.michelangelo.api/v2 evicted-algorithm evicted'],
      ],
      [
        'shows more with -o wide',
        [MODELS, '-n', 'ml', 'kept', '-o', 'wide'],
        [
          'NAME | ALGORITHM | REVISION | OWNER | WHERE | AGE | UID | STORED',
          'kept | xgboost | etcd and MySQL | AGE | UID | AGE',
        ],
      ],
      [
        'sorts',
        [MODELS, '-n', 'ml', '--sort-by=.metadata.name', '-o', 'name'],
        ['model.stored.michelangelo.api/evicted', 'model.stored.michelangelo.api/kept'],
      ],
      ['says that there is nothing where there is nothing', [MODELS, '-n', 'default', '-o', 'name'], ['']],
    ] as const;
    for (const [title, args, lines] of golden) {
      it(title, async () => assert.deepEqual(await table(...args), lines));
    }

    it('serves each of the 13 kinds in every namespace', async () => {
      const resources = (await cluster.kubectl('api-resources', '--api-group=stored.michelangelo.api', '-o', 'name'))
        .trim()
        .split('\n');
      assert.equal(resources.length, 13);
      for (const resource of resources) {
        assert.match(
          await cluster.kubectl('get', resource, '-A', '-o', 'name'),
          /\.stored\.michelangelo\.api\/ingester-test/,
        );
      }
    });

    it('explains the fields of a kind', async () => {
      assert.match(await cluster.kubectl('explain', `${MODELS}.spec.algorithm`), /GROUP:\s+stored\.michelangelo\.api/);
    });

    it('describes an object', async () => {
      assert.match(await cluster.kubectl('describe', MODELS, '-n', 'ml', 'evicted'), /Algorithm:\s+evicted-algorithm/);
    });

    it('does what docs/query.md shows', async () => {
      const sections = ['Query', 'What is stuck', 'Watch', 'What is in MySQL only'].map((section) =>
        commandsOf('query.md', section),
      );
      const commands = [...sections.join('\n').matchAll(/^kubectl (.+)$/gm)].map(([, command = '']) => command);
      assert.ok(commands.length >= 10);
      // A watch has no end; test/e2e/query-watch.test.ts has it.
      for (const command of commands.filter((one) => !one.endsWith('--watch'))) {
        const args = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
        assert.notEqual((await cluster.kubectl(...args)).trim(), '', command);
      }
    });

    const refused = [
      [
        'a name that was never there',
        ['get', MODELS, '-n', 'ml', 'none'],
        /NotFound.*models\.stored\.michelangelo\.api "none" not found/,
      ],
      [
        'a field without a column',
        ['get', MODELS, '-n', 'ml', '--field-selector', 'spec.secret=x'],
        /spec\.secret.*Supported are: .*spec\.algorithm/,
      ],
      [
        'a change of what lives',
        ['annotate', MODELS, '-n', 'ml', 'kept', 'a=b'],
        /is in the cluster: change it at the/,
      ],
    ] as const;
    for (const [what, args, message] of refused) {
      it(`refuses ${what} and says why`, async () => {
        const { code, stderr } = await cluster.tryKubectl(...args);
        assert.notEqual(code, 0);
        assert.match(stderr, message);
      });
    }

    it('shows deleted objects on request', async () => {
      const raw = await cluster.kubectl('get', '--raw', `${PATH}/namespaces/ml/models?source=deleted`);
      assert.deepEqual(
        (JSON.parse(raw) as Listed).items.map(({ metadata }) => metadata.name),
        ['deleted'],
      );
    });

    it('counts objects in groups', async () => {
      const path = `${PATH}/namespaces/ml/models/-/aggregate?groupBy=spec.algorithm,created.month&namePrefix=e`;
      const { kind: what, items } = JSON.parse(await cluster.kubectl('get', '--raw', path)) as {
        readonly kind: string;
        readonly items: readonly { readonly count: number; readonly group: Readonly<Record<string, string>> }[];
      };
      assert.equal(what, 'StoredAggregate');
      assert.deepEqual(
        items.map(({ group, count }) => [group['spec.algorithm'], count]),
        [['evicted-algorithm', 1]],
      );
      assert.match(items[0]?.group['created.month'] ?? '', /^\d{4}-\d\d$/);
    });

    it('waits for a write that the client names by its resourceVersion', async () => {
      await cluster.apply(aManifest('Model', 'waiting', 'written'));
      const written = await cluster.get(kind('Model'), 'waiting', 'written');
      const path = `${PATH}/namespaces/waiting/models?resourceVersion=${written?.metadata.resourceVersion}`;
      const { items, metadata } = JSON.parse(await cluster.kubectl('get', '--raw', path)) as Listed;
      assert.deepEqual(
        items.map((item) => item.metadata.name),
        ['written'],
      );
      assert.ok(BigInt(metadata.resourceVersion ?? '0') >= BigInt(written?.metadata.resourceVersion ?? '0'));
    });

    it('shows every incarnation of a name', async () => {
      await cluster.apply(aManifest('Model', 'ml', 'deleted'));
      await eventually(async () => assert.equal((await cluster.rows(kind('Model'), 'ml', 'deleted')).length, 2));
      const raw = await cluster.kubectl('get', '--raw', `${PATH}/namespaces/ml/models/deleted/incarnations`);
      assert.equal((JSON.parse(raw) as Listed).items.length, 2);
      await cluster.kubectl('delete', 'models.michelangelo.api', '-n', 'ml', 'deleted');
    });

    it('pages through 10,000 objects without gap or repeat while others are written', async () => {
      assert.ok(storage !== undefined);
      const filled = storage;
      const row = (index: number, suffix: string) =>
        aModelRow({
          namespace: 'paging',
          name: `m-${index}${suffix}`,
          uid: `paging-${index}${suffix}`,
          resourceVersion: String(index + 1),
          creationTimestamp: new Date(Date.UTC(2026, 0, 1) + Math.floor(index / 7) * 1000).toISOString(),
        });
      const numbers = Array.from({ length: 10_000 }, (_, index) => index);
      for (let start = 0; start < numbers.length; start += 500) {
        await Promise.all(numbers.slice(start, start + 500).map((index) => filled.upsert(row(index, ''))));
      }
      const stop = new AbortController();
      const others = (async () => {
        for (let index = 0; !stop.signal.aborted; index += 1) await filled.upsert(row(index % 10_000, `-new-${index}`));
      })();
      try {
        const output = await cluster.kubectl('get', MODELS, '-n', 'paging', '--chunk-size=500', '-o', 'name');
        const names = output
          .trim()
          .split('\n')
          .map((line) => line.split('/')[1] ?? '');
        assert.equal(new Set(names).size, names.length, 'a name was repeated');
        assert.equal(names.filter((name) => !name.includes('new')).length, 10_000);
      } finally {
        stop.abort();
        await others;
      }
    });
  });

  describe('to its users', () => {
    const as = (user: string, group = 'system:authenticated') => [`--as=${user}`, `--as-group=${group}`];
    before(async () => {
      await cluster.kubectl(
        'create',
        'clusterrole',
        'model-reader',
        '--verb=get,list',
        '--resource=models.michelangelo.api',
      );
      await cluster.kubectl('create', 'clusterrolebinding', 'all-models', '--clusterrole=model-reader', '--user=alice');
      await cluster.kubectl(
        'create',
        'rolebinding',
        'ml-models',
        '-n',
        'ml',
        '--clusterrole=model-reader',
        '--user=bob',
      );
      await cluster.kubectl(
        'create',
        'clusterrolebinding',
        'stored-only',
        '--clusterrole=ingester-stored-objects',
        '--user=eve',
      );
    });

    const namespaces = async (user: string) => {
      const output = await cluster.kubectl(
        'get',
        MODELS,
        '-A',
        '-o',
        'jsonpath={.items[*].metadata.namespace}',
        ...as(user),
      );
      return [...new Set(output.split(' '))].toSorted();
    };

    it('gives a user who may list all models all of them', async () => {
      assert.ok((await namespaces('alice')).includes('ingester-test'));
    });

    it('gives a user who may list one namespace that one', async () => {
      assert.deepEqual(await namespaces('bob'), ['ml']);
      const { stderr } = await cluster.tryKubectl('get', MODELS, '-n', 'ingester-test', ...as('bob'));
      assert.match(
        stderr,
        /User "bob" cannot list resource "models" in API group "michelangelo.api" in the namespace "ingester-test"/,
      );
    });

    it('gives nothing to a user whose rights are on the stored group only', async () => {
      const { code, stderr } = await cluster.tryKubectl('get', MODELS, '-n', 'ml', 'kept', ...as('eve'));
      assert.notEqual(code, 0);
      assert.match(stderr, /User "eve" cannot get resource "models"/);
    });

    it('keeps other kinds from a user who may read models', async () => {
      const { stderr } = await cluster.tryKubectl('get', 'pipelines.stored.michelangelo.api', '-n', 'ml', ...as('bob'));
      assert.match(stderr, /cannot list resource "pipelines"/);
    });

    it('gives nothing to a user who is not authenticated', async () => {
      const { code } = await cluster.tryKubectl(
        'get',
        MODELS,
        '-n',
        'ml',
        ...as('system:anonymous', 'system:unauthenticated'),
      );
      assert.notEqual(code, 0);
    });
  });

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
