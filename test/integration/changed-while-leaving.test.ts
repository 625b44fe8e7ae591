// The API server looks whether a patch takes the last finalizer off, and then deletes the object whatever has become of it
// meanwhile: a change in between is answered with success, and no `test` of the patch prevents it. Only the watch tells it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { FINALIZER } from '../../src/api/names.ts';
import { objectKey } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { isKubeError } from '../../src/kube/errors.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { Informer } from '../../src/kube/informer.ts';
import { IdentityStore } from '../../src/kube/store.ts';
import { removeFinalizerFrom } from '../../src/sync/finalizer.ts';
import { MissedDeletes } from '../../src/sync/startup/missed-deletes.ts';
import { aManifest } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { RecordingLogger } from '../support/recording-logger.ts';

const NS = 'default';
const OBJECTS = 600;
const TOGETHER = 6;
const MOST_APART_MS = 2;
const resource = { group: 'michelangelo.api', version: 'v2', plural: 'models' };

/** Whether the API server did it; no when it is too late for it. */
function answered(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    (error: unknown) => {
      if (isKubeError(error, 'NotFound') || isKubeError(error, 'Conflict')) return false;
      throw error;
    },
  );
}

describe('an object that a client changes while its finalizer comes off', () => {
  const stop = new AbortController();
  let controlPlane: ControlPlane;
  let client: HttpKubeClient;
  let running: Promise<void> = Promise.resolve();
  before(async () => {
    controlPlane = await startControlPlane();
    await controlPlane.kubectlRun(['apply', '--server-side', '-k', join(import.meta.dirname, '../../crds')]);
    const { kubeconfig } = controlPlane;
    client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
    await eventually(() => client.list(resource, { limit: 1 }, stop.signal));
  });
  after(async () => {
    stop.abort();
    await running;
    await client.close();
    await controlPlane.stop();
  });

  it('is noted with the state that it left with, where that is later than the final state that was stored', async () => {
    const left = new MissedDeletes();
    const informer = new Informer({
      ...{ client, resource, store: new IdentityStore(), clock: systemClock, logger: new RecordingLogger() },
    });
    informer.addHandler(left);
    left.begin();
    running = informer.run(stop.signal);
    const lost: string[] = [];
    const names = Array.from({ length: OBJECTS }, (_, index) => `leaving-${index}`);
    const leave = async (name: string): Promise<void> => {
      const ref = { resource, namespace: NS, name };
      await client.create(
        resource,
        NS,
        aManifest('Model', NS, name, { metadata: { namespace: NS, name, finalizers: [FINALIZER] } }),
      );
      await client.delete(ref, {});
      const object = await client.get(ref);
      left.noteFinished(object.metadata);
      const change = { metadata: { uid: object.metadata.uid }, spec: { algorithm: 'last' } };
      const changed = answered(client.mergePatch(ref, change));
      await delay(MOST_APART_MS * Math.random());
      const released = answered(removeFinalizerFrom({ client, resource }, object));
      const [isChanged, isReleased] = await Promise.all([changed, released]);
      if (isChanged && isReleased) lost.push(objectKey(object));
    };
    await Promise.all(
      Array.from({ length: TOGETHER }, async () => {
        for (let name = names.pop(); name !== undefined; name = names.pop()) await leave(name);
      }),
    );
    assert.ok(lost.length > 0, 'the API server let a change through and deleted the object all the same');
    await eventually(() => assert.ok(lost.every((key) => left.has(key))));
    for (const key of lost) {
      const states = left.take(key).map(({ last }) => last?.parse()['spec']);
      assert.deepEqual(states, [{ algorithm: 'last' }], key);
    }
  });
});
