// What the controller's own code, its clock and the definition of its kind can do to it.
import assert from 'node:assert/strict';
import { CodedError } from '../../../src/base/errors.ts';
import type { HttpKubeClient } from '../../../src/kube/http/http-client.ts';
import { configMaps } from '../../../src/kube/resources.ts';
import { type EventHandler, type EventQueue, enqueueForObject } from '../../../src/runtime/handler.ts';
import { done, type Reconcile, type ReconcileContext } from '../../../src/runtime/reconcile.ts';
import { eventually } from '../eventually.ts';
import { jumpingClock } from '../jumping-clock.ts';
import { keyOf, scenario } from './watched.ts';
import { NS, type World } from './world.ts';

const models = { group: 'michelangelo.api', version: 'v2', plural: 'models' };
const DAY_MS = 24 * 60 * 60 * 1000;
const FAILURES = 10;

export function controllerFaults(world: () => World): void {
  const thrower = throwingHandler();
  scenario('a handler that throws', world, { handler: thrower.handler }, async (_watched, { write }) => {
    thrower.startThrowing();
    await write();
    await eventually(() => assert.ok(thrower.thrown() > 0));
  });

  const hanging = hangingReconcile(keyOf('hangs'));
  scenario(
    'a reconcile that hangs, whose key stays locked until it returns',
    world,
    { work: hanging.work, reconcileTimeoutMs: 200 },
    async (watched, { use, write }) => {
      const change = (value: string): Promise<unknown> => use((client) => client.apply(...configMap('hangs', value)));
      await change('first');
      const context = await eventually(() => {
        assert.ok(hanging.context()?.signal.aborted);
        return hanging.context();
      });
      assert.equal((context?.signal.reason as { code?: string }).code, 'RECONCILE_TIMEOUT');
      await Promise.all([change('second'), write()]);
      await watched.logs('Reconcile was asked to stop and still runs; its key stays locked');
      assert.equal(hanging.runs(), 1);
      hanging.release();
      await eventually(() => assert.ok(hanging.runs() >= 2));
      assert.equal(hanging.mostAtOnce(), 1);
    },
  );

  scenario('a definition that is deleted and created again', world, { resource: models }, async (watched, one) => {
    const create = (name: string): Promise<unknown> =>
      one.use((client) =>
        client.create(models, NS, { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { name } }),
      );
    await create('before');
    await watched.settles();
    await one.controlPlane.kubectlRun(['delete', 'crd', 'models.michelangelo.api']);
    await eventually(() => assert.ok(!watched.informer.installed));
    await one.controlPlane.kubectlRun(['apply', '-k', 'crds']);
    await eventually(() => create('after'));
    await eventually(() => assert.ok(watched.store.has(keyOf('after'))));
    assert.ok(!watched.store.has(keyOf('before')));
  });

  const jumping = jumpingClock();
  scenario('clocks that jump forward and backward', world, { clock: jumping.clock }, async (watched, one) => {
    const before = one.proxy.requests.length;
    for (const jump of [
      () => jumping.wall(DAY_MS),
      () => jumping.wall(-3 * DAY_MS),
      () => jumping.monotonic(DAY_MS),
      () => jumping.wall(2 * DAY_MS),
    ]) {
      jump();
      await one.write();
      await watched.settles();
      one.proxy.cut();
    }
    await eventually(() => assert.ok(one.proxy.requests.length >= before + 4));
    assert.ok(one.proxy.requests.slice(before).every(({ kind }) => kind !== 'list'));
  });
}

type ConfigMapApply = Parameters<HttpKubeClient['apply']>;

function configMap(name: string, value: string): ConfigMapApply {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: NS }, data: { value } };
  return [{ resource: configMaps, namespace: NS, name }, object, { fieldManager: 'test', force: true }];
}

interface Thrower {
  readonly handler: EventHandler;
  readonly thrown: () => number;
  startThrowing(): void;
}

/** Every second call fails, for a while. */
function throwingHandler(): Thrower {
  const inner = enqueueForObject();
  let throwing = false;
  let calls = 0;
  let thrown = 0;
  const fail = (): void => {
    calls += 1;
    if (!throwing || calls % 2 === 0) return;
    thrown += 1;
    if (thrown === FAILURES) throwing = false;
    throw new CodedError('TEST_FAILURE', 'a mistake in the handler');
  };
  const after = <E>(call: (event: E, queue: EventQueue) => void): ((event: E, queue: EventQueue) => void) => {
    return (event, queue) => {
      fail();
      call(event, queue);
    };
  };
  const handler: EventHandler = {
    create: after((event, queue) => inner.create(event, queue)),
    update: after((event, queue) => inner.update(event, queue)),
    delete: after((event, queue) => inner.delete(event, queue)),
  };
  return { handler, thrown: () => thrown, startThrowing: () => (throwing = true) };
}

interface Hanging {
  readonly work: Reconcile;
  /** Of the run that hangs. */
  readonly context: () => ReconcileContext | undefined;
  readonly runs: () => number;
  readonly mostAtOnce: () => number;
  release(): void;
}

/** The first run of the key goes on until it is released, whatever its signal says. */
function hangingReconcile(hangingKey: string): Hanging {
  const released = Promise.withResolvers<undefined>();
  let first: ReconcileContext | undefined;
  let [runs, now, most] = [0, 0, 0];
  const work: Reconcile = async (key, context) => {
    if (key !== hangingKey) return done;
    first ??= context;
    runs += 1;
    now += 1;
    most = Math.max(most, now);
    context.signal.addEventListener('abort', () => undefined, { once: true });
    await released.promise;
    now -= 1;
    return done;
  };
  return {
    work,
    context: () => first,
    runs: () => runs,
    mostAtOnce: () => most,
    release: () => released.resolve(undefined),
  };
}
