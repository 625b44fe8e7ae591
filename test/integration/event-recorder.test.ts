// Events as the real API server takes them.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../hack/local/control-plane.ts';
import type { KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/logger.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { configMaps, events } from '../../src/kube/resources.ts';
import { EventRecorder } from '../../src/runtime/event-recorder.ts';
import type { ObjectEvent } from '../../src/runtime/event-series.ts';
import { eventually } from '../support/eventually.ts';

const evicted: ObjectEvent = { type: 'Normal', reason: 'Evicted', action: 'Evict', note: 'moved to MySQL' };

describe('the event recorder on the real API server', () => {
  let controlPlane: ControlPlane;
  let client: HttpKubeClient;
  let recorder: EventRecorder;
  let finished: Promise<void>;
  const stop = new AbortController();
  before(async () => {
    controlPlane = await startControlPlane({ progress: () => undefined, minimal: true });
    const transport = new PooledTransport({ kubeconfig: controlPlane.kubeconfig, context: '', clock: systemClock });
    client = new HttpKubeClient(transport);
    recorder = new EventRecorder({
      client,
      reporter: { controller: 'michelangelo.api/ingester', instance: 'a-pod' },
      clock: systemClock,
      logger: createLogger('error', 'test'),
    });
    finished = recorder.run(stop.signal);
  });
  after(async () => {
    stop.abort();
    await finished;
    await client.close();
    await controlPlane.stop();
  });

  const create = (name: string): Promise<KubernetesObject> =>
    client.create(configMaps, 'default', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
  const eventsAbout = async (name: string, namespace = 'default'): Promise<readonly KubernetesObject[]> => {
    const page = await client.list(events, { namespace, limit: 500 }, new AbortController().signal);
    return page.items
      .map((item) => item.parse())
      .filter((event) => (event['regarding'] as { name: string }).name === name);
  };

  it('writes an Event that the API server accepts and kubectl shows beside the object', async () => {
    const object = await create('shown');
    recorder.record(object, evicted);
    await eventually(async () => assert.equal((await eventsAbout('shown')).length, 1));
    const { stdout } = await controlPlane.kubectlRun(['describe', 'configmap', 'shown']);
    assert.match(stdout, /Normal\s+Evicted\s.*michelangelo\.api\/ingester.*moved to MySQL/);
  });

  it('counts repeats in one Event', async () => {
    const object = await create('repeated');
    recorder.record(object, evicted);
    await eventually(async () => assert.equal((await eventsAbout('repeated')).length, 1));
    recorder.record(object, evicted);
    await eventually(async () => {
      const [event] = await eventsAbout('repeated');
      assert.equal((event?.['series'] as { count: number } | undefined)?.count, 2);
    });
    assert.equal((await eventsAbout('repeated')).length, 1);
  });

  it('writes Events that are accepted for the longest names and notes, for repeats at once, and without a namespace', async () => {
    const name = 'n'.repeat(253);
    const object = await create(name);
    recorder.record(object, { ...evicted, note: 'ü'.repeat(5000), reason: 'R'.repeat(300), action: 'A'.repeat(300) });
    for (let repeat = 0; repeat < 5; repeat += 1) recorder.record(await create(`burst-${repeat}`), evicted);
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { ...object.metadata, namespace: '', name: 'a-node' } };
    recorder.record(node, evicted);
    await eventually(async () => assert.equal((await eventsAbout(name)).length, 1));
    await eventually(async () => assert.equal((await eventsAbout('a-node')).length, 1));
    assert.equal(recorder.dropped, 0);
  });

  it('drops what the API server refuses, and goes on', async () => {
    const object = await create('refused');
    const elsewhere = { ...object, metadata: { ...object.metadata, namespace: 'no-such-namespace' } };
    recorder.record(elsewhere, evicted);
    recorder.record(object, evicted);
    await eventually(async () => assert.equal((await eventsAbout('refused')).length, 1));
    assert.equal(recorder.dropped, 1);
  });
});
