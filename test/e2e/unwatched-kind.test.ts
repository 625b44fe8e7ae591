// Kinds that the API server does not let the reconciler watch.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { probe } from '../../hack/local/role-process.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { etcdGateway } from '../support/etcd-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { runIngester } from '../support/ingester.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'unreadable';
const [model, project] = [kind('Model'), kind('Project')];
const KEY = `/michelangelo.api/models/${NS}/broken`;
const MINUTE_MS = 60_000;

// At once, because most of it is waiting.
describe('kinds that cannot be watched', { concurrency: 2 }, () => {
  // As after a lost encryption key or a damaged value of etcd. It serves neither lists nor watches of the kind, to any client.
  describe('a kind of which the API server cannot read one object', { concurrency: 1 }, () => {
    const bundle = useBundle();
    let cluster: Cluster;
    let brokenAt: number;
    let starting: Promise<void>;

    const isStored = (of: typeof model, name: string) =>
      eventually(async () => assert.equal((await cluster.rows(of, NS, name)).at(-1)?.['delete_time'], null));
    const isGone = (of: typeof model, name: string) =>
      eventually(async () => {
        assert.equal(await cluster.get(of, NS, name), undefined);
        assert.notEqual((await cluster.row(of, NS, name))['delete_time'], null);
      });
    const readiness = () => probe(bundle().reconcilerHealthPort, '/readyz');

    before(async () => {
      cluster = new Cluster(bundle());
      await cluster.namespace(NS);
      for (const name of ['deleted', 'broken']) await cluster.apply(aManifest('Model', NS, name));
      await cluster.apply(aManifest('Project', NS, 'deleted'));
      for (const name of ['deleted', 'broken']) await isStored(model, name);
      await isStored(project, 'deleted');
      brokenAt = Date.now();
      await etcdGateway(bundle().controlPlane).put([{ key: KEY, value: { apiVersion: 'michelangelo.api/v2' } }]);
      // The API server finds out when it has to read the value again.
      await eventually(async () => {
        const { stderr } = await cluster.tryKubectl('get', 'models.michelangelo.api', '-n', NS);
        assert.match(stderr, /Object 'Kind' is missing/);
      });
      await cluster.apply(aManifest('Model', NS, 'unseen'));
      await cluster.kubectl('delete', 'models.michelangelo.api', '-n', NS, 'deleted', '--wait=false');
    });

    it('is named within three minutes by the status, readiness, the log and the metric of the alert', async () => {
      // The last to say it is the cheapest to ask: each start of the program takes processor time from what is waited for.
      await eventually(
        async () => assert.match((await readiness()).body, /\[-\] progress: watch models has made no progress/),
        3 * MINUTE_MS,
      );
      await eventually(async () => {
        const { stdout, code } = await runIngester(bundle(), ['status']);
        assert.match(stdout, /^reconciler +FAILS +cannot watch Model$/m);
        assert.match(stdout, /^Changes of Model are not seen, or late, since .*Z: GET .*\. See docs\/runbooks\.md/m);
        assert.match(stdout, /Every object that was seen is stored\./);
        assert.equal(code, 1);
      });
      await eventually(() =>
        assert.match(cluster.reconcilerLog(), /"msg":"Lists and watches fail; trying again and again"/),
      );
      const { body } = await probe(bundle().reconcilerHealthPort, '/metrics');
      assert.match(body, /ingester_work_stalled_total\{work="watch models"\} 1/);
      // The API server ends its watches after half a minute, as a rule. Where it leaves them open, they have to fall silent.
      assert.ok(Date.now() - brokenAt < 3.5 * MINUTE_MS, `${Date.now() - brokenAt} ms`);
    });

    it('keeps no object of another kind from being stored or deleted, also after a restart', async () => {
      await cluster.apply(aManifest('Project', NS, 'running'));
      await isStored(project, 'running');
      await bundle().reconciler.crash();
      // Ready only when everything was listed, which the next test waits for.
      starting = bundle().reconciler.start();
      starting.catch(() => undefined);
      await cluster.apply(aManifest('Project', NS, 'restarted'));
      await isStored(project, 'restarted');
      await cluster.kubectl('delete', 'projects.michelangelo.api', '-n', NS, 'deleted', '--wait=false');
      await isGone(project, 'deleted');
    });
    it('is caught up with once that object was removed from etcd, which ends its row and no other', async () => {
      await etcdGateway(bundle().controlPlane).remove(KEY);
      await starting;
      await isStored(model, 'unseen');
      for (const name of ['deleted', 'broken']) await isGone(model, name);
      await eventually(async () => {
        const { stdout, code } = await runIngester(bundle(), ['status']);
        assert.match(stdout, /Every object is stored\./);
        assert.equal(code, 0);
        assert.equal((await readiness()).status, 200);
      });
    });

    it('gets the object back from MySQL', async () => {
      const { code, stderr } = await runIngester(bundle(), ['restore', 'Model', `${NS}/broken`]);
      assert.equal(code, 0, stderr);
      await isStored(model, 'broken');
    });
  });

  describe('kinds that the account of the reconciler may list and not watch', { concurrency: 1 }, () => {
    const bundle = useBundle();
    let cluster: Cluster;

    before(async () => {
      cluster = new Cluster(bundle());
      await cluster.namespace(NS);
      const role = ['clusterrole', 'ingester-reconciler'];
      const { rules } = JSON.parse(await cluster.kubectl('get', ...role, '-o', 'json')) as {
        readonly rules: readonly { readonly apiGroups: readonly string[]; readonly verbs: readonly string[] }[];
      };
      const unwatched = rules.map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => verb !== 'watch') }));
      await cluster.kubectl('patch', ...role, '--type=merge', '-p', JSON.stringify({ rules: unwatched }));
      await bundle().reconciler.restart();
    });

    it('are named by the status with the right that is missing', () =>
      eventually(async () => {
        const { stdout, code } = await runIngester(bundle(), ['status']);
        assert.match(stdout, /^reconciler +FAILS +cannot watch Project, ModelFamily, Model, /m);
        assert.match(
          stdout,
          /^Changes of Model are not seen, or late, .*ingester-reconciler.* cannot watch resource .*models/m,
        );
        assert.equal(code, 1);
      }));

    it('are stored all the same, by lists', async () => {
      await cluster.apply(aManifest('Model', NS, 'listed'));
      await eventually(async () => assert.equal((await cluster.rows(model, NS, 'listed')).length, 1));
    });
  });
});
