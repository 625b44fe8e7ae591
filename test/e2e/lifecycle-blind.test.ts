// A lifecycle controller that cannot do its work or is told not to, on real servers: what it says, and that it comes back.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { IngesterStatus } from '../../src/api/ingester/status.ts';
import { CANARY_BEAT_ANNOTATION, CANARY_LABEL } from '../../src/api/names.ts';
import { eventually } from '../support/eventually.ts';
import { anIngester, aSpec, INGESTER, type LifecycleCluster, SYSTEM, useLifecycle } from '../support/use-lifecycle.ts';

const MINUTES = 60_000;

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

interface Pod {
  readonly status: { readonly containerStatuses?: readonly { readonly restartCount: number }[] };
}

/** Takes this right from the controller; what it returns gives it back. */
async function without(cluster: LifecycleCluster, verb: string, resource: string): Promise<() => Promise<void>> {
  const list = JSON.parse(await cluster.kubectl('get', 'roles', '-o', 'json')) as {
    items: { metadata: { name: string }; rules: Rule[] }[];
  };
  const role = list.items.find(({ rules }) => rules.some(({ resources }) => resources.includes('ingesters/status')));
  assert.ok(role !== undefined, 'the controller has a Role');
  const write = async (rules: readonly Rule[]): Promise<void> => {
    await cluster.kubectl('patch', 'role', role.metadata.name, '--type=merge', '-p', JSON.stringify({ rules }));
  };
  const less = role.rules
    .map((rule) => {
      const { verbs, resources } = rule;
      return resources.includes(resource) ? { ...rule, verbs: verbs.filter((each) => each !== verb) } : rule;
    })
    .filter(({ verbs }) => verbs.length > 0);
  assert.notDeepEqual(less, role.rules);
  await write(less);
  return () => write(role.rules);
}

/** Of the controller's pod: how often its container was started again. */
async function restarts(cluster: LifecycleCluster): Promise<number> {
  const [pod, ...more] = await cluster.list<Pod>('pods', 'app.kubernetes.io/component=lifecycle');
  assert.deepEqual(more, []);
  const [container] = pod?.status.containerStatuses ?? [];
  assert.ok(container !== undefined, 'its container was started');
  return container.restartCount;
}

async function beat(cluster: LifecycleCluster): Promise<string> {
  const { metadata } = await cluster.read('ingesters', 'canary');
  return metadata.annotations?.[CANARY_BEAT_ANNOTATION] ?? '';
}

function statuses({ conditions = [] }: IngesterStatus): Readonly<Record<string, string>> {
  return Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]));
}

describe('a lifecycle controller', () => {
  const use = useLifecycle();
  before(async () => {
    const cluster = use();
    await cluster.apply({ ...aSpec, lifecycle: { ...aSpec.lifecycle, init: { disabled: true } } });
    await cluster.settled('1.0.0');
  });

  it('that may not read pods any more says that it does not know, and says again what it knows', async () => {
    const cluster = use();
    const known = statuses(await cluster.status());
    const giveBack = await without(cluster, 'list', 'pods');
    const blind = await cluster.until(
      'blind',
      (status) => statuses(status)['Available'] === 'Unknown ObservationFailed',
    );
    assert.equal(statuses(blind)['LifecycleComplete'], 'Unknown ObservationFailed');
    assert.equal(statuses(blind)['SpecValid'], 'True Valid');
    assert.match(blind.conditions?.find(({ type }) => type === 'Available')?.message ?? '', /pods/);
    assert.equal(blind.phase, 'Running');
    await giveBack();
    const status = await cluster.until('seeing', (each) => statuses(each)['Available'] === 'True Serving');
    assert.deepEqual(statuses(status), known);
  });

  it('of a suspended resource runs no pods where that is asked for; what is deleted waits for their return', async () => {
    const cluster = use();
    const metadata = { namespace: SYSTEM, name: 'waits' };
    const model = { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata, spec: { algorithm: 'xgboost' } };
    await cluster.patch({ suspend: true, suspendMode: 'ScaleToZero' });
    await eventually(async () => assert.deepEqual(await cluster.podNames(), []), 2 * MINUTES);
    const suspended = await cluster.until('suspended', ({ phase, ready }) => phase === 'Suspended' && ready === '0/0');
    assert.equal(statuses(suspended)['Available'], 'False NotServing');
    // The webhook is there: what is created now is guarded.
    await cluster.bundle.controlPlane.kubectlRun(['create', '-f', '-'], { input: JSON.stringify(model) });
    await cluster.kubectl('delete', 'model', 'waits', '--wait=false');
    const finalizers = await cluster.kubectl('get', 'model', 'waits', '-o', 'jsonpath={.metadata.finalizers}');
    assert.match(finalizers, /michelangelo\/Ingester/);
    await cluster.patch({ suspend: false, suspendMode: null });
    assert.equal((await cluster.settled('1.0.0')).ready, '2/2');
    await eventually(async () => {
      assert.ok(await cluster.isGone('models', 'waits'));
      const rows = await cluster.bundle.database.query("SELECT row_state FROM model WHERE name = 'waits'");
      assert.deepEqual(rows, [{ row_state: 2 }]);
    }, 2 * MINUTES);
    assert.ok(!(await cluster.reasons()).includes('ChildPutBack'), 'no other client scaled them');
  });

  it('whose canary is no longer reconciled is started anew, once, and works as soon as it can', async () => {
    const cluster = use();
    const labelled = { namespace: SYSTEM, name: 'canary', labels: { [CANARY_LABEL]: 'true' } };
    const canary = { ...anIngester({ version: '1.0.0', database: { credentialsSecret: 'none' } }), metadata: labelled };
    await cluster.bundle.controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(canary) });
    await eventually(async () => assert.notEqual(await beat(cluster), ''), MINUTES);
    const before = await restarts(cluster);
    // Its updates arrive, and no reconcile gets to see them.
    const giveBack = await without(cluster, 'get', 'ingesters');
    await eventually(async () => assert.equal(await restarts(cluster), before + 1), 4 * MINUTES);
    const last = await beat(cluster);
    await giveBack();
    await eventually(async () => assert.notEqual(await beat(cluster), last), MINUTES);
    await cluster.patch({ forceReload: 'now' });
    await cluster.until('looked at', ({ target }) => target?.spec.forceReload === 'now');
    await cluster.settled('1.0.0');
    assert.equal(await restarts(cluster), before + 1);
    const { stdout } = await cluster.tryKubectl('get', 'ingester', INGESTER, '-o', 'jsonpath={.status.phase}');
    assert.equal(stdout, 'Running');
  });
});
