// Two reconcilers: one works, the other stands by.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { probe } from '../../hack/local/role-process.ts';
import type { ServerProcess } from '../../hack/local/server-process.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'replicas';
const Model = kind('Model');

describe('two reconcilers with leader election', () => {
  const bundle = useBundle({ configuration: { leaderElection: { enabled: true } } });
  let cluster: Cluster;
  let second: { readonly process: ServerProcess; readonly healthPort: number };
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    second = await bundle().createReplica('second');
    await second.process.start();
  });

  const create = async (name: string): Promise<void> => {
    await cluster.apply(aManifest('Model', NS, name, { spec: {} }));
    await eventually(() => cluster.row(Model, NS, name), 60_000);
  };
  const leads = async (port: number): Promise<boolean> =>
    (await probe(port, '/metrics')).body.includes('leader_election_master_status{name="ingester-reconciler"} 1');
  const reconciled = async (port: number): Promise<number> => {
    const { body } = await probe(port, '/metrics');
    const pattern = /controller_runtime_reconcile_total\{controller="ingester_Model",result="success"\} (\d+)/;
    return Number(pattern.exec(body)?.[1] ?? Number.NaN);
  };

  it('let one of them work, and both be ready', async () => {
    await create('first');
    assert.deepEqual([await leads(bundle().reconcilerHealthPort), await leads(second.healthPort)], [true, false]);
    assert.equal((await probe(second.healthPort, '/readyz')).status, 200);
    assert.equal(await reconciled(second.healthPort), 0);
  });

  it('hand the lease over at once when the leader is stopped', async () => {
    const started = performance.now();
    await bundle().reconciler.stop();
    await create('after-stop');
    assert.ok(await leads(second.healthPort));
    assert.ok(performance.now() - started < 14_000, 'sooner than the lease would have expired');
    await bundle().reconciler.start();
  });

  it('take the lease over when the leader is killed, once its lease has expired', async () => {
    second.process.kill('SIGKILL');
    await second.process.exited();
    await create('after-kill');
    assert.ok(await leads(bundle().reconcilerHealthPort));
  });
});
