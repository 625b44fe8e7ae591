// Several reconcilers that work at the same time, each on its buckets, on real servers: what becomes of the objects when one
// of them dies, freezes, is cut off, comes or goes.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { probe } from '../../hack/local/role-process.ts';
import type { ServerProcess } from '../../hack/local/server-process.ts';
import { startTcpProxy, type TcpProxy } from '../../hack/local/tcp-proxy.ts';
import { GROUP, IMMUTABLE_ANNOTATION, VERSION } from '../../src/api/names.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { ObjectRef } from '../../src/kube/client.ts';
import { ifFound } from '../../src/kube/found.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { BUCKETS, bucketOf } from '../../src/runtime/replicas/buckets.ts';
import { LASTS_MS } from '../../src/runtime/replicas/standing-aside.ts';
import type { IngesterStatus } from '../../src/sync/status/status.ts';
import { Random } from '../soak/random.ts';
import { compare, NAMESPACE, settled } from '../soak/soak.ts';
import { Workload } from '../soak/workload.ts';
import { aManifest, Cluster, kind, type Row } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'at-work';
const Model = kind('Model');
const models = { group: GROUP, version: VERSION, plural: Model.plural };
const LEASE_MS = 15_000;
/** What the machine of the tests may take beyond the two seconds. */
const SLOW_MS = 4000;
/** The next bookmark would come after a minute. */
const LOOKS_AHEAD_MS = 15_000;

interface Reconciler {
  readonly process: ServerProcess;
  readonly healthPort: number;
}

describe('reconcilers that all work', () => {
  const bundle = useBundle({
    startReconciler: false,
    // Each watch brings what is the replica's own, and nothing else.
    featureGates: 'ShardedListAndWatch=true',
    configuration: {
      leaderElection: { enabled: true, active: 'all' },
      audit: { period: '0s' },
      log: { level: 'debug' },
    },
  });
  let cluster: Cluster;
  let replicas: Reconciler[];
  let client: HttpKubeClient;
  let toServer: TcpProxy;
  let toDatabase: TcpProxy;
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    await cluster.kubectl('apply', '-f', 'config/components/active-replicas/rbac.yaml');
    const { controlPlane, databaseLink, directory } = bundle();
    const access = { kubeconfig: controlPlane.kubeconfig, context: '', clock: systemClock };
    client = new HttpKubeClient(new PooledTransport(access));
    const { hostname, port } = new URL(controlPlane.url);
    toServer = await startTcpProxy({ host: hostname, port: Number(port) });
    toDatabase = await startTcpProxy({ host: databaseLink.host, port: databaseLink.port });
    const kubeconfig = join(directory, 'by-proxy.kubeconfig');
    const direct = readFileSync(join(directory, 'ingester-reconciler.kubeconfig'), 'utf8');
    writeFileSync(kubeconfig, direct.replaceAll(`:${port}`, `:${toServer.port}`), { mode: 0o600 });
    const env = {
      INGESTER_KUBERNETES_KUBECONFIG: kubeconfig,
      INGESTER_MYSQL_PORT: String(toDatabase.port),
      INGESTER_MYSQL_READ_TIMEOUT: '5s',
    };
    const first = { process: bundle().reconciler, healthPort: bundle().reconcilerHealthPort };
    replicas = [first, await bundle().createReplica('second'), await bundle().createReplica('third', env)];
    await Promise.all(replicas.map(({ process }) => process.start()));
    await shared();
  });
  after(async () => {
    await client.close();
    await toServer.close();
    await toDatabase.close();
  });

  const metric = async ({ healthPort }: Reconciler, pattern: RegExp): Promise<number> =>
    Number(pattern.exec((await probe(healthPort, '/metrics')).body)?.[1] ?? 0);
  const bucketsOf = (replica: Reconciler): Promise<number> => metric(replica, /^ingester_buckets (\d+)/m);
  const running = (): Reconciler[] => replicas.filter(({ process }) => process.running);
  /** Every bucket has an owner, and each replica that runs has some. */
  const shared = async (limitMs?: number): Promise<void> => {
    await eventually(async () => {
      const counts = await Promise.all(running().map(bucketsOf));
      assert.ok(
        counts.every((count) => count > 0),
        counts.join(' '),
      );
      assert.equal(
        counts.reduce((sum, count) => sum + count, 0),
        BUCKETS,
        counts.join(' '),
      );
    }, limitMs);
  };
  const ownBuckets = ({ process }: Reconciler): ReadonlySet<number> => {
    const terms = readFileSync(process.logFile, 'utf8').matchAll(/"buckets":\[([\d,]+)\][^\n]*A term begins/g);
    return new Set(([...terms].at(-1)?.[1] ?? '').split(',').map(Number));
  };
  const synced = ({ process }: Reconciler): number =>
    readFileSync(process.logFile, 'utf8').split('Synced to MySQL').length - 1;
  const syncedUids = ({ process }: Reconciler, prefix: string): readonly string[] => {
    const lines = readFileSync(process.logFile, 'utf8')
      .split('\n')
      .filter((line) => line.includes('Synced to MySQL'));
    const about = lines.filter((line) => line.includes(`"name":"${prefix}-`));
    return about.flatMap((line) => /"uid":"([^"]+)"/.exec(line)?.[1] ?? []);
  };
  const create = async (prefix: string, count: number): Promise<readonly string[]> => {
    const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
    const items = names.map((name) => aManifest('Model', NS, name, { spec: { algorithm: 'xgboost' } }));
    await cluster.apply({ apiVersion: 'v1', kind: 'List', items });
    return names;
  };
  const stored = async (names: readonly string[], limitMs?: number): Promise<readonly Row[]> =>
    eventually(async () => {
      const rows = (await cluster.rows(Model, NS)).filter(({ name }) => names.includes(String(name)));
      assert.equal(rows.length, names.length);
      return rows;
    }, limitMs);

  it('divide the objects, each of which one of them stores', async () => {
    const rows = await stored(await create('divided', 60));
    const owned = replicas.map((replica) => {
      const buckets = ownBuckets(replica);
      return rows.filter(({ uid }) => buckets.has(bucketOf(String(uid)))).length;
    });
    assert.equal(
      owned.reduce((sum, count) => sum + count, 0),
      60,
    );
    assert.ok(
      owned.every((count) => count > 5),
      owned.join(' '),
    );
    for (const replica of replicas) {
      const buckets = ownBuckets(replica);
      const foreign = syncedUids(replica, 'divided').filter((uid) => !buckets.has(bucketOf(uid)));
      assert.deepEqual(foreign, []);
    }
  });

  it('let their positions move on within seconds of a change of one object, which two of three do not see', async () => {
    const position = async (): Promise<bigint> => {
      const [row] = await bundle().database.query("SELECT res_version FROM ingester_positions WHERE kind = 'Model'");
      return BigInt(Number(row?.['res_version'] ?? 0));
    };
    for (const name of ['position-0', 'position-1', 'position-2']) {
      await cluster.apply(aManifest('Model', NS, name, { spec: { algorithm: 'xgboost' } }));
      const object = await cluster.get(Model, NS, name);
      await eventually(async () => {
        const reached = await position();
        assert.ok(reached >= BigInt(object?.metadata.resourceVersion ?? 0), String(reached));
      }, LOOKS_AHEAD_MS);
    }
  });

  it('tell of all objects in one status', async () => {
    const names = (await cluster.kubectl('get', 'models.michelangelo.api', '-n', NS, '-o', 'name')).trim().split('\n');
    await eventually(async () => {
      const path = '-o=jsonpath={.data.status\\.json}';
      const text = await cluster.kubectl('get', 'configmap', 'ingester-status', '-n', 'ingester-system', path);
      const { kinds } = JSON.parse(text) as IngesterStatus;
      assert.equal(kinds.find(({ kind: name }) => name === 'Model')?.objects, names.length);
    });
  });

  it('take over from one that is killed within the time of a lease and two seconds, and end the rows of what left meanwhile', async () => {
    const [first, second, third] = replicas;
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    const rows = await stored(await create('killed', 30));
    const buckets = ownBuckets(second);
    const left = rows.filter(({ uid }) => buckets.has(bucketOf(String(uid)))).slice(0, 3);
    assert.equal(left.length, 3);
    await second.process.crash();
    const killed = performance.now();
    // Deleted, and the finalizer taken off by hand: nothing but a comparison finds out.
    const names = left.map(({ name }) => String(name));
    await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, '--wait=false', ...names);
    for (const name of names) await cluster.patch(Model, NS, name, { metadata: { finalizers: null } });
    await create('orphan', 30);
    await stored(
      Array.from({ length: 30 }, (_, index) => `orphan-${index}`),
      LEASE_MS + 2000 + SLOW_MS - (performance.now() - killed),
    );
    await eventually(async () => {
      const ended = (await cluster.rows(Model, NS)).filter(({ name }) => names.includes(String(name)));
      assert.deepEqual(
        ended.map(({ row_state }) => Number(row_state)),
        [2, 2, 2],
      );
    });
    const alive = (await cluster.rows(Model, NS)).filter(({ row_state }) => Number(row_state) === 2);
    assert.equal(alive.length, 3, 'no other row was ended');
    await second.process.start();
    await shared();
  });

  it('let one that was frozen for longer than its lease write nothing any more', async () => {
    const [, second] = replicas;
    assert.ok(second !== undefined);
    second.process.kill('SIGSTOP');
    await delay(LEASE_MS + 3000);
    const before = synced(second);
    await stored(await create('frozen', 30));
    const died = second.process.exited();
    second.process.kill('SIGCONT');
    await died;
    assert.equal(synced(second), before);
    assert.match(readFileSync(second.process.logFile, 'utf8'), /Leadership is lost/);
    await second.process.start();
    await shared();
  });

  it('hand over within two seconds when one is stopped', async () => {
    const [, second] = replicas;
    assert.ok(second !== undefined);
    await second.process.stop();
    const stopped = performance.now();
    await shared(10_000);
    assert.ok(performance.now() - stopped < 2000 + SLOW_MS, `${performance.now() - stopped} ms`);
    await second.process.start();
    await shared();
  });

  it('take over the objects of one whose way to MySQL alone is cut, and give them back', async () => {
    const [first, second, third] = replicas;
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    await toDatabase.cut();
    await eventually(
      async () => {
        const counts = await Promise.all([first, second, third].map(bucketsOf));
        assert.equal(counts[2], 0);
        assert.equal((counts[0] ?? 0) + (counts[1] ?? 0), BUCKETS);
      },
      2 * LASTS_MS + LEASE_MS,
    );
    await stored(await create('apart', 30));
    assert.equal((await probe(third.healthPort, '/readyz')).status, 503);
    await toDatabase.heal();
    await shared(60_000);
  });

  it("decide by what MySQL has about a name that was another replica's object before, though MySQL is slow", async () => {
    const count = 24;
    const names = await create('again', count);
    await stored(names);
    const before = await Promise.all(names.map((name) => cluster.get(Model, NS, name)));
    const slowDown = async (ms: number): Promise<void> => {
      const { databaseLink } = bundle();
      databaseLink.delay(ms);
      await databaseLink.cut();
      await databaseLink.heal();
    };
    await slowDown(100);
    const ref = (name: string): ObjectRef => ({ resource: models, namespace: NS, name });
    const annotate = (name: string, annotation: string): Promise<unknown> =>
      client.mergePatch(ref(name), { metadata: { annotations: { [annotation]: 'true' } } });
    /** As soon as the name is free. */
    const again = async (name: string): Promise<KubernetesObject> => {
      for (;;) {
        if ((await cluster.get(Model, NS, name)) === undefined)
          return client.create(models, NS, aManifest('Model', NS, name, { spec: { algorithm: 'again' } }));
        await delay(5);
      }
    };
    const way = (index: number): 'deleted' | 'let go' | 'evicted' =>
      (['deleted', 'let go', 'evicted'] as const)[index % 3] ?? 'deleted';
    const made = await Promise.all(
      names.map(async (name, index) => {
        if (way(index) === 'evicted') await annotate(name, IMMUTABLE_ANNOTATION);
        else await client.delete(ref(name), {});
        // By a user, before the final state is stored; it may have left already.
        if (way(index) === 'let go') await ifFound(client.mergePatch(ref(name), { metadata: { finalizers: null } }));
        const object = await again(name);
        if (way(index) === 'evicted') await annotate(name, IMMUTABLE_ANNOTATION);
        return object;
      }),
    );
    const moved = made.filter(({ metadata }, index) => {
      const uids = [metadata.uid, String(before[index]?.metadata.uid)];
      const [now, then] = uids.map((uid) => replicas.findIndex((each) => ownBuckets(each).has(bucketOf(uid))));
      return now !== then;
    });
    assert.ok(moved.length > 6, `${moved.length} objects have another owner than the one before`);
    await eventually(async () => {
      for (const [index, name] of names.entries()) {
        const rows = await cluster.rows(Model, NS, name);
        const states = new Map(rows.map(({ uid, row_state }) => [String(uid), Number(row_state)]));
        const [old, now] = [before[index]?.metadata.uid ?? '', made[index]?.metadata.uid ?? ''];
        // What a client created again stays in etcd, with the intent; that it was evicted before is known from MySQL alone.
        const expected = way(index) === 'evicted' ? { [old]: 3, [now]: 1 } : { [old]: 2, [now]: 0 };
        assert.deepEqual(Object.fromEntries(states), expected, `${name} was ${way(index)}`);
        assert.equal((await cluster.get(Model, NS, name))?.metadata.uid, now);
      }
    }, 60_000);
    await slowDown(0);
  });

  it('keep every guarantee under load while they are one, three and five, killed and cut off', {
    timeout: 600_000,
  }, async () => {
    await cluster.namespace(NAMESPACE);
    const workload = new Workload(client, NAMESPACE, new Random(11));
    const over = new AbortController();
    const workers = Array.from({ length: 3 }, async () => {
      while (!over.signal.aborted) {
        await workload.act();
        await delay(60);
      }
    });
    const [first, second, third] = replicas;
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    await delay(3000);
    await Promise.all([second.process.stop(), third.process.stop()]);
    await delay(4000);
    const fourth = await bundle().createReplica('fourth');
    const fifth = await bundle().createReplica('fifth');
    replicas.push(fourth, fifth);
    await Promise.all([second, third, fourth, fifth].map(({ process }) => process.start()));
    await shared();
    await toDatabase.cut();
    await delay(8000);
    await toDatabase.heal();
    await first.process.crash();
    await delay(3000);
    toServer.freeze();
    await third.process.exited();
    await toServer.heal();
    await delay(LEASE_MS);
    await Promise.all([first.process.start(), third.process.start()]);
    await shared();
    await fourth.process.stop();
    await fifth.process.stop();
    over.abort();
    await Promise.all(workers);
    await shared();
    assert.deepEqual(await settled(() => compare(bundle(), client, workload)), []);
    assert.ok(workload.known.size > 40, `${workload.known.size} objects`);
  });
});
