// Lists and watches that a replica narrows to its buckets, on an API server that knows how to: the same objects that the
// replica keeps, and of a watch how far it is.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import type { Identity } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { pagesOf } from '../../src/kube/pages.ts';
import { Reflector } from '../../src/kube/reflector.ts';
import { isNewer } from '../../src/kube/resource-version.ts';
import { configMaps, leases } from '../../src/kube/resources.ts';
import type { WatchedObject } from '../../src/kube/watched-object.ts';
import { allBuckets, bucketOf, shardSelectorOf, targetOf } from '../../src/runtime/replicas/buckets.ts';
import { selectorFor } from '../../src/runtime/replicas/narrowing.ts';
import { eventually } from '../support/eventually.ts';
import { RecordingLogger } from '../support/recording-logger.ts';

const COUNT = 60;
const NS = 'default';
const none = (): undefined => undefined;

for (const gate of ['on', 'off'] as const)
  describe(`lists and watches narrowed to buckets, where the gate of the API server is ${gate}`, () => {
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

    it(
      gate === 'on'
        ? 'are used, as the server shows the Leases of the buckets alone'
        : 'are not, as the server shows all Leases',
      async () => {
        for (let index = 0; index < 32; index += 1)
          await client.create(leases, NS, {
            apiVersion: 'coordination.k8s.io/v1',
            kind: 'Lease',
            metadata: { name: `bucket-${index}`, namespace: NS },
          });
        const own = new Set(allBuckets.filter((bucket) => targetOf(bucket, [0, 1, 2]) === 0));
        const asking = { client, namespace: NS, logger: new RecordingLogger() };
        const selector = await selectorFor(own, asking, new AbortController().signal);
        assert.equal(selector, gate === 'on' ? shardSelectorOf(own) : undefined);
      },
    );

    it('bring each change of an own object once, and are as far as the last of others within seconds', async () => {
      const own = allBuckets.filter((bucket) => targetOf(bucket, [0, 1, 2]) === 0);
      const keeps = ({ uid }: { readonly uid: string }): boolean => own.includes(bucketOf(uid));
      const stop = new AbortController();
      const shown: string[] = [];
      const sink = {
        ...{ listStarts: none, notInstalled: none, removed: none },
        ...{ listed: () => Promise.resolve(), listEnds: () => Promise.resolve() },
        changed: ({ identity: { name, resourceVersion } }: WatchedObject) => shown.push(`${name} ${resourceVersion}`),
      };
      const parts = { client, resource: configMaps, sink, clock: systemClock, logger: new RecordingLogger() };
      const reflector = new Reflector({ ...parts, keeps, shardSelector: shardSelectorOf(own) });
      const running = reflector.run(stop.signal);
      await eventually(() => assert.notEqual(reflector.resourceVersion, ''));
      // While objects change all the time, which is when a look ahead could overtake what the watch has not brought yet.
      const looking = (async () => {
        while (!stop.signal.aborted) {
          await reflector.lookAhead(stop.signal).catch(none);
          await delay(10);
        }
      })();
      const metadata = Array.from({ length: 600 }, (_, index) => ({ name: `changing-${index}`, namespace: NS }));
      const created: Identity[] = [];
      for (const one of metadata) {
        const made = await client.create(configMaps, NS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: one });
        created.push(made.metadata);
        if (created.length % 40 === 0) await delay(300);
      }
      const newest = created.at(-1)?.resourceVersion ?? '';
      await eventually(() => assert.ok(!isNewer(newest, reflector.resourceVersion), reflector.resourceVersion), 15_000);
      const expected = created.filter(keeps).map(({ name, resourceVersion }) => `${name} ${resourceVersion}`);
      await eventually(() => assert.equal(shown.length, expected.length));
      assert.deepEqual(shown, expected);
      stop.abort();
      await Promise.all([running, looking]);
    });
  });
