// A restart writes only what changed while no reconciler watched.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'difference';
const COUNT = 60;
const model = kind('Model');

describe('a start with a filled database', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  const nameOf = (index: number): string => `model-${String(index).padStart(3, '0')}`;
  const names = Array.from({ length: COUNT }, (_, index) => nameOf(index));
  /** When each row was last written, by name. */
  const written = async () => {
    const rows = await cluster.rows(model, NS);
    return new Map(rows.map((row) => [String(row['name']), String(row['update_time'])]));
  };
  const started = () => cluster.reconcilerLog().split('Reconciler started').length - 1;
  /** Settled means that every worker of the new process has dealt with its list. */
  const restart = async (whileDown: () => Promise<unknown>) => {
    const before = started();
    await bundle().reconciler.stop();
    await whileDown();
    await bundle().reconciler.start();
    await eventually(() => assert.equal(started(), before + 1));
    await cluster.apply(
      aManifest('Model', NS, 'canary', { metadata: { name: 'canary', namespace: NS, labels: { run: `r${before}` } } }),
    );
    await eventually(async () => {
      const row = await cluster.row(model, NS, 'canary');
      assert.match(JSON.stringify(row['json']), new RegExp(`r${before}`));
    });
  };
  /** Takes the finalizer off by hand and deletes: what an object does that no finalizer could hold back. */
  const loseUnseen = async (lost: readonly string[]) => {
    // It would put the finalizer back at once.
    await cluster.kubectl('delete', 'mutatingwebhookconfiguration', 'ingester-finalizer', '--ignore-not-found');
    for (const name of lost) await cluster.patch(model, NS, name, { metadata: { finalizers: null } });
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, ...lost);
  };

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    const items = names.map((name) => aManifest('Model', NS, name, { spec: { algorithm: 'xgboost' } }));
    await cluster.apply({ apiVersion: 'v1', kind: 'List', items });
    await eventually(async () => assert.equal((await written()).size, COUNT));
  });

  it('writes no row whose object is unchanged', async () => {
    const before = await written();
    await restart(() => Promise.resolve());
    const after = await written();
    after.delete('canary');
    assert.deepEqual(after, before);
  });

  it('writes exactly the objects that changed, and finishes deletions that began, while it was down', async () => {
    const before = await written();
    const [changed = '', leaving = ''] = names;
    await restart(async () => {
      await cluster.patch(model, NS, changed, { spec: { algorithm: 'lightgbm' } });
      await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, leaving, '--wait=false');
    });
    await eventually(async () => {
      assert.equal((await cluster.row(model, NS, changed))['algorithm'], 'lightgbm');
      assert.notEqual((await cluster.row(model, NS, leaving))['delete_time'], null);
    });
    const after = await written();
    const different = [...after].filter(([name, time]) => name !== 'canary' && before.get(name) !== time);
    assert.deepEqual(different.map(([name]) => name).sort(), [changed, leaving]);
  });

  it('ends the rows of objects that were deleted while it was down, with the reason', async () => {
    const lost = names.slice(2, 5);
    await restart(() => loseUnseen(lost));
    await eventually(async () => {
      for (const name of lost) {
        const row = await cluster.row(model, NS, name);
        assert.notEqual(row['delete_time'], null);
        assert.equal(row['delete_reason'], 'missing from the API server at the start');
      }
    });
  });

  it('believes no list that lacks too much of a table: the rows stay, and the log says what to check', async () => {
    const lost = names.slice(10, 30);
    await restart(() => loseUnseen(lost));
    await eventually(() => assert.match(cluster.reconcilerLog(), /cluster and database belong together/));
    for (const name of lost) assert.equal((await cluster.row(model, NS, name))['delete_time'], null);
  });
});
