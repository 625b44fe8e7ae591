// An eviction rule that is withdrawn, or changed, before what it chose has left: the rows are live again.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { parse, stringify } from 'yaml';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'withdrawn';
const job = kind('RayJob');
const names = Array.from({ length: 60 }, (_, index) => `job-${index}`);
const rule = (when: string) => ({ name: 'jobs', kinds: ['RayJob'], when });

describe('an eviction rule', () => {
  // All are requested at once, and wait for their turn.
  const eviction = { perSecond: 1, interval: '2s', rules: [rule('true')] };
  const bundle = useBundle({ startReconciler: false, configuration: { eviction } });
  let cluster: Cluster;
  const stateOf = async (name: string) => Number((await cluster.row(job, NS, name))['row_state']);
  const waiting = async () => {
    const rows = await cluster.rows(job, NS);
    return rows.filter((row) => Number(row['row_state']) === 1).map((row) => String(row['name']));
  };
  const oneThatHasNotLeft = async (): Promise<string> => {
    for (const name of await waiting()) {
      const object = await cluster.get(job, NS, name);
      if (object !== undefined && object.metadata.deletionTimestamp === undefined) return name;
    }
    return assert.fail('all objects have left already');
  };
  const startWith = async (rules: readonly object[]) => {
    const file = join(bundle().directory, 'reconciler.yaml');
    const configuration = parse(readFileSync(file, 'utf8')) as { readonly eviction: object };
    writeFileSync(file, stringify({ ...configuration, eviction: { ...configuration.eviction, rules } }));
    await bundle().reconciler.start();
  };

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    const items = names.map((name) => aManifest('RayJob', NS, name));
    await cluster.apply({ apiVersion: 'v1', kind: 'List', items });
    await bundle().reconciler.start();
  });

  it('that no longer chooses an object lets it live, and still evicts the objects that it chooses', async () => {
    await eventually(async () => assert.ok((await waiting()).length > names.length / 2));
    await bundle().reconciler.stop();
    const kept = await oneThatHasNotLeft();
    await startWith([rule(`object.metadata.name != '${kept}'`)]);
    await eventually(async () => assert.equal(await stateOf(kept), 0));
    assert.ok((await cluster.get(job, NS, kept))?.metadata.annotations?.['michelangelo/EvictionWithdrawn']);
    await eventually(async () =>
      assert.ok((await cluster.rows(job, NS)).some((row) => Number(row['row_state']) === 3)),
    );
    for (const row of await cluster.rows(job, NS)) {
      if (row['name'] !== kept) assert.notEqual(Number(row['row_state']), 0, String(row['name']));
    }
  });

  it('that is withdrawn lets all objects live that have not left, and their deletion is a deletion', async () => {
    assert.ok((await waiting()).length > 0);
    await bundle().reconciler.stop();
    await startWith([]);
    await eventually(async () => assert.deepEqual(await waiting(), []));
    const rows = await cluster.rows(job, NS);
    assert.ok(rows.every((row) => [0, 3].includes(Number(row['row_state']))));
    const living = rows.filter((row) => Number(row['row_state']) === 0).map((row) => String(row['name']));
    assert.ok(living.length > 1);
    for (const name of living.slice(0, 2)) {
      await cluster.kubectl('delete', 'rayjobs.michelangelo.api', '-n', NS, name);
      await eventually(async () => assert.equal(await stateOf(name), 2));
    }
  });
});
