// Whole reconciles against an API server in memory: whose objects are touched, and what is written.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { KubernetesObject } from '../../../src/api/object.ts';
import { isKubeError, KubeError } from '../../../src/kube/errors.ts';
import { noLifecycle } from '../../../src/lifecycle/plan/target.ts';
import { observe } from '../../../src/lifecycle/reconcile/observe.ts';
import { ingesters, LifecycleReconciler, statusOf } from '../../../src/lifecycle/reconcile/reconciler.ts';
import { FakeApiServer } from '../../support/fake-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const KEY = 'n/one';
const parent = { namespace: 'n', name: 'one', uid: 'u-1' };
const signal = new AbortController().signal;

interface Owner {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

interface Drawn {
  readonly kind: string;
  readonly name: string;
  /** As its label says. */
  readonly component: string;
  readonly owner: Owner;
}

function anObject({ kind, name, component, owner }: Drawn, more: object = {}): KubernetesObject {
  const labels = { 'michelangelo/ingester': 'one', 'app.kubernetes.io/component': component };
  const ownerReferences = [{ ...owner, apiVersion: 'v1', controller: true }];
  const metadata = { namespace: 'n', name, uid: `uid-of-${name}`, resourceVersion: '1', labels, ownerReferences };
  return { apiVersion: 'v1', kind, metadata, ...more };
}

const ours: Owner = { kind: 'Ingester', name: 'one', uid: parent.uid };
const theirs: Owner = { kind: 'Ingester', name: 'one', uid: 'of-another' };

function setUp(lifecycle: object = {}, known: object = {}, recordedVersion?: string) {
  const server = new FakeApiServer();
  const reasons: string[] = [];
  const touched: string[] = [];
  const clock = new FakeClock();
  const reconciler = new LifecycleReconciler({
    client: server,
    clock,
    events: { record: (_, { reason }) => void reasons.push(reason) },
    metrics: { forResource: () => ({ read: () => undefined, gone: () => undefined }), ended: () => undefined },
    record: { migratedVersion: () => Promise.resolve(recordedVersion), writeVersion: () => Promise.resolve() },
    canary: { seen: (key) => void touched.push(key), gone: () => undefined },
    repository: () => Promise.resolve('michelangelo-ingester'),
  });
  const spec = {
    version: '1.0.0',
    database: { credentialsSecret: 'ingester-mysql' },
    components: { sync: {} },
    lifecycle,
  };
  const metadata = { namespace: 'n', name: 'one', uid: parent.uid, resourceVersion: '1', generation: 1 };
  server.of('ingesters').put({
    apiVersion: 'ingester.michelangelo.api/v1',
    kind: 'Ingester',
    metadata,
    spec,
    status: known,
  } as KubernetesObject);
  const reconcile = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done += 1) await reconciler.reconcile(KEY, { signal });
  };
  const status = () => statusOf(server.of('ingesters').object(KEY)!);
  return { server, clock, reasons, touched, reconcile, status };
}

const noTasks = { migrate: { disabled: true }, init: { disabled: true } };
/** It was looked at before: no earlier resource can have left its gate closed. */
const seen = { lifecycle: noLifecycle };

describe('a reconcile', () => {
  it('goes on with the database that ran, where a specification with another one was stored under an older CRD', async () => {
    const ran = {
      version: '1.0.0',
      database: { credentialsSecret: 'ingester-mysql', name: 'before' },
      lifecycle: noTasks,
    };
    const { reconcile, status } = setUp(noTasks, {
      ...seen,
      target: { spec: ran, generation: 0 },
      stable: { spec: ran, generation: 0 },
    });
    await reconcile(3);
    const condition = status().conditions?.find(({ type }) => type === 'SpecValid');
    assert.match(condition?.message ?? '', /spec\.database\.name: the database cannot be another one/);
    assert.deepEqual([condition?.status, status().target?.spec.database.name], ['False', 'before']);
  });

  it('that cannot read the cluster for half a minute says that it does not know, and that it does again', async () => {
    const { server, clock, reconcile, status } = setUp(noTasks, seen);
    await reconcile(4);
    const refused = new KubeError('Forbidden', 'pods is forbidden');
    const fails = async (): Promise<void> => {
      server.of('pods').failures.push({ call: 'list', error: refused });
      await assert.rejects(reconcile(1), (error) => error === refused);
    };
    const conditions = (): readonly string[] => {
      return (status().conditions ?? []).map(({ type, status: value, reason }) => `${type} ${value} ${reason}`);
    };
    const known = conditions();
    await fails();
    await clock.advance(29_000);
    await fails();
    assert.deepEqual(conditions(), known);
    await clock.advance(1000);
    await fails();
    const unread = ['Available', 'LifecycleComplete', 'Progressing', 'Degraded', 'ForeignObjects'];
    assert.deepEqual(conditions(), [
      ...unread.map((type) => `${type} Unknown ObservationFailed`),
      'SpecValid True Valid',
      'Suspended False NotSuspended',
      'SnapshotMissed False NotScheduled',
    ]);
    assert.match(status().conditions?.[0]?.message ?? '', /pods is forbidden/);
    await reconcile(1);
    assert.deepEqual(conditions(), known);
    // The next failure is a first one again.
    await fails();
    assert.deepEqual(conditions(), known);
  });

  it('of a suspended resource scales its components to zero where that is asked for, changes nothing else, and brings them back', async () => {
    const { server, reasons, reconcile, status } = setUp(noTasks, seen);
    const suspend = (suspended: boolean, suspendMode: string): void => {
      const object = server.of('ingesters').object(KEY)!;
      const spec = { ...(object['spec'] as object), suspend: suspended, suspendMode };
      server.of('ingesters').put({ ...object, spec });
    };
    const sync = (): KubernetesObject => server.of('deployments').object('n/one-sync')!;
    const replicas = (): unknown => (sync()['spec'] as { replicas: number }).replicas;
    await reconcile(4);
    suspend(true, 'Pause');
    await reconcile(2);
    assert.equal(replicas(), 1);
    const before = sync();
    suspend(true, 'ScaleToZero');
    await reconcile(1);
    assert.equal(replicas(), 0);
    assert.deepEqual({ ...(sync()['spec'] as object), replicas: 1 }, before['spec']);
    await reconcile(1);
    const { phase, ready, conditions = [] } = status();
    assert.deepEqual([phase, ready], ['Suspended', '0/0']);
    assert.match(
      conditions.find(({ type }) => type === 'Suspended')?.message ?? '',
      /; the components are scaled to zero/,
    );
    suspend(false, 'ScaleToZero');
    await reconcile(2);
    assert.equal(replicas(), 1);
    assert.ok(!reasons.includes('ChildPutBack'), 'no other client did that');
  });

  it('leaves an object alone that has the name of a child and another owner, and reports it', async () => {
    const { server, reasons, reconcile, status } = setUp(noTasks, seen);
    const foreign = server
      .of('deployments')
      .put(anObject({ kind: 'Deployment', name: 'one-sync', component: 'sync', owner: theirs }));
    await reconcile(4);
    assert.deepEqual(server.of('deployments').object('n/one-sync'), foreign);
    assert.ok(reasons.includes('NameTaken'));
    const condition = status().conditions?.find(({ type }) => type === 'ForeignObjects');
    assert.equal(condition?.status, 'True');
    assert.match(condition.message, /Deployment\/one-sync/);
  });

  it('creates children that are missing, and removes children that the resource no longer asks for', async () => {
    const { server, reconcile } = setUp(noTasks, seen);
    server.of('deployments').put(anObject({ kind: 'Deployment', name: 'one-query', component: 'query', owner: ours }));
    await reconcile(4);
    assert.equal(server.of('deployments').object('n/one-query'), undefined);
    assert.notEqual(server.of('deployments').object('n/one-sync'), undefined);
  });

  it('keeps the maintenance page until query is ready again, whichever client takes it away', async () => {
    const attempt = {
      id: '1-1',
      kind: 'Upgrade',
      startedAt: '2026-01-01T00:00:00Z',
      quiesces: true,
      mayHaveMigrated: true,
    };
    const lifecycle = { ...noLifecycle, pipeline: 'Restoring', maintenance: true, attempt };
    const { server, reconcile } = setUp({ ...noTasks, maintenancePage: {} }, { lifecycle });
    const object = server.of('ingesters').object(KEY)!;
    const components = { query: { certificateSecret: 'ingester-tls' } };
    server.of('ingesters').put({ ...object, spec: { ...(object['spec'] as object), components } });
    const page = (): unknown => server.of('deployments').object('n/one-maintenance-page');
    await reconcile(2);
    assert.notEqual(page(), undefined);
    server.of('deployments').remove('n/one-maintenance-page');
    await reconcile(1);
    assert.notEqual(page(), undefined);
  });

  it('writes no status where nothing changed', async () => {
    const { server, reconcile } = setUp(noTasks);
    await reconcile(4);
    const before = server.of('ingesters').object(KEY);
    await reconcile(3);
    assert.deepEqual(server.of('ingesters').object(KEY), before);
  });

  it('neither writes its status over one that another client wrote since it was read, nor acts', async (t) => {
    const { server, reconcile, status } = setUp(noTasks, seen);
    const stored = server.of('ingesters');
    t.mock.method(stored, 'get', async () => {
      const read = stored.object(KEY)!;
      await stored.mergePatch({ resource: ingesters, namespace: 'n', name: 'one' }, { status: { phase: 'Degraded' } });
      return read;
    });
    await assert.rejects(reconcile(1), (error) => isKubeError(error, 'Conflict'));
    assert.equal(status().phase, 'Degraded');
    assert.equal(server.of('deployments').object('n/one-sync'), undefined);
  });

  it('takes a Job that another replica created meanwhile for its own run', async () => {
    const { server, reconcile, status } = setUp({ init: { disabled: true } });
    server.of('jobs').failures.push({ call: 'create', error: new KubeError('Conflict', 'already exists') });
    await reconcile(4);
    const run = status().lifecycle?.steps.migrate?.run;
    assert.equal(run, 'migrate-1');
    assert.equal(server.of('jobs').object('n/one-migrate')?.metadata.annotations?.['michelangelo/run'], run);
  });

  it('opens the gate that a resource of the same name may have left closed, also where no migration does', async () => {
    const { server, reconcile } = setUp(noTasks);
    await reconcile(4);
    assert.match(
      JSON.stringify(server.of('jobs').object('n/one-release')),
      /"gate","open","--holder","lifecycle\/n\/one"/,
    );
    assert.equal(server.of('deployments').object('n/one-sync'), undefined);
  });

  it('begins no upgrade below the version that was migrated for an earlier resource of the same name', async () => {
    const { server, reasons, reconcile, status } = setUp({}, {}, '1.1.0');
    await reconcile(3);
    assert.deepEqual([status().phase, status().target], ['Blocked', undefined]);
    assert.match(
      status().conditions?.find(({ type }) => type === 'LifecycleComplete')?.message ?? '',
      /=1\.1\.0:1\.0\.0/,
    );
    assert.equal(server.of('jobs').object('n/one-migrate'), undefined);
    assert.deepEqual(reasons, ['DowngradeBlocked']);
  });

  for (const [jobRetention, kept] of [
    ['Delete', []],
    ['Retain', ['one-init', 'one-migrate']],
    ['RetainOnFailure', ['one-migrate']],
  ] as const) {
    it(`keeps of ended Jobs ${kept.join(' and ') || 'none'} with jobRetention ${jobRetention}`, async () => {
      const { server, reconcile } = setUp({ ...noTasks, jobRetention });
      const ended = (step: string, type: string): KubernetesObject => {
        const job = anObject(
          { kind: 'Job', name: `one-${step}`, component: step, owner: ours },
          { status: { conditions: [{ type, status: 'True' }] } },
        );
        return { ...job, metadata: { ...job.metadata, annotations: { 'michelangelo/run': `${step}-1` } } };
      };
      for (const job of [ended('init', 'Complete'), ended('migrate', 'Failed')]) server.of('jobs').put(job);
      await reconcile(2);
      const left = ['one-init', 'one-migrate'].filter((name) => server.of('jobs').object(`n/${name}`) !== undefined);
      assert.deepEqual(left, kept);
    });
  }
});

describe('a reconcile of a canary', () => {
  it('creates no child, and records that the canary was reconciled', async () => {
    const { server, touched, reconcile, status } = setUp();
    const object = server.of('ingesters').object(KEY)!;
    const labels = { 'michelangelo/canary': 'true' };
    server.of('ingesters').put({ ...object, metadata: { ...object.metadata, labels } });
    await reconcile(2);
    assert.deepEqual(status(), { observedGeneration: 1, phase: 'Running', ready: '0/0' });
    assert.deepEqual(touched, [KEY, KEY]);
    const made = [server.of('deployments').object('n/one-sync'), server.of('jobs').object('n/one-migrate')];
    assert.deepEqual(made, [undefined, undefined]);
  });
});

describe('the observed state', () => {
  it('takes a component for ready only when its newest specification was seen', async () => {
    const { server } = setUp();
    const drawn = { kind: 'Deployment', name: 'one-sync', component: 'sync', owner: ours };
    const found = anObject(drawn, { spec: { replicas: 1 }, status: { readyReplicas: 1, observedGeneration: 1 } });
    server.of('deployments').put({ ...found, metadata: { ...found.metadata, generation: 2 } });
    const { state } = await observe(server, parent, new Date(0), signal);
    assert.deepEqual([state.components.sync.ready, state.components.sync.generationObserved], [1, false]);
  });

  it('counts the pods of a component by their owner, whatever their labels say', async () => {
    const { server } = setUp();
    const replicas = { kind: 'ReplicaSet', name: 'one-sync-5d8f', uid: 'r' };
    const forged = { kind: 'ReplicaSet', name: 'another-owner-77', uid: 'x' };
    server.of('pods').put(anObject({ kind: 'Pod', name: 'ours', component: 'sync', owner: replicas }));
    server.of('pods').put(anObject({ kind: 'Pod', name: 'forged', component: 'sync', owner: forged }));
    const { state } = await observe(server, parent, new Date(0), signal);
    assert.equal(state.components.sync.pods, 1);
  });
});
