// Which alerts fire when parts of a running bundle die: what its roles serve then, read by Prometheus' own program.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { findGoProgram, goPrograms } from '../../hack/local/go-program.ts';
import { probe } from '../../hack/local/role-process.ts';
import { Promtool } from '../support/alerts/promtool.ts';
import { Recording } from '../support/alerts/recording.ts';
import { alerts } from '../support/alerts/rules.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'alerts';
const Model = kind('Model');
const preparation = { env: process.env, progress: () => undefined, signal: undefined };
const program = await findGoProgram(goPrograms.promtool, preparation);

describe('the alerts under faults', { skip: program === undefined && 'needs Go on PATH to build promtool' }, () => {
  const bundle = useBundle();
  const promtool = new Promtool(program ?? '');
  let cluster: Cluster;
  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    await cluster.create(aManifest('Model', NS, 'kept'));
    await eventually(() => cluster.row(Model, NS, 'kept'));
  });
  after(() => promtool.remove());

  const recording = () =>
    new Recording({ reconciler: bundle().reconcilerHealthPort, webhook: bundle().webhookHealthPort });
  const serves = (pattern: RegExp) =>
    eventually(async () => assert.match((await probe(bundle().reconcilerHealthPort, '/metrics')).body, pattern));
  const holds = async (recorded: Recording, name: string): Promise<void> => {
    const { code, stdout, stderr } = await promtool.testRules(alerts, [recorded.test(name)]);
    assert.equal(code, 0, stdout + stderr);
  };

  it('say that MySQL is down and objects fail while it is, and nothing before and after', async () => {
    const recorded = recording();
    await recorded.add();
    await bundle().server.kill();
    await cluster.create(aManifest('Model', NS, 'waits'));
    await serves(/^ingester_storage_available 0$/m);
    await serves(/^ingester_failing_objects [1-9]/m);
    await recorded.add('IngesterFailingObjects', 'IngesterStorageDown');
    await bundle().server.start();
    await eventually(() => cluster.row(Model, NS, 'waits'));
    await serves(/^ingester_failing_objects 0$/m);
    await serves(/^ingester_storage_available 1$/m);
    await recorded.add();
    await holds(recorded, 'MySQL');
  });

  it('say that no webhook answers while it is down, and nothing before and after', async () => {
    const recorded = recording();
    await recorded.add();
    await bundle().webhook.stop();
    await recorded.add('IngesterWebhookDown');
    await bundle().webhook.start();
    await recorded.add();
    await holds(recorded, 'webhook');
  });

  it('say that no reconciler works while it is down, and nothing before and after', async () => {
    const recorded = recording();
    await recorded.add();
    bundle().reconciler.kill('SIGKILL');
    await bundle().reconciler.exited();
    await recorded.add('IngesterNoLeader');
    await bundle().reconciler.start();
    await recorded.add();
    await holds(recorded, 'reconciler');
  });
});
