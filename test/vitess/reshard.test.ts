// A shard that is split in two by the commands of docs/vitess.md while users work: nothing is lost, and nothing waits for long.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { startVitess, type VitessCluster } from '../../hack/local/vitess/cluster.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';
import { queryShard } from '../support/use-vitess.ts';
import { databaseOf } from '../support/vitess-bundle.ts';

const NS = 'split';
const OBJECTS = 40;
const COPY_MS = 120_000;
const model = kind('Model');
const names = Array.from({ length: OBJECTS }, (_, index) => `model-${index}`);

describe('a shard of Vitess that is split in two while users work', () => {
  let vitess: VitessCluster;
  const bundle = useBundle({
    database: async () => {
      vitess = await startVitess();
      return databaseOf(vitess);
    },
  });
  let cluster: Cluster;
  let change = 0;
  let deleted = 0;
  const over = new AbortController();
  const created = new Set<string>();

  const reshard = (...args: readonly string[]): Promise<string> =>
    vitess.control('Reshard', '--workflow', 'more', '--target-keyspace', 'michelangelo', ...args);
  const diff = (...args: readonly string[]): Promise<string> =>
    vitess.control('VDiff', '--workflow', 'more', '--target-keyspace', 'michelangelo', ...args);
  const countIn = async (database: string): Promise<number> => {
    const [row] = await queryShard(vitess, database, 'SELECT COUNT(*) AS count FROM model');
    return Number(row?.['count']);
  };

  /** Creates, changes and deletes, one after the other. */
  const work = async (): Promise<void> => {
    while (!over.signal.aborted) {
      change += 1;
      await cluster.patch(model, NS, names[change % OBJECTS] ?? '', { spec: { algorithm: `change-${change}` } });
      const name = `short-${change}`;
      await cluster.create(aManifest('Model', NS, name));
      created.add(name);
      const old = `short-${change - 5}`;
      if (!created.has(old)) continue;
      await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, '--wait=false', old);
      deleted += 1;
    }
  };

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    for (const name of names) await cluster.create(aManifest('Model', NS, name));
    await eventually(async () => assert.equal((await cluster.rows(model, NS)).length, OBJECTS));
  });

  it('has every object in the rows of the new shards, with its last state, and the deleted ones as deleted', async () => {
    const working = work();
    try {
      await vitess.addShard('-40', 'vt_third');
      await vitess.addShard('40-80', 'vt_fourth');
      await reshard('create', '--source-shards', '-80', '--target-shards', '-40,40-80');
      await eventually(async () => {
        const [old = 0, third = 0, fourth = 0] = await Promise.all(['vt_first', 'vt_third', 'vt_fourth'].map(countIn));
        assert.ok(old > 10 && Math.abs(old - third - fourth) < 5, `${old} in the old shard, ${third} and ${fourth}`);
      }, COPY_MS);
      await eventually(
        async () => assert.match(await reshard('status'), /Status: Running.*\n.*Status: Running/),
        COPY_MS,
      );
      await diff('create', '--wait');
      assert.match(await diff('show', 'last'), /HasMismatch: +false/);
      // Refused while a stream copies.
      await eventually(() => reshard('switchtraffic'), COPY_MS);
      const before = change;
      await eventually(() => assert.ok(change > before + 20));
    } finally {
      over.abort();
      await working;
    }
    await eventually(async () => {
      const rows = new Map((await cluster.rows(model, NS)).map((row) => [String(row['name']), row]));
      assert.equal(rows.size, OBJECTS + created.size);
      for (const [name, row] of rows) {
        const live = await cluster.get(model, NS, name);
        assert.equal(row['delete_time'] === null, live !== undefined, name);
        if (live !== undefined) assert.equal(String(row['res_version']), live.metadata.resourceVersion, name);
      }
    }, 60_000);
    assert.ok(deleted > 10);
    const counts = await Promise.all(['vt_second', 'vt_third', 'vt_fourth'].map(countIn));
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      OBJECTS + created.size,
    );
  });
});
