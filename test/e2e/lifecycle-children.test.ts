// The objects that an Ingester resource owns, on real servers: what happens to what other clients do to them.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { aManifest } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import {
  aSpec,
  INGESTER,
  type LifecycleCluster,
  type Resource,
  SYSTEM,
  useLifecycle,
} from '../support/use-lifecycle.ts';

const SYNC = `${INGESTER}-sync`;
const QUERY = `${INGESTER}-query`;

interface Object {
  readonly metadata: { readonly uid: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: unknown;
  readonly data?: Readonly<Record<string, string>>;
}

async function notes(cluster: LifecycleCluster, reason: string): Promise<readonly string[]> {
  const events = await cluster.list<{ readonly reason: string; readonly note?: string }>('events');
  return events.filter((event) => event.reason === reason).map(({ note = '' }) => note);
}

/** Waits until the object is as it was, and was another one in between. */
async function isPutBack(cluster: LifecycleCluster, kind: Resource, name: string, patch: object): Promise<void> {
  const { spec, data, metadata } = await cluster.read<Object>(kind, name);
  await cluster.kubectl('patch', kind, name, '--type=merge', '-p', JSON.stringify(patch));
  await eventually(async () => {
    const found = await cluster.read<Object>(kind, name);
    assert.deepEqual({ spec: found.spec, data: found.data }, { spec, data });
    assert.equal(found.metadata.uid, metadata.uid);
  }, 60_000);
}

describe('the children of an Ingester resource', () => {
  const use = useLifecycle();
  before(async () => {
    const cluster = use();
    await cluster.apply({
      ...aSpec,
      components: {
        sync: { disruptionBudget: { maxUnavailable: 1 } },
        query: { certificateSecret: 'ingester-query-tls', autoscaling: { minReplicas: 1, maxReplicas: 2 } },
      },
      networking: { hosts: ['stored.example.com'], ingress: { className: 'nginx' } },
      networkPolicy: {},
      lifecycle: { ...aSpec.lifecycle, init: { disabled: true } },
    });
    await cluster.settled('1.0.0');
  });

  it('that another client edits are put back, of every kind, and an event names the fields', async () => {
    const cluster = use();
    assert.deepEqual(await notes(cluster, 'ChildPutBack'), []);
    await isPutBack(cluster, 'deployments', SYNC, { spec: { replicas: 3 } });
    const [note = ''] = await eventually(async () => {
      const found = await notes(cluster, 'ChildPutBack');
      assert.notEqual(found.length, 0);
      return found;
    });
    assert.equal(note, `changed by another client and put back: Deployment/${SYNC}: spec.replicas`);
    await Promise.all([
      isPutBack(cluster, 'configmaps', `${SYNC}-config`, { data: { 'config.yaml': '{}' } }),
      isPutBack(cluster, 'services', QUERY, { spec: { selector: { 'app.kubernetes.io/component': 'sync' } } }),
      isPutBack(cluster, 'ingresses', QUERY, { spec: { ingressClassName: 'another' } }),
      isPutBack(cluster, 'networkpolicies', QUERY, { spec: { ingress: [{}] } }),
      isPutBack(cluster, 'poddisruptionbudgets', SYNC, { spec: { maxUnavailable: 0 } }),
      isPutBack(cluster, 'horizontalpodautoscalers', QUERY, { spec: { maxReplicas: 9 } }),
    ]);
    assert.equal((await cluster.settled('1.0.0')).ready, '2/2');
  });

  it('keep what other managers add: a container, an annotation, a label', async () => {
    const cluster = use();
    const securityContext = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
    const injected = {
      name: 'injected',
      image: 'michelangelo-ingester:1.0.0',
      command: ['sleep', '100000'],
      securityContext,
    };
    const more = {
      metadata: { annotations: { 'example.com/owner': 'another team' }, labels: { team: 'another' } },
      spec: { template: { spec: { containers: [injected] } } },
    };
    const by = ['--type=strategic', '--field-manager=injector', '-p', JSON.stringify(more)];
    await cluster.kubectl('patch', 'deployment', SYNC, ...by);
    await cluster.kubectl('rollout', 'status', `deployment/${SYNC}`, '--timeout=120s');
    const puts = (await notes(cluster, 'ChildPutBack')).length;
    await cluster.patch({ version: '1.1.0', lifecycle: { migrate: { requiresQuiesce: false } } });
    await cluster.settled('1.1.0');
    const { metadata, spec } = await cluster.read<Object>('deployments', SYNC);
    assert.equal(metadata.annotations?.['example.com/owner'], 'another team');
    const text = JSON.stringify(spec);
    assert.match(text, /"image":"michelangelo-ingester:1\.1\.0"/);
    assert.match(text, /"name":"injected"/);
    assert.equal((await cluster.status()).components?.sync?.image, 'michelangelo-ingester:1.1.0');
    assert.equal((await notes(cluster, 'ChildPutBack')).length, puts);
  });

  it('are scaled, to nothing too, and restarted, without a run of any task', async () => {
    const cluster = use();
    const { lifecycle } = await cluster.settled('1.1.0');
    const scaled = async (replicas: number, ready: string): Promise<void> => {
      await cluster.patch({ components: { sync: { replicas } } });
      await cluster.until(`scaled to ${replicas}`, (status) => status.ready === ready);
    };
    await scaled(2, '3/3');
    await scaled(0, '1/1');
    await scaled(1, '2/2');
    await cluster.settled('1.1.0');
    const before = await cluster.podNames();
    await cluster.patch({ forceReload: 'now' });
    await eventually(async () => {
      const now = await cluster.podNames();
      assert.equal(now.length, 2);
      assert.equal(now.filter((name) => before.includes(name)).length, 0);
    }, 120_000);
    assert.equal((await cluster.settled('1.1.0')).lifecycle?.runs, lifecycle?.runs);
  });

  it('work all at the same time where active is All and the rights are there, and one of them again afterwards', async () => {
    const cluster = use();
    const models = ['all-0', 'all-1', 'all-2'];
    const stored = async (name: string): Promise<void> => {
      const found = await cluster.bundle.database.query('SELECT uid FROM model WHERE name = ?', [name]);
      assert.equal(found.length, 1, name);
    };
    const owners = async (): Promise<ReadonlySet<string>> => {
      const path = '-o=jsonpath={range .items[*]}{.metadata.name}={.spec.holderIdentity}{"\\n"}{end}';
      const leases = (await cluster.kubectl('get', 'leases', path)).split('\n');
      const buckets = leases.filter((line) => line.startsWith('ingester-bucket-'));
      return new Set(buckets.map((line) => line.split('=')[1] ?? '').filter((holder) => holder !== ''));
    };
    await cluster.patch({ components: { sync: { active: 'All', replicas: 2 } } });
    await cluster.until('without the rights', ({ components }) =>
      Boolean(components?.sync?.message?.includes('add the component active-replicas')),
    );
    await cluster.kubectl('apply', '-f', 'config/components/active-replicas/rbac.yaml');
    await cluster.until('with two replicas', (status) => status.ready === '3/3');
    await eventually(async () => assert.equal((await owners()).size, 2), 60_000);
    await cluster.settled('1.1.0');
    for (const name of models) await cluster.create('models', aManifest('Model', SYSTEM, name));
    await eventually(() => Promise.all(models.map(stored)));
    await cluster.patch({ components: { sync: { active: 'One', replicas: 1 } } });
    await cluster.until('with one replica', (status) => status.ready === '2/2');
    await eventually(async () => assert.equal((await owners()).size, 0), 60_000);
    await cluster.create('models', aManifest('Model', SYSTEM, 'one'));
    await eventually(() => stored('one'), 60_000);
  });

  it('stay as another client made them while the resource is suspended, and are put back afterwards', async () => {
    const cluster = use();
    await cluster.patch({ suspend: true });
    await cluster.inPhase('Suspended');
    await cluster.kubectl('scale', 'deployment', SYNC, '--replicas=0');
    await cluster.until('seen', (status) => status.ready === '1/1');
    await cluster.patch({ suspend: false });
    await cluster.until('put back', (status) => status.ready === '2/2');
    assert.equal((await cluster.settled('1.1.0')).ready, '2/2');
  });

  it('go when the resource no longer asks for them', async () => {
    const cluster = use();
    await cluster.patch({
      components: { sync: { disruptionBudget: null }, query: { autoscaling: null } },
      networking: null,
      networkPolicy: null,
    });
    await eventually(async () => {
      for (const kind of ['ingresses', 'networkpolicies', 'poddisruptionbudgets', 'horizontalpodautoscalers'] as const)
        assert.deepEqual(await cluster.names(kind, `michelangelo/ingester=${INGESTER}`), []);
    }, 60_000);
    await cluster.settled('1.1.0');
  });
});
