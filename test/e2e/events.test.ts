// What the reconciler tells about an object is beside the object, where users look first.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { probe } from '../../hack/local/role-process.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'events';

interface EventList {
  readonly items: readonly { readonly type: string; readonly reason: string; readonly series?: { count: number } }[];
}

describe('events of the reconciler', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
  });

  const eventsOf = async (name: string): Promise<EventList['items']> => {
    const selector = `--field-selector=regarding.name=${name}`;
    const text = await cluster.kubectl('get', 'events.events.k8s.io', '-n', NS, selector, '-o', 'json');
    return (JSON.parse(text) as EventList).items;
  };

  it('say why an object that a user marked for deletion is still there, as one event however often the deletion is tried', async () => {
    const annotations = { 'michelangelo/Deleting': 'true', 'michelangelo/DeletePropagation': 'sideways' };
    await cluster.apply(aManifest('Model', NS, 'kept'));
    await cluster.patch(kind('Model'), NS, 'kept', { metadata: { annotations } });
    await eventually(async () => {
      const events = await eventsOf('kept');
      assert.deepEqual(
        events.map(({ type, reason }) => [type, reason]),
        [['Warning', 'PropagationInvalid']],
      );
    });
    await cluster.patch(kind('Model'), NS, 'kept', { metadata: { labels: { again: 'true' } } });
    await eventually(async () => {
      const events = await eventsOf('kept');
      assert.equal(events.length, 1);
      assert.ok((events[0]?.series?.count ?? 1) > 1);
    });
    const description = await cluster.kubectl('describe', 'models.michelangelo.api', '-n', NS, 'kept');
    assert.match(description, /Warning\s+PropagationInvalid\s.*michelangelo\.api\/ingester/);
  });

  it('say of a namespace why it is not deleted, because no event can be written into it', async () => {
    const leaving = 'events-leaving';
    await cluster.namespace(leaving);
    for (const name of ['one', 'two']) {
      await cluster.apply(aManifest('Model', leaving, name));
      await eventually(() => cluster.row(kind('Model'), leaving, name));
    }
    const { databaseLink } = bundle();
    await databaseLink.cut();
    try {
      await cluster.kubectl('delete', 'namespace', leaving, '--wait=false');
      await eventually(async () => {
        const about = `--field-selector=involvedObject.kind=Namespace,involvedObject.name=${leaving}`;
        const text = await cluster.kubectl('get', 'events', '-n', 'default', about, '-o', 'json');
        const { items } = JSON.parse(text) as { readonly items: readonly { reason: string; message: string }[] };
        assert.deepEqual(
          items.map(({ reason }) => reason),
          ['TerminatingBlocked'],
        );
        assert.match(items[0]?.message ?? '', /^Model (one|two): .*MySQL/);
      }, 120_000);
    } finally {
      await databaseLink.heal();
    }
    await eventually(async () => assert.equal((await cluster.tryKubectl('get', 'namespace', leaving)).code, 1), 60_000);
    const { body } = await probe(bundle().reconcilerHealthPort, '/metrics');
    assert.match(body, /^ingester_events_dropped_total 0$/m);
  });
});
