// MySQL and the cluster are made to differ in every way there is; the audit says so and repairs it.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { probe } from '../../hack/local/role-process.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { runIngester } from '../support/ingester.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'audit';
const model = kind('Model');
const names = ['missing', 'stale', 'ahead', 'unreadable', 'bare', 'fine-1', 'fine-2', 'fine-3', 'fine-4'];

interface Report {
  readonly open: number;
  readonly kinds: readonly {
    readonly kind: string;
    readonly findings: readonly { readonly finding: string; readonly name: string; readonly outcome?: string }[];
  }[];
}

describe('ingester audit', () => {
  const bundle = useBundle({ configuration: { audit: { period: '3s' } } });
  let cluster: Cluster;
  const sql = (statement: string) => bundle().database.query(statement);
  const audit = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await runIngester(bundle(), ['audit', '--kind', 'Model', '-o', 'json', ...args]);
    const report = JSON.parse(stdout) as Report;
    const found = report.kinds.flatMap(({ findings }) => findings);
    return {
      code,
      stderr,
      open: report.open,
      found: found.map((one) => [one.finding, one.name, one.outcome].join(' ').trim()).sort(),
    };
  };

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    const items = [...names, 'extra', 'evicted'].map((name) =>
      aManifest('Model', NS, name, { spec: { algorithm: name } }),
    );
    await cluster.apply({ apiVersion: 'v1', kind: 'List', items });
    await eventually(async () => assert.equal((await cluster.rows(model, NS)).length, items.length));
    await cluster.patch(model, NS, 'evicted', { metadata: { annotations: { 'michelangelo/Immutable': 'true' } } });
    await eventually(async () => assert.notEqual((await cluster.row(model, NS, 'evicted'))['evict_time'], null));
    await cluster.gone(model, NS, 'evicted');
  });

  it('says in words and with exit code 0 that both sides agree', async () => {
    const { code, stdout, stderr } = await runIngester(bundle(), ['audit']);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /^Model: 10 objects, 10 rows, 0 findings$/m);
    assert.match(stdout, /MySQL and the cluster agree\.\n$/);
  });

  it('finds every difference, repairs none unasked, and exits with 1', async () => {
    await bundle().reconciler.stop();
    await sql(`DELETE FROM model WHERE name = 'missing'`);
    await sql(`UPDATE model SET res_version = 1 WHERE name = 'stale'`);
    await sql(`UPDATE model SET res_version = res_version + 100000 WHERE name = 'ahead'`);
    await sql(
      `UPDATE model SET json = JSON_SET(json, '$.spec.algorithm', 'forged') WHERE name IN ('unreadable', 'evicted')`,
    );
    // It would put the finalizer back at once.
    await cluster.kubectl('delete', 'mutatingwebhookconfiguration', 'ingester-finalizer');
    for (const name of ['bare', 'extra']) await cluster.patch(model, NS, name, { metadata: { finalizers: null } });
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'extra');
    for (const args of [[], []]) {
      const { code, open, found, stderr } = await audit(...args);
      assert.deepEqual([code, open], [1, 8]);
      assert.match(stderr, /8 findings are open \(.*2 stale.*AUDIT_FINDINGS/);
      assert.deepEqual(found, [
        'ahead ahead',
        'extra extra',
        'missing missing',
        'stale bare',
        'stale stale',
        'unguarded bare',
        'unreadable evicted',
        'unreadable unreadable',
      ]);
    }
  });

  it('repairs the differences it can when asked to, and names the ones it left', async () => {
    const { code, found, stderr } = await audit('--repair');
    assert.equal(code, 1);
    assert.match(stderr, /2 findings are open \(1 ahead, not-asked; 1 unreadable, impossible\)/);
    assert.deepEqual(found, [
      'ahead ahead not-asked',
      'extra extra repaired',
      'missing missing repaired',
      'stale bare repaired',
      'stale stale repaired',
      'unguarded bare repaired',
      'unreadable evicted impossible',
      'unreadable unreadable repaired',
    ]);
    assert.deepEqual((await cluster.get(model, NS, 'bare'))?.metadata.finalizers, [FINALIZER]);
    assert.equal(
      (await cluster.row(model, NS, 'extra'))['delete_reason'],
      'missing from the API server, found by an audit',
    );
    assert.equal((await cluster.row(model, NS, 'missing'))['algorithm'], 'missing');
  });

  it('sets rows back to a cluster that was restored from a backup, only on that very request', async () => {
    const { found } = await audit('--repair-restored');
    assert.ok(found.includes('ahead ahead repaired'));
    const object = await cluster.get(model, NS, 'ahead');
    assert.equal(String((await cluster.row(model, NS, 'ahead'))['res_version']), object?.metadata.resourceVersion);
  });

  it('lets a row follow its object again after the repair, and finds only what nothing can repair', async () => {
    await bundle().reconciler.start();
    await cluster.patch(model, NS, 'ahead', { spec: { algorithm: 'after' } });
    await eventually(async () => assert.equal((await cluster.row(model, NS, 'ahead'))['algorithm'], 'after'));
    await eventually(async () => assert.deepEqual((await audit('--repair')).found, ['unreadable evicted impossible']));
    await sql(`UPDATE model SET json = JSON_SET(json, '$.spec.algorithm', 'evicted') WHERE name = 'evicted'`);
    assert.deepEqual(await audit(), { code: 0, stderr: '', open: 0, found: [] });
  });

  it('lets nothing be written that was read before a restored cluster was looked at, also where it finds nothing', async () => {
    const gate = async () => (await sql('SELECT closed_by, changed_at FROM ingester_gate'))[0] ?? {};
    const before = await gate();
    assert.deepEqual((await audit('--repair-restored')).found, []);
    const after = await gate();
    assert.notDeepEqual(after['changed_at'], before['changed_at']);
    assert.equal(after['closed_by'], null);
  });

  it('runs by itself in the reconciler, with metrics that read zero', async () => {
    await sql(`DELETE FROM model WHERE name = 'fine-1'`);
    await eventually(async () => assert.equal((await cluster.row(model, NS, 'fine-1'))['algorithm'], 'fine-1'), 60_000);
    // It says so once the whole kind is repaired, which is after the row is there.
    const said = () => assert.match(cluster.reconcilerLog(), /The audit found: the object has no row/);
    await eventually(said, 30_000);
    await sql(`UPDATE model SET res_version = res_version + 100000 WHERE name = 'fine-2'`);
    const metric = async (pattern: RegExp) =>
      assert.match((await probe(bundle().reconcilerHealthPort, '/metrics')).body, pattern);
    await eventually(() => metric(/^ingester_audit_findings\{kind="Model",finding="ahead"\} 1$/m), 60_000);
    await audit('--repair-restored');
    await eventually(() => metric(/^ingester_audit_findings\{kind="Model",finding="ahead"\} 0$/m), 60_000);
    await metric(/^ingester_audit_timestamp_seconds\{kind="Model"\} \d{10}/m);
  });

  it('frees objects that are stuck in their deletion after the cluster was restored, each with the end that it was to have', async () => {
    const held = { 'stuck-deleted': 'delete_time', 'stuck-evicted': 'evict_time' } as const;
    for (const name of Object.keys(held)) {
      const metadata = { name, namespace: NS, finalizers: [FINALIZER] };
      await cluster.apply({ ...aManifest('Model', NS, name, { spec: {} }), metadata });
      await eventually(() => cluster.row(model, NS, name));
    }
    await bundle().reconciler.stop();
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, ...Object.keys(held), '--wait=false');
    // As if all had come to its end, and etcd had then gone back to before that.
    const ended = 'UPDATE model SET res_version = res_version + 100000';
    await sql(`${ended}, row_state = 2, delete_time = NOW(6) WHERE name = 'stuck-deleted'`);
    await sql(`${ended}, row_state = 3, evict_request_time = NOW(6), evict_time = NOW(6) WHERE name = 'stuck-evicted'`);
    await bundle().reconciler.start();
    await eventually(() => assert.match(cluster.reconcilerLog(), /SYNC_STALE/));
    const { found } = await audit('--repair-restored');
    for (const name of Object.keys(held)) assert.ok(found.includes(`ahead ${name} repaired`), found.join('\n'));
    for (const [name, time] of Object.entries(held)) {
      await cluster.gone(model, NS, name);
      const row = await cluster.row(model, NS, name);
      const times = ['delete_time', 'evict_time'].filter((each) => row[each] !== null);
      assert.deepEqual(times, [time]);
    }
  });

  it('is how task init proves that every object is stored and guarded, with the rights of a writer, and only once', async () => {
    await bundle().reconciler.stop();
    await sql(`DELETE FROM model WHERE name = 'fine-3'`);
    await sql(`UPDATE model SET algorithm = 'no longer' WHERE name = 'fine-4'`);
    await cluster.patch(model, NS, 'fine-2', { metadata: { finalizers: null } });
    const init = async (): Promise<Record<string, unknown>> => {
      const { code, stdout, stderr } = await runIngester(bundle(), ['task', 'init', '-o', 'json']);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout) as Record<string, unknown>;
    };
    const { outcome, applied, backfilled, repaired } = await init();
    assert.deepEqual([outcome, applied, backfilled], ['initialized', [], 1]);
    const { missing, unguarded } = repaired as Record<string, number>;
    assert.deepEqual([missing, unguarded], [1, 1]);
    assert.deepEqual((await cluster.get(model, NS, 'fine-2'))?.metadata.finalizers, [FINALIZER]);
    assert.equal((await cluster.row(model, NS, 'fine-3'))['algorithm'], 'fine-3');
    assert.equal((await cluster.row(model, NS, 'fine-4'))['algorithm'], 'fine-4');
    assert.deepEqual((await init())['outcome'], 'unchanged');
    await bundle().reconciler.start();
  });

  it('lets task init end while clients create, change and delete objects and no reconciler runs', async () => {
    await bundle().reconciler.stop();
    await cluster.patch(model, NS, 'fine-1', { spec: { algorithm: 'changed' } });
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'fine-1', '--wait=false');
    const writing = { on: true };
    const created: string[] = [];
    const writer = (async () => {
      while (writing.on) {
        const name = `meanwhile-${created.length}`;
        await cluster.apply(aManifest('Model', NS, name, { spec: { algorithm: name } }));
        await cluster.patch(model, NS, 'fine-3', { spec: { algorithm: name } });
        created.push(name);
      }
    })();
    try {
      const { code, stderr } = await runIngester(bundle(), ['task', 'init', '-o', 'json']);
      assert.equal(code, 0, stderr);
    } finally {
      writing.on = false;
      await writer;
      await bundle().reconciler.start();
    }
    assert.ok(created.length > 5, `${created.length} objects`);
    await cluster.gone(model, NS, 'fine-1');
    assert.notEqual((await cluster.row(model, NS, 'fine-1'))['delete_time'], null);
    await eventually(async () => {
      for (const name of created) assert.equal((await cluster.row(model, NS, name))['algorithm'], name);
    });
  });

  it('fails without a report where MySQL or the API server is away', async () => {
    const away = [
      { env: { INGESTER_MYSQL_PORT: '1' }, code: /STORAGE_UNAVAILABLE/ },
      { env: { INGESTER_KUBERNETES_KUBECONFIG: '/nowhere' }, code: /KUBECONFIG_INVALID/ },
    ];
    for (const { env, code } of away) {
      const ran = await runIngester(bundle(), ['audit'], { env });
      assert.deepEqual([ran.code, ran.stdout], [1, '']);
      assert.match(ran.stderr, code);
    }
  });
});
