// A user who changes many objects of one namespace, again and again, does not make the users of others wait until all of
// them are stored. With 400 objects of 1,500 labels, 13 changes a second, the objects of others waited for a minute.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const FLOOD = 30;
const model = kind('Model');

describe('changes of many objects in one namespace', () => {
  // Two objects are worked on at once, so few have to wait.
  const bundle = useBundle();
  let cluster: Cluster;

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace('flooded');
    await cluster.namespace('quiet');
  });

  it('are stored after an object of another namespace that was created when they were waiting already', async (t) => {
    bundle().reconciler.kill('SIGSTOP');
    try {
      const flood = Array.from({ length: FLOOD }, (_, index) => aManifest('Model', 'flooded', `model-${index}`));
      for (const manifest of flood) await cluster.create(manifest);
      await cluster.create(aManifest('Model', 'quiet', 'model'));
    } finally {
      bundle().reconciler.kill('SIGCONT');
    }
    await eventually(async () => assert.equal((await cluster.rows(model, 'flooded')).length, FLOOD));
    const quiet = await cluster.row(model, 'quiet', 'model');
    const rows = await cluster.rows(model, 'flooded');
    const later = rows.filter((row) => String(row['own_update_time']) > String(quiet['own_update_time'])).length;
    t.diagnostic(`stored before ${later} of ${FLOOD} that were created before it`);
    assert.ok(later > FLOOD / 2, `stored before ${later} of ${FLOOD} that were created before it`);
  });
});
