// Writes to objects that are in MySQL only, as users make them: plain kubectl against a real API server that aggregates
// the query API, over a real MySQL.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { MODELS, PATH } from '../support/query/stored-models.ts';
import { type QueryServer, startQueryServer } from '../support/query-server.ts';
import { useBundle } from '../support/use-bundle.ts';

const model = kind('Model');

describe('objects that are in MySQL only, under plain kubectl', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  let server: QueryServer | undefined;
  const refused = async (...args: readonly string[]): Promise<string> => {
    const { code, stderr } = await cluster.tryKubectl(...args);
    assert.notEqual(code, 0, 'it was not refused');
    return stderr;
  };
  const labelsOf = async (name: string): Promise<unknown> => {
    const text = await cluster.kubectl('get', MODELS, '-n', 'ml', name, '-o', 'jsonpath={.metadata.labels}');
    return text === '' ? {} : JSON.parse(text);
  };
  const states = async (namespace: string): Promise<Readonly<Record<string, unknown>>> => {
    const rows = await cluster.rows(model, namespace);
    return Object.fromEntries(rows.map((row) => [String(row['name']), row['row_state']]));
  };
  const collection = (namespace: string, parameters: string): string =>
    `${PATH}/namespaces/${namespace}/models?${parameters}`;

  before(async () => {
    cluster = new Cluster(bundle());
    server = await startQueryServer(bundle(), { query: { requestTimeout: '30s' } });
    for (const namespace of ['ml', 'theirs']) {
      await cluster.namespace(namespace);
      for (const name of ['e1', 'e2', 'e3', 'live']) {
        const metadata = { namespace, name, labels: { team: name === 'e3' ? 'b' : 'a' } };
        await cluster.apply(aManifest('Model', namespace, name, { metadata, spec: { algorithm: 'xgboost' } }));
      }
      for (const name of ['e1', 'e2', 'e3']) {
        await cluster.patch(model, namespace, name, {
          metadata: { annotations: { 'michelangelo/Immutable': 'true' } },
        });
      }
    }
    for (const namespace of ['ml', 'theirs']) {
      await eventually(async () => assert.deepEqual(await states(namespace), { e1: 3, e2: 3, e3: 3, live: 0 }));
      // The garbage collector takes its own finalizer off, and looks for new kinds every 30 seconds.
      for (const name of ['e1', 'e2', 'e3']) await cluster.gone(model, namespace, name);
    }
    const rules = ['--verb=get,list,patch,deletecollection', '--resource=models.michelangelo.api'];
    await cluster.kubectl('create', 'clusterrole', 'model-writer', ...rules);
    await cluster.kubectl(
      'create',
      'clusterrole',
      'model-reader',
      '--verb=get,list',
      '--resource=models.michelangelo.api',
    );
    for (const [user, role] of [
      ['alice', 'model-writer'],
      ['bob', 'model-reader'],
    ] as const) {
      await cluster.kubectl('create', 'rolebinding', user, '-n', 'ml', `--clusterrole=${role}`, `--user=${user}`);
    }
    await cluster.kubectl(
      'wait',
      '--for=condition=Available',
      '--timeout=60s',
      'apiservice/v2.stored.michelangelo.api',
    );
  });
  after(() => server?.stop());

  const as = (user: string): readonly string[] => [`--as=${user}`, '--as-group=system:authenticated'];

  it('are labelled and annotated by a user who may patch the original kind', async () => {
    const labelled = await cluster.kubectl(
      'label',
      MODELS,
      '-n',
      'ml',
      'e1',
      'team=c',
      'new=1',
      '--overwrite',
      ...as('alice'),
    );
    assert.match(labelled, /model\.stored\.michelangelo\.api\/e1 labeled/);
    assert.deepEqual(await labelsOf('e1'), { team: 'c', new: '1' });
    await cluster.kubectl('label', MODELS, '-n', 'ml', 'e1', 'new-', ...as('alice'));
    await cluster.kubectl('annotate', MODELS, '-n', 'ml', 'e1', 'note=kept', ...as('alice'));
    assert.deepEqual(await labelsOf('e1'), { team: 'c' });
    const found = await cluster.kubectl(
      'get',
      MODELS,
      '-n',
      'ml',
      '-l',
      'team=c',
      '-o',
      'jsonpath={..annotations.note}',
    );
    assert.equal(found, 'kept');
    assert.equal((await states('ml'))['e1'], 3);
  });

  it('are not changed by a dry run', async () => {
    await cluster.kubectl('label', MODELS, '-n', 'ml', 'e2', 'dry=run', '--dry-run=server');
    assert.deepEqual(await labelsOf('e2'), { team: 'a' });
  });

  it('are not changed at another version than the user names', async () => {
    const label = ['label', MODELS, '-n', 'ml', 'e2', 'new=1'];
    const stderr = await refused(...label, '--resource-version=1');
    assert.match(stderr, /Conflict.*the precondition resourceVersion is 1, but the object has \d+/);
    const version = await cluster.kubectl(
      'get',
      MODELS,
      '-n',
      'ml',
      'e2',
      '-o',
      'jsonpath={.metadata.resourceVersion}',
    );
    const merge = ['patch', MODELS, '-n', 'ml', 'e2', '--type=merge', '-p'];
    const patch = JSON.stringify({ metadata: { resourceVersion: version, labels: { new: '1' } } });
    await cluster.kubectl(...merge, patch);
    assert.match(await refused(...merge, patch), /Conflict/);
    await cluster.kubectl('label', MODELS, '-n', 'ml', 'e2', 'new-');
  });

  it('keep everything but their labels and annotations, and the keys of this system', async () => {
    const merge = ['patch', MODELS, '-n', 'ml', 'e2', '--type=merge', '-p'];
    assert.match(
      await refused(...merge, '{"spec":{"algorithm":"other"}}'),
      /spec of a stored object cannot be changed/,
    );
    const mark = ['annotate', MODELS, '-n', 'ml', 'e2', 'michelangelo/Immutable-'];
    assert.match(await refused(...mark), /"michelangelo\/Immutable" is not changed by users/);
    const json = ['patch', MODELS, '-n', 'ml', 'e2', '--type=json', '-p', '[{"op":"remove","path":"/spec"}]'];
    assert.match(await refused(...json), /must be application\/merge-patch\+json/);
  });

  it('are told apart from living objects, which are changed at the API server', async () => {
    const stderr = await refused('label', MODELS, '-n', 'ml', 'live', 'a=b');
    assert.match(stderr, /kubectl label or annotate models\.michelangelo\.api live -n ml/);
  });

  it('are changed and deleted by no user without the right, nor in another namespace', async () => {
    const deletion = ['delete', '--raw'];
    for (const [user, namespace, verb] of [
      ['bob', 'ml', 'patch'],
      ['alice', 'theirs', 'get'],
    ] as const) {
      const label = ['label', '--overwrite', MODELS, '-n', namespace, 'e1', 'team=x', ...as(user)];
      assert.match(await refused(...label), new RegExp(`User "${user}" cannot ${verb} resource "models"`));
    }
    for (const [user, namespace] of [
      ['bob', 'ml'],
      ['alice', 'theirs'],
    ] as const) {
      const path = collection(namespace, 'labelSelector=team');
      assert.match(
        await refused(...deletion, path, ...as(user)),
        new RegExp(`User "${user}" cannot .* resource "models"`),
      );
    }
    assert.deepEqual(await states('theirs'), { e1: 3, e2: 3, e3: 3, live: 0 });
    assert.deepEqual(await states('ml'), { e1: 3, e2: 3, e3: 3, live: 0 });
  });

  it('keep their changes when they are restored', async () => {
    await cluster.kubectl('create', '--raw', `${PATH}/namespaces/ml/models/e1/restore`, '-f', '/dev/null');
    const restored = await cluster.get(model, 'ml', 'e1');
    assert.deepEqual(restored?.metadata.labels, { team: 'c' });
    assert.equal(restored.metadata.annotations?.['note'], 'kept');
    assert.match(await refused('label', MODELS, '-n', 'ml', 'e1', 'a=b'), /"e1" is in the cluster/);
  });

  it('are deleted by a selector, after a dry run, and living objects with the same labels are not', async () => {
    const dry = JSON.parse(
      await cluster.kubectl('delete', '--raw', collection('ml', 'labelSelector=team%3Da&dryRun=All'), ...as('alice')),
    ) as { readonly count: number; readonly names: readonly string[] };
    assert.deepEqual([dry.count, dry.names], [1, ['e2']]);
    assert.equal((await states('ml'))['e2'], 3);
    await cluster.kubectl('delete', '--raw', collection('ml', 'labelSelector=team%3Da'), ...as('alice'));
    const { e2, e3, live } = await states('ml');
    assert.deepEqual([e2, e3, live], [2, 3, 0]);
    const object = await cluster.get(model, 'ml', 'live');
    assert.equal(object?.metadata.annotations?.['michelangelo/Deleting'], undefined);
    assert.equal((await states('theirs'))['e2'], 3);
    assert.match(await refused('delete', '--raw', collection('ml', '')), /say which objects go/);
  });

  it('are neither changed nor deleted while MySQL is away, and the user is told', async () => {
    await bundle().databaseLink.cut();
    try {
      const merge = ['patch', MODELS, '-n', 'ml', 'e3', '--type=merge', '-p', '{"metadata":{"labels":{"a":"b"}}}'];
      assert.match(await refused(...merge), /MySQL is not available/);
      assert.match(await refused('delete', '--raw', collection('ml', 'labelSelector=team')), /MySQL is not available/);
    } finally {
      await bundle().databaseLink.heal();
    }
    await eventually(async () => assert.deepEqual(await labelsOf('e3'), { team: 'b' }));
    assert.equal((await states('ml'))['e3'], 3);
  });

  it('need a query API that may write in the cluster', async () => {
    await cluster.kubectl('delete', 'clusterrolebinding', 'ingester-query-writes');
    await eventually(async () => {
      assert.match(
        await refused('delete', '--raw', collection('ml', 'labelSelector=team')),
        /this query API only reads/,
      );
      assert.match(await refused('label', MODELS, '-n', 'ml', 'e3', 'a=b'), /Forbidden/);
    });
    assert.equal((await states('ml'))['e3'], 3);
  });
});
