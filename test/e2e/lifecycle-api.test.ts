// What the API server makes of an Ingester resource, and the controller of what the API server has: nothing runs the pods.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BackoffSpec, DatabaseSpec, IngesterSpec } from '../../src/api/ingester/spec.ts';
import { valueAt } from '../../src/base/json.ts';
import { childKinds } from '../../src/lifecycle/children/kinds.ts';
import { useLifecycleHarness } from '../support/lifecycle-harness.ts';

const use = useLifecycleHarness();
const noTasks = { migrate: { disabled: true }, init: { disabled: true } };

describe('which data an Ingester resource has', () => {
  const secret = { credentialsSecret: 'ingester-mysql' };
  const asked = (database: Partial<DatabaseSpec>, kinds?: IngesterSpec['kinds']): Partial<IngesterSpec> => {
    return { lifecycle: noTasks, database: { ...secret, ...database }, ...(kinds === undefined ? {} : { kinds }) };
  };

  it('may be corrected until it has run, and is refused afterwards with what to do instead', async () => {
    const harness = await use();
    await harness.ask(asked({ name: 'typo' }));
    await harness.ask(asked({ name: 'right' }, { tableNames: 'lowercase' }));
    await harness.reconcile(6);
    assert.equal((await harness.status()).version, '1.0.0');
    const tables = { tableNames: 'lowercase' } as const;
    const database = /spec\.database\.name: .*cannot be another one after the first success: .*delete the Ingester and/;
    await assert.rejects(harness.ask(asked({ name: 'another' }, tables)), database);
    await assert.rejects(harness.ask(asked({}, tables)), database);
    const names = /spec\.kinds\.tableNames: .*cannot get other names after the first success: .*set it to auto/;
    await assert.rejects(harness.ask(asked({ name: 'right' }, { tableNames: 'snake_case' })), names);
    // Another server may have the same database, and auto takes the tables as they are.
    await harness.ask(asked({ name: 'right', host: 'moved' }, tables));
    await harness.ask(asked({ name: 'right', host: 'moved' }, { tableNames: 'auto' }));
    await harness.ask(asked({ name: 'right', host: 'moved' }));
    await assert.rejects(harness.ask(asked({ name: 'right', host: 'moved' }, tables)), names);
  });
});

describe('the phases of an Ingester resource', () => {
  it('are in its status with time and reason, the newest 20 of them', async () => {
    const harness = await use();
    await harness.ask({ lifecycle: noTasks });
    await harness.reconcile(6);
    const ways = async (): Promise<readonly string[]> => {
      const { transitions = [] } = await harness.status();
      return transitions.map(({ from = '-', to, reason }) => `${from} > ${to}: ${reason}`);
    };
    const installed = ['- > Initializing: ComponentsUpdating', 'Initializing > Running: LifecycleComplete'];
    assert.deepEqual(await ways(), installed);
    for (let turn = 0; turn < 22; turn += 1) {
      await harness.ask({ lifecycle: noTasks, suspend: turn % 2 === 0 });
      await harness.reconcile(1);
    }
    const last = await ways();
    assert.equal(last.length, 20);
    assert.deepEqual(last.slice(-2), ['Running > Suspended: Suspended', 'Suspended > Running: LifecycleComplete']);
  });
});

describe('the waits between attempts of a task', () => {
  it('are filled in where one of them is set, and refused where they are no waits', async () => {
    const harness = await use();
    const ask = (backoff: BackoffSpec): Promise<void> =>
      harness.ask({ lifecycle: { ...noTasks, migrate: { disabled: true, backoff } } });
    await ask({ factor: 3 });
    await harness.reconcile(6);
    const { target } = await harness.status();
    assert.deepEqual(target?.spec.lifecycle?.migrate?.backoff, { duration: '10s', factor: 3, maxDuration: '5m' });
    await ask({ duration: '1s', factor: 1, maxDuration: '24h' });
    const bounds = /migrate\.backoff\.duration: .*a wait is between 1s and 24h/;
    await assert.rejects(ask({ duration: '999ms' }), bounds);
    await assert.rejects(ask({ duration: '24h1ms', maxDuration: '25h' }), bounds);
    await assert.rejects(ask({ duration: '10m' }), /duration must not be above maxDuration, which is 5m unless set/);
    await assert.rejects(ask({ factor: 0 }), /backoff\.factor/);
  });
});

describe('a suspended Ingester resource', () => {
  it('has no pods where that is asked for, whichever client scales them, and all of them again afterwards', async () => {
    const harness = await use();
    const components = {
      sync: { replicas: 2 },
      query: { certificateSecret: 'ingester-tls', autoscaling: { minReplicas: 3, maxReplicas: 5 } },
      audit: {},
    };
    const spec = { lifecycle: noTasks, components };
    const deployments = async (): Promise<readonly unknown[]> =>
      Promise.all(
        ['sync', 'query', 'audit'].map(async (name) => {
          const found = await harness.find(childKinds.deployment, `one-${name}`);
          return valueAt(found, ['spec', 'replicas']);
        }),
      );
    await harness.ask(spec);
    await harness.reconcile(4);
    assert.deepEqual(await deployments(), [2, 3, 1]);
    await harness.ask({ ...spec, suspend: true });
    await harness.reconcile(2);
    assert.deepEqual(await deployments(), [2, 3, 1]);
    await harness.ask({ ...spec, suspend: true, suspendMode: 'ScaleToZero' });
    await harness.reconcile(2);
    assert.deepEqual(await deployments(), [0, 0, 0]);
    const path = `/apis/apps/v1/namespaces/${harness.namespace}/deployments/one-sync/scale`;
    const scale = await harness.api.must({ method: 'GET', path });
    await harness.api.must({ method: 'PUT', path, body: { ...scale, spec: { replicas: 4 } } });
    await harness.reconcile(1);
    assert.deepEqual(await deployments(), [0, 0, 0]);
    assert.match((await harness.condition('Suspended')).message, /; the components are scaled to zero/);
    await harness.ask(spec);
    await harness.reconcile(2);
    assert.deepEqual(await deployments(), [2, 3, 1]);
  });
});
