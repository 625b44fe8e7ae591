// An API server without a watch cache sends no bookmarks, so a kind of which nothing changes is silent.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import { objectKey } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { Watchdog } from '../../src/base/watchdog.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { Informer } from '../../src/kube/informer.ts';
import { configMaps } from '../../src/kube/resources.ts';
import { IdentityStore } from '../../src/kube/store.ts';
import { eventually } from '../support/eventually.ts';
import { RecordingLogger } from '../support/recording-logger.ts';

const NS = 'default';
const SILENCE_MS = 8000;

describe('a kind that is idle, on an API server without a watch cache', () => {
  const stop = new AbortController();
  let controlPlane: ControlPlane;
  let client: HttpKubeClient;
  before(async () => {
    controlPlane = await startControlPlane({ minimal: true, watchCache: 'off' });
    const { kubeconfig } = controlPlane;
    client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
  });
  after(async () => {
    stop.abort();
    await client.close();
    await controlPlane.stop();
  });

  it('is watched on, is not said to be unwatched, and its next change is seen', async () => {
    const logger = new RecordingLogger();
    const stalled: string[] = [];
    const watchdog = new Watchdog({ clock: systemClock, logger, onStalled: (work) => stalled.push(work) });
    let lists = 0;
    const counted: Pick<KubeClient, 'list' | 'newest' | 'watch'> = {
      list: (...call) => {
        if (call[1].continueToken === undefined) lists += 1;
        return client.list(...call);
      },
      newest: (...call) => client.newest(...call),
      watch: (...call) => client.watch(...call),
    };
    const store = new IdentityStore();
    const informer = new Informer({
      ...{ client: counted, resource: configMaps, store, clock: systemClock, logger, watchdog, silenceMs: SILENCE_MS },
      selection: { namespace: NS },
    });
    const running = Promise.all([watchdog.run(stop.signal), informer.run(stop.signal)]);
    await eventually(() => assert.ok(informer.synced));
    await delay(3 * SILENCE_MS);
    assert.deepEqual(stalled, []);
    assert.equal(informer.interruption, undefined);
    assert.equal(lists, 1);
    const metadata = { namespace: NS, name: 'seen' };
    const created = await client.create(configMaps, NS, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
    await eventually(() => assert.ok(store.has(objectKey(created))));
    stop.abort();
    await running;
  });
});
