// A reconciler that is pointed at the database of another cluster, a database that moves with its objects, and an empty one in the
// place of the one of before.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Bundle, startBundle } from '../../hack/local/bundle.ts';
import { probe } from '../../hack/local/role-process.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { runIngester } from '../support/ingester.ts';
import { startQueryServer } from '../support/query-server.ts';

const NS = 'moving';
const model = kind('Model');
/** The reconciler of a cluster compares its list with the table at once after its start. */
const COMPARED_MS = 6000;

describe('the database of one cluster and the reconciler of another one', () => {
  let [first, second]: Bundle[] = [];
  let [ours, theirs]: Cluster[] = [];
  const uidOf = async (cluster: Cluster) =>
    (await cluster.kubectl('get', 'namespace', 'kube-system', '-o', 'jsonpath={.metadata.uid}')).trim();
  const live = async () => (await cluster(ours).rows(model, NS)).filter((row) => row['delete_time'] === null);
  const cluster = (one: Cluster | undefined): Cluster => one ?? assert.fail('not started');
  const bundle = (one: Bundle | undefined): Bundle => one ?? assert.fail('not started');
  const ingester = (...args: readonly string[]) => runIngester(bundle(second), args);

  before(async () => {
    first = await startBundle();
    const configuration = { ...first.databaseSections };
    second = await startBundle({ configuration, startReconciler: false, reconcilerProgram: { readyPath: '/healthz' } });
    ours = new Cluster(first);
    theirs = new Cluster(second);
    for (const each of [ours, theirs]) await each.namespace(NS);
    for (const name of ['a', 'b', 'c']) await ours.apply(aManifest('Model', NS, name));
    await eventually(async () => assert.equal((await live()).length, 3));
    await theirs.apply(aManifest('Model', NS, 'new'));
    await second.reconciler.start();
  });
  after(async () => {
    await second?.stop();
    await first?.stop();
  });

  it('stay apart: no row ends, nothing is stored, a deleted object waits, and each of log, readiness and status says why', async () => {
    await cluster(theirs).kubectl('delete', 'models.michelangelo.api', '-n', NS, 'new', '--wait=false');
    await sleep(COMPARED_MS);
    assert.deepEqual((await live()).map(({ name }) => name).sort(), ['a', 'b', 'c']);
    const waiting = await cluster(theirs).get(model, NS, 'new');
    assert.ok(waiting?.metadata.deletionTimestamp !== undefined, 'it has its finalizer still');
    const { status, body } = await probe(bundle(second).reconcilerHealthPort, '/readyz');
    assert.equal(status, 503);
    assert.match(body, /belongs to the cluster/);
    assert.match(cluster(theirs).reconcilerLog(), /STORAGE_OTHER_CLUSTER.*ingester cluster take-over --from/);
    const said = await ingester('status');
    assert.equal(said.code, 1);
    assert.match(said.stdout, /MySQL.*belongs to the cluster/);
    assert.equal((await probe(bundle(first).reconcilerHealthPort, '/readyz')).status, 200);
  });

  it('are shown by "ingester cluster show"', async () => {
    const { stdout } = await ingester('cluster', 'show');
    assert.match(stdout, new RegExp(`another cluster: ${await uidOf(cluster(ours))}`));
    assert.match(stdout, new RegExp(`This one is ${await uidOf(cluster(theirs))}: nothing is written from here`));
  });

  it('show nothing to users of the other cluster: the query API there says whose the database is', async () => {
    const { databaseSections } = bundle(first);
    const server = await startQueryServer({ ...bundle(second), databaseSections });
    try {
      const available = ['--for=condition=Available', '--timeout=60s', 'apiservice/v2.stored.michelangelo.api'];
      await cluster(theirs).kubectl('wait', ...available);
      const { code, stdout, stderr } = await cluster(theirs).tryKubectl(
        ...['get', '--raw', `/apis/stored.michelangelo.api/v2/namespaces/${NS}/models`],
      );
      assert.notEqual(code, 0);
      assert.equal(stdout, '');
      assert.match(stderr, /belongs to the cluster/);
    } finally {
      await server.stop();
    }
  });

  it('let an operator look and restore before the handover: what it would end, and objects one by one', async () => {
    await cluster(ours).kubectl('delete', 'models.michelangelo.api', '-n', NS, 'c');
    const audited = await ingester('audit', '--kind', 'Model');
    assert.equal(audited.code, 1);
    // Ordered by uid.
    const [, extra = ''] = audited.stdout.split('extra 2: ');
    assert.deepEqual([...extra.matchAll(/^ {4}moving\/(\w+) /gm)].map(([, name]) => name).sort(), ['a', 'b']);
    const repaired = await ingester('audit', '--kind', 'Model', '--repair');
    assert.match(repaired.stderr, /STORAGE_OTHER_CLUSTER/);
    assert.equal((await ingester('restore', 'Model', `${NS}/c`)).code, 0);
    assert.notEqual(await cluster(theirs).get(model, NS, 'c'), undefined);
    assert.equal(
      (await cluster(ours).rows(model, NS, 'c')).length,
      1,
      "it is stored once the database is this cluster's",
    );
  });

  it('belong together after "ingester cluster take-over", without a restart, and the cluster before writes nothing', async () => {
    const wrong = await ingester('cluster', 'take-over', '--from', 'c0ffee');
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /Nothing is changed: .*HANDOVER_REFUSED/);
    const taken = await ingester('cluster', 'take-over', '--from', await uidOf(cluster(ours)));
    assert.deepEqual([taken.code, taken.stderr], [0, '']);
    assert.match(taken.stdout, /belongs to this cluster/);
    await eventually(async () => {
      assert.equal((await probe(bundle(second).reconcilerHealthPort, '/readyz')).status, 200);
    });
    await cluster(theirs).gone(model, NS, 'new');
    await eventually(async () => assert.equal((await cluster(ours).rows(model, NS, 'c')).length, 2));
    assert.notEqual((await cluster(ours).row(model, NS, 'new'))['delete_time'], null);
    await cluster(ours).apply(aManifest('Model', NS, 'late'));
    await eventually(async () => {
      const { body } = await probe(bundle(first).reconcilerHealthPort, '/readyz');
      assert.match(body, /belongs to the cluster/);
    });
    assert.deepEqual(await cluster(ours).rows(model, NS, 'late'), []);
  });
});

describe('an empty database in the place of the one that a cluster had', () => {
  let bundle: Bundle;
  let cluster: Cluster;
  const ingester = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    runIngester(bundle, args, { env });
  const remembered = async () =>
    (
      await cluster.kubectl(
        'get',
        'configmap',
        '-n',
        'ingester-system',
        'ingester-control',
        '-o',
        'jsonpath={.data.database}',
      )
    ).trim();
  const ready = () => probe(bundle.reconcilerHealthPort, '/readyz');
  let had = '';

  before(async () => {
    bundle = await startBundle();
    cluster = new Cluster(bundle);
    await cluster.namespace(NS);
    for (const name of ['a', 'b']) await cluster.apply(aManifest('Model', NS, name));
    await eventually(async () => assert.equal((await cluster.rows(model, NS)).length, 2));
    await eventually(async () => assert.match(await remembered(), /^\d{4}-.*Z$/));
    had = await remembered();
    const { database } = bundle;
    const tables = await database.query(
      'SELECT table_name AS `table` FROM information_schema.tables WHERE table_schema = DATABASE()',
    );
    await database.query(`DROP TABLE ${tables.map(({ table }) => `\`${String(table)}\``).join(', ')}`);
    const { user, password } = database.migrator;
    const migrated = await ingester(['task', 'migrate'], {
      INGESTER_MYSQL_USER: user,
      INGESTER_MYSQL_PASSWORD: password,
    });
    assert.equal(migrated.code, 0, migrated.stderr);
  });
  after(() => bundle.stop());

  it('stores nothing, lets no deletion through, and is said by readiness, log and "ingester cluster show"', async () => {
    await cluster.apply(aManifest('Model', NS, 'late'));
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'b', '--wait=false');
    await eventually(async () => {
      const { status, body } = await ready();
      assert.equal(status, 503);
      assert.match(body, /the database that it has had since .*; this one belongs to no cluster yet/);
    });
    await sleep(COMPARED_MS);
    assert.notEqual(await cluster.get(model, NS, 'b'), undefined, 'it has its finalizer still');
    assert.deepEqual(await cluster.rows(model, NS), []);
    assert.match(cluster.reconcilerLog(), /STORAGE_OTHER_DATABASE/);
    const shown = await ingester(['cluster', 'show']);
    assert.match(shown.stdout, /^No cluster has written to the database/);
    assert.ok(shown.stdout.includes(`the one that it has had since ${had}: nothing is written here`), shown.stdout);
  });

  it('does not make the query API say that there is nothing', async () => {
    const server = await startQueryServer(bundle);
    try {
      const available = ['--for=condition=Available', '--timeout=60s', 'apiservice/v2.stored.michelangelo.api'];
      await cluster.kubectl('wait', ...available);
      const path = `/apis/stored.michelangelo.api/v2/namespaces/${NS}/models`;
      const { code, stdout, stderr } = await cluster.tryKubectl('get', '--raw', path);
      assert.deepEqual([code === 0, stdout], [false, '']);
      assert.match(stderr, /This cluster stores its objects in the database that it has had since/);
    } finally {
      await server.stop();
    }
  });

  it('is taken only by name of the one of before; the reconciler starts anew then, and stores the objects of the cluster', async () => {
    const wrong = await ingester(['cluster', 'change-database', '--from', '2020-01-01T00:00:00.000000Z']);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /Nothing is changed: .*HANDOVER_REFUSED/);
    const changed = await ingester(['cluster', 'change-database', '--from', had]);
    assert.deepEqual([changed.code, changed.stderr], [0, '']);
    await eventually(() => assert.match(cluster.reconcilerLog(), /STORAGE_DATABASE_CHANGED/));
    await bundle.reconciler.stop();
    await bundle.reconciler.start();
    await eventually(async () => assert.equal((await ready()).status, 200));
    await cluster.gone(model, NS, 'b');
    await eventually(async () => {
      const rows = await cluster.rows(model, NS);
      const ended = rows.filter((row) => row['delete_time'] !== null).map(({ name }) => name);
      assert.deepEqual([rows.map(({ name }) => name).sort(), ended], [['a', 'b', 'late'], ['b']]);
    });
    await eventually(async () => assert.ok((await remembered()) > had));
  });
});
