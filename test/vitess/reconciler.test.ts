// The whole program with a Vitess of two shards for its MySQL: what users do with kubectl, and a shard that dies meanwhile.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { BundleServers } from '../../hack/local/bundle-servers.ts';
import { probe } from '../../hack/local/role-process.ts';
import { startVitess, type VitessCluster } from '../../hack/local/vitess/cluster.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';
import { queryShard } from '../support/use-vitess.ts';
import { databaseOf } from '../support/vitess-bundle.ts';

const NS = 'sharded';
const OBJECTS = 24;
/** Of what must not wait for a shard that is away, nor for long after its return. */
const SOON_MS = 15_000;
const model = kind('Model');
const names = Array.from({ length: OBJECTS }, (_, index) => `model-${index}`);

describe('a reconciler that stores in two shards of Vitess', () => {
  let vitess: VitessCluster;
  const database = async (): Promise<Pick<BundleServers, 'server' | 'database'>> => {
    vitess = await startVitess();
    return databaseOf(vitess);
  };
  // It is not ready while a shard is away.
  const bundle = useBundle({ database, reconcilerProgram: { readyPath: '/healthz' } });
  let cluster: Cluster;

  const countIn = async (shard: string, table: string): Promise<number> => {
    const [row] = await queryShard(vitess, shard, `SELECT COUNT(*) AS count FROM ${table}`);
    return Number(row?.['count']);
  };
  const rowsAre = (algorithm: string, ended: 'live' | 'deleted'): Promise<unknown> =>
    eventually(async () => {
      const rows = await cluster.rows(model, NS);
      const found = rows.map((row) => [row['name'], row['algorithm'], row['delete_time'] !== null]);
      const expected = names.map((name) => [name, algorithm, ended === 'deleted']);
      assert.deepEqual(found.toSorted(), expected.toSorted());
    });

  const left = async (namespace: string): Promise<readonly string[]> => {
    const printed = await cluster.kubectl('get', 'models', '-n', namespace, '-o', 'name');
    return [...printed.matchAll(/\/(.+)$/gm)].map(([, name = '']) => name).sort();
  };
  const onlyThoseAwayAreLeft = async (namespace: string): Promise<void> => {
    const sql = `SELECT name FROM model WHERE namespace = '${namespace}'`;
    const rows = await queryShard(vitess, vitess.databases.shards[1] ?? '', sql);
    const away = rows.map((row) => String(row['name'])).sort();
    assert.ok(away.length > 0 && away.length < OBJECTS, `${away.length} rows are on the shard that is away`);
    await eventually(async () => assert.deepEqual(await left(namespace), away), SOON_MS);
  };

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
  });

  it('has the rows of new objects in both, with their labels', async () => {
    for (const name of names)
      await cluster.create(
        aManifest('Model', NS, name, {
          metadata: { namespace: NS, name, labels: { of: name } },
          spec: { algorithm: 'first' },
        }),
      );
    await rowsAre('first', 'live');
    for (const table of ['model', 'model_labels']) {
      const [first = 0, second = 0] = await Promise.all(vitess.databases.shards.map((shard) => countIn(shard, table)));
      assert.equal(first + second, OBJECTS);
      assert.ok(first > 0 && second > 0, `${first} and ${second} of ${table}`);
    }
  });

  it('has at a start what was changed while no reconciler ran', async () => {
    await bundle().reconciler.stop();
    for (const name of names) await cluster.patch(model, NS, name, { spec: { algorithm: 'second' } });
    await bundle().reconciler.start();
    await rowsAre('second', 'live');
  });

  it('keeps deleted objects while the shard of their rows is away, and no other, and lets them go with their last state', async () => {
    const tablet = vitess.tablets[1];
    await tablet?.crash();
    for (const name of names) await cluster.patch(model, NS, name, { spec: { algorithm: 'last' } });
    await cluster.kubectl('delete', 'models', '--all', '-n', NS, '--wait=false');
    await onlyThoseAwayAreLeft(NS);
    await eventually(async () => {
      const { body } = await probe(bundle().reconcilerHealthPort, '/readyz');
      assert.match(body, /from the shard 80-/);
    }, SOON_MS);
    await tablet?.start();
    await eventually(async () => assert.deepEqual(await left(NS), []), SOON_MS);
    await rowsAre('last', 'deleted');
  });

  it('lets deleted objects of the other shard go when it starts while one is away', async () => {
    const namespace = `${NS}-at-a-start`;
    await cluster.namespace(namespace);
    for (const name of names) await cluster.create(aManifest('Model', namespace, name));
    await eventually(async () => assert.equal((await cluster.rows(model, namespace)).length, OBJECTS));
    const tablet = vitess.tablets[1];
    await tablet?.crash();
    await bundle().reconciler.stop();
    await cluster.kubectl('delete', 'models', '--all', '-n', namespace, '--wait=false');
    await bundle().reconciler.start();
    await onlyThoseAwayAreLeft(namespace);
    await tablet?.start();
    await eventually(async () => assert.deepEqual(await left(namespace), []), SOON_MS);
  });

  it('evicts an immutable object, whose row stays', async () => {
    await cluster.create(aManifest('Model', NS, 'evicted', { spec: { algorithm: 'kept' } }));
    await cluster.patch(model, NS, 'evicted', { metadata: { annotations: { 'michelangelo/Immutable': 'true' } } });
    await cluster.gone(model, NS, 'evicted');
    const row = await cluster.row(model, NS, 'evicted');
    assert.deepEqual([row['algorithm'], row['delete_time'], row['evict_time'] !== null], ['kept', null, true]);
  });
});
