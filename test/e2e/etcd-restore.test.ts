// etcd is put back to an earlier state beneath a reconciler that goes on running.
import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { probe } from '../../hack/local/role-process.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { runIngester } from '../support/ingester.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'restored';
const model = kind('Model');

function aConfigMap(name: string): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: NS, name } };
}

/** Versions that are lost beside those of our kinds, and what that means where lists are told apart by their versions. */
const LOST = [
  [0, 'fewer versions than the API server gives out while it starts'],
  [200, 'more versions than the API server gives out while it starts'],
] as const;

for (const [lost, amount] of LOST)
  describe(`a reconciler whose etcd is restored from a backup, ${amount} ago`, () => {
    const bundle = useBundle();
    let cluster: Cluster;
    let pid: number | undefined;

    /** With all servers stopped, as the documentation of etcd has it. */
    const whileStopped = async (work: (data: string, backup: string) => void): Promise<void> => {
      const { apiServer, etcd, directory } = bundle().controlPlane;
      await apiServer.stop();
      await etcd.stop();
      work(join(directory, 'etcd'), join(directory, 'etcd-backup'));
      await etcd.start();
      await apiServer.start();
    };
    const apply = (name: string, algorithm: string) =>
      cluster.apply(aManifest('Model', NS, name, { spec: { algorithm } }));
    const isStored = (name: string, algorithm: string) =>
      eventually(async () => {
        const object = await cluster.get(model, NS, name);
        const row = await cluster.row(model, NS, name);
        assert.deepEqual(
          [row['algorithm'], String(row['res_version']), row['delete_time']],
          [algorithm, object?.metadata.resourceVersion, null],
        );
      });

    before(async () => {
      cluster = new Cluster(bundle());
      await cluster.namespace(NS);
      for (const name of ['kept', 'changed', 'deleted']) await apply(name, 'before');
      for (const name of ['kept', 'changed', 'deleted']) await isStored(name, 'before');
      await whileStopped((data, backup) => cpSync(data, backup, { recursive: true }));
      for (const name of ['changed', 'created']) await apply(name, 'after');
      await isStored('changed', 'after');
      await isStored('created', 'after');
      await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'deleted');
      const items = Array.from({ length: lost }, (_, index) => aConfigMap(`other-${index}`));
      if (lost > 0) await cluster.apply({ apiVersion: 'v1', kind: 'List', items }, '--server-side');
      await apply('changed', 'last');
      await isStored('changed', 'last');
      pid = bundle().reconciler.pid;
      await whileStopped((data, backup) => {
        rmSync(data, { recursive: true });
        cpSync(backup, data, { recursive: true });
      });
    });

    it('notices the restore, and says so in the log, a metric and the status', async () => {
      await eventually(async () => {
        const { body } = await probe(bundle().reconcilerHealthPort, '/metrics');
        assert.match(body, /ingester_version_went_back_total\{kind="Model"\} 1/);
      });
      assert.match(cluster.reconcilerLog(), /went back to an earlier version/);
      await eventually(async () => {
        const { stdout } = await runIngester(bundle(), ['status']);
        assert.match(stdout, /The API server went back to an earlier version at .*Model from \d+ to \d+/);
      });
    });

    it('stores what happens after the restore', async () => {
      await apply('new', 'new');
      await isStored('new', 'new');
    });

    it('ends the row of an object that the restored cluster does not have', () =>
      eventually(async () => assert.notEqual((await cluster.row(model, NS, 'created'))['delete_time'], null)));

    it('follows the restored objects again once the audit has set MySQL back, without a restart', async () => {
      await runIngester(bundle(), ['audit', '--kind', 'Model', '--repair-restored']);
      for (const name of ['changed', 'deleted']) await isStored(name, 'before');
      for (const name of ['kept', 'changed', 'deleted']) await apply(name, 'again');
      for (const name of ['kept', 'changed', 'deleted']) await isStored(name, 'again');
      assert.equal(bundle().reconciler.pid, pid);
    });
  });
