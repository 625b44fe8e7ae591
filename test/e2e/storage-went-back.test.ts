// MySQL loses transactions while no reconciler runs; the one that starts then knows what was confirmed, and says so.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { probe } from '../../hack/local/role-process.ts';
import { rowStateNumber } from '../../src/storage/mysql/schema/statements.ts';
import type { RowState } from '../../src/storage/row.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { runIngester } from '../support/ingester.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'went-back';

describe('a MySQL that lost what it confirmed', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  const remembered = () =>
    cluster.kubectl('get', 'configmap', 'ingester-status', '-n', 'ingester-system', '-o', 'json');

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    await cluster.create(aManifest('Model', NS, 'one'));
    await eventually(async () => assert.equal((await cluster.rows(kind('Model'), NS)).length, 1));
  });

  it('costs no object that was evicted meanwhile: its row, alive as before, is kept as evicted', async (t) => {
    if (bundle().server.external) {
      t.skip('the server is external');
      return;
    }
    const { database, reconciler } = bundle();
    const model = kind('Model');
    const state = async () => Number((await cluster.row(model, NS, 'archived'))['row_state']);
    const becomes = (wanted: RowState) => eventually(async () => assert.equal(await state(), rowStateNumber(wanted)));
    await cluster.create(aManifest('Model', NS, 'archived'));
    await eventually(async () => assert.equal((await cluster.rows(model, NS, 'archived')).length, 1));
    await database.query(`CREATE TABLE backup AS SELECT * FROM \`${model.table}\` WHERE name = 'archived'`);
    await cluster.kubectl('annotate', 'models.michelangelo.api/archived', '-n', NS, 'michelangelo/Immutable=true');
    await becomes('evicted');
    await cluster.gone(model, NS, 'archived');
    await eventually(async () => assert.match(await remembered(), /"storage-history\.json"/));
    await reconciler.stop();
    await database.query(`REPLACE INTO \`${model.table}\` SELECT * FROM backup`);
    await database.query('RESET BINARY LOGS AND GTIDS');
    assert.equal(await state(), rowStateNumber('live'));
    await reconciler.start();
    await becomes('evicted');
  });

  it('is noticed by a reconciler that started after it, under its own rights, and shown in the status', async (t) => {
    if (bundle().server.external) {
      t.skip('the server is external');
      return;
    }
    await eventually(async () => assert.match(await remembered(), /"storage-history\.json"/));
    await bundle().reconciler.stop();
    await bundle().database.query('RESET BINARY LOGS AND GTIDS');
    await bundle().reconciler.start();
    await cluster.create(aManifest('Model', NS, 'two'));
    await eventually(async () => {
      const { body } = await probe(bundle().reconcilerHealthPort, '/metrics');
      assert.match(body, /^ingester_storage_went_back_total 1$/m);
    });
    assert.match(cluster.reconcilerLog(), /MySQL does not know transactions that it confirmed/);
    await eventually(async () => {
      const { stdout } = await runIngester(bundle(), ['status']);
      assert.match(stdout, /MySQL went back at .* does not know transactions/);
    });
  });

  it('is likely where its settings are not durable, which the status and a metric say until they are', async (t) => {
    if (bundle().server.external) {
      t.skip('the server is external');
      return;
    }
    const shown = (text: RegExp, count: number) =>
      eventually(async () => {
        const { body } = await probe(bundle().reconcilerHealthPort, '/metrics');
        assert.match(body, new RegExp(`^ingester_storage_weak_settings ${count}$`, 'm'));
        assert.match((await runIngester(bundle(), ['status'])).stdout, text);
      });
    await bundle().database.query('SET GLOBAL sync_binlog = 0');
    await shown(/can lose final states that it confirmed, with sync_binlog=0: in a crash of its machine/, 1);
    await bundle().database.query('SET GLOBAL sync_binlog = 1');
    await shown(/^(?![^]*lose final states)/, 0);
  });
});
