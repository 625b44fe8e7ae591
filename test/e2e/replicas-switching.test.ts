// Rolling updates that switch `leaderElection.active`, as a Deployment does them, on real servers and under load: pods that
// work alone and pods that share the work run side by side for a while.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { probe } from '../../hack/local/role-process.ts';
import type { ServerProcess } from '../../hack/local/server-process.ts';
import { systemClock } from '../../src/base/clock.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { BUCKETS } from '../../src/runtime/replicas/buckets.ts';
import { Random } from '../soak/random.ts';
import { compare, NAMESPACE, settled } from '../soak/soak.ts';
import { Workload } from '../soak/workload.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';
import { doubleWork } from '../support/who-worked.ts';

const NS = 'switching';
const Model = kind('Model');
const LEASE_MS = 15_000;
/** A candidate tries again after up to 2.2 times two seconds; then the kinds are listed. */
const RETRY_MS = 4400;
/** What the machine of the tests may take beyond. */
const SLOW_MS = 6000;
/** Of an object, through all pods that end: each may cost what is said above, and the lists of the next owner. */
const LONGEST_MS = 2 * LEASE_MS;

interface Pod {
  readonly name: string;
  readonly process: ServerProcess;
  readonly healthPort: number;
}

describe('a rolling update that switches how many reconcilers work', () => {
  const bundle = useBundle({
    startReconciler: false,
    configuration: { leaderElection: { enabled: true }, audit: { period: '0s' }, log: { level: 'debug' } },
  });
  let cluster: Cluster;
  let client: HttpKubeClient;
  let workload: Workload;
  let pods: Pod[] = [];
  const logs: Record<string, string> = {};
  const over = new AbortController();
  let load: Promise<unknown> = Promise.resolve();
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    await cluster.namespace(NAMESPACE);
    await cluster.kubectl('apply', '-f', 'config/components/active-replicas/rbac.yaml');
    const { kubeconfig } = bundle().controlPlane;
    client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
    workload = new Workload(client, NAMESPACE, new Random(5));
    pods = [await start('one'), await start('one')];
    load = Promise.all([
      ...Array.from({ length: 2 }, () => repeat(() => workload.act(), 100)),
      repeat(() => look(), 500),
    ]);
  });
  after(async () => {
    over.abort();
    await load;
    await client.close();
  });

  const repeat = async (act: () => Promise<unknown>, pauseMs: number): Promise<void> => {
    while (!over.signal.aborted) {
      await act();
      await delay(pauseMs);
    }
  };
  const start = async (active: 'one' | 'all'): Promise<Pod> => {
    const name = `${active}-${Object.keys(logs).length}`;
    const pod = { name, ...(await bundle().createReplica(name, { INGESTER_LEADER_ELECTION_ACTIVE: active })) };
    logs[name] = pod.process.logFile;
    await pod.process.start();
    return pod;
  };
  /** A new pod is ready before an old one ends, as with `maxSurge: 1` and `maxUnavailable: 0`. */
  const roll = async (active: 'one' | 'all', count: number): Promise<void> => {
    const old = pods;
    pods = [];
    for (let index = 0; index < Math.max(count, old.length); index += 1) {
      if (index < count) pods.push(await start(active));
      await old[index]?.process.stop();
    }
  };
  let created = 0;
  let longest = { sinceMs: 0, ms: 0 };
  /** How long an object waits for its row. */
  const look = async (): Promise<void> => {
    created += 1;
    const name = `asked-${created}`;
    await client.create(
      { group: 'michelangelo.api', version: 'v2', plural: 'models' },
      NS,
      aManifest('Model', NS, name),
    );
    const startedMs = performance.now();
    await eventually(async () => assert.equal((await cluster.rows(Model, NS, name)).length, 1), 90_000);
    const ms = performance.now() - startedMs;
    if (startedMs >= longest.sinceMs && ms > longest.ms) longest = { ...longest, ms };
  };
  const metric = async ({ healthPort }: Pod, pattern: RegExp): Promise<number> =>
    Number(pattern.exec((await probe(healthPort, '/metrics')).body)?.[1] ?? 0);
  const buckets = (): Promise<readonly number[]> =>
    Promise.all(pods.map((pod) => metric(pod, /^ingester_buckets (\d+)/m)));
  /** Each by one replica; gives how many each has. */
  const allOwned = async (): Promise<readonly number[]> => {
    const counts = await buckets();
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      BUCKETS,
      counts.join(' '),
    );
    return counts;
  };
  const leaders = async (): Promise<readonly Pod[]> => {
    const pattern = /^leader_election_master_status\{name="ingester-reconciler"\} (\d)/m;
    const leads = await Promise.all(pods.map((pod) => metric(pod, pattern)));
    return pods.filter((_, index) => leads[index] === 1);
  };
  /** Of the objects that were created since it was asked last. */
  const waited = (): number => {
    const { ms } = longest;
    longest = { sinceMs: performance.now(), ms: 0 };
    return ms;
  };
  const assertNothingMissed = async (): Promise<void> => {
    assert.deepEqual(await settled(() => compare(bundle(), client, workload)), []);
    assert.deepEqual(doubleWork(logs), []);
  };

  it('has all work after one did: no object waits long, none is missed and none is worked on twice', async (test) => {
    await delay(3000);
    waited();
    await roll('all', 3);
    await eventually(async () => {
      const counts = await allOwned();
      assert.ok(
        counts.every((count) => count > 0),
        counts.join(' '),
      );
    });
    await delay(3000);
    const ms = waited();
    test.diagnostic(`an object waited for at most ${ms.toFixed(0)} ms`);
    assert.ok(ms < LONGEST_MS, `${ms} ms`);
    assert.deepEqual(doubleWork(logs), []);
  });

  it('leaves the work to the others where the replica that leads is killed beside pods that stand by to work alone', async (test) => {
    const beside = [await start('one'), await start('one')];
    const [leader] = await leaders();
    assert.ok(leader !== undefined);
    await leader.process.crash();
    pods = pods.filter((pod) => pod !== leader);
    await eventually(allOwned, LEASE_MS + SLOW_MS);
    await eventually(async () => assert.equal((await leaders()).length, 1), LEASE_MS + SLOW_MS);
    await delay(3000);
    test.diagnostic(`an object waited for at most ${waited().toFixed(0)} ms`);
    await Promise.all(beside.map(({ process }) => process.stop()));
    assert.deepEqual(doubleWork(logs), []);
    pods.push(await start('all'));
  });

  it('has one work after all did: no object waits long, none is missed and none is worked on twice', async (test) => {
    await delay(8000);
    waited();
    await roll('one', 2);
    await eventually(async () => assert.equal((await leaders()).length, 1));
    await delay(3000);
    const ms = waited();
    test.diagnostic(`an object waited for at most ${ms.toFixed(0)} ms`);
    assert.ok(ms < LONGEST_MS, `${ms} ms`);
    assert.deepEqual(doubleWork(logs), []);
  });

  it('has one work where the rights of replicas were pruned before their pods ended', async (test) => {
    await roll('all', 2);
    await eventually(async () => assert.ok((await buckets()).every((count) => count > 0)));
    const old = pods;
    await cluster.kubectl('delete', '-f', 'config/components/active-replicas/rbac.yaml');
    pods = [await start('one')];
    await Promise.all(old.map(({ process }) => process.exited()));
    // Their kubelet starts them again.
    void old[0]?.process.start().catch(() => undefined);
    await eventually(async () => assert.equal((await leaders()).length, 1), LEASE_MS + RETRY_MS + SLOW_MS);
    await delay(3000);
    test.diagnostic(`an object waited for at most ${waited().toFixed(0)} ms`);
    await old[0]?.process.stop();
  });

  it('keeps every guarantee through all of that', async () => {
    over.abort();
    await load;
    assert.ok(workload.known.size > 40, `${workload.known.size} objects`);
    await assertNothingMissed();
  });
});
