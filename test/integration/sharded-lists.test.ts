// A list that a replica narrows to its buckets, on an API server that knows how to: the same objects that the replica keeps.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { systemClock } from '../../src/base/clock.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { pagesOf } from '../../src/kube/pages.ts';
import { configMaps } from '../../src/kube/resources.ts';
import { allBuckets, bucketOf, shardSelectorOf, targetOf } from '../../src/runtime/replicas/buckets.ts';

const COUNT = 60;
const NS = 'default';

for (const gate of ['on', 'off'] as const)
  describe(`lists narrowed to buckets, where the gate of the API server is ${gate}`, () => {
    let controlPlane: ControlPlane;
    let client: HttpKubeClient;
    before(async () => {
      const featureGates = gate === 'on' ? { featureGates: 'ShardedListAndWatch=true' } : {};
      controlPlane = await startControlPlane({ minimal: true, ...featureGates });
      const { kubeconfig } = controlPlane;
      client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
      for (let index = 0; index < COUNT; index += 1)
        await client.create(configMaps, NS, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: `sharded-${index}`, namespace: NS },
        });
    });
    after(async () => {
      await client.close();
      await controlPlane.stop();
    });

    const uids = async (shardSelector?: string): Promise<readonly string[]> => {
      const found: string[] = [];
      const options = { namespace: NS, shardSelector, consistency: 'one-version' } as const;
      for await (const page of pagesOf(client, configMaps, options, new AbortController().signal))
        found.push(...page.items.map(({ identity }) => identity.uid));
      return found.toSorted();
    };

    it(gate === 'on' ? 'show the objects of the buckets and no other' : 'show all objects', async () => {
      const all = await uids();
      assert.ok(all.length >= COUNT);
      const shares = [0, 1, 2].map((slot) => allBuckets.filter((bucket) => targetOf(bucket, [0, 1, 2]) === slot));
      for (const share of [...shares, [31], [0, 1, 31], allBuckets]) {
        const listed = await uids(shardSelectorOf(share));
        const own = all.filter((uid) => share.includes(bucketOf(uid)));
        assert.deepEqual(listed, gate === 'on' ? own : all);
      }
    });
  });
