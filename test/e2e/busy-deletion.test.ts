// A user deletes an object that a controller changes many times a second, and goes on changing.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { KubernetesObject } from '../../src/api/object.ts';
import { systemClock } from '../../src/base/clock.ts';
import { isKubeError } from '../../src/kube/errors.ts';
import { HttpKubeClient } from '../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../src/kube/http/transport.ts';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'busy';
const model = kind('Model');
const resource = { group: 'michelangelo.api', version: 'v2', plural: model.plural };
const CLIENTS = 3;
const LONGEST_MS = 90_000;

interface Heartbeat {
  /** What the API server has accepted last. */
  readonly last: () => string;
  readonly count: () => number;
  /** Resolves once the object is gone, or the time is over. */
  readonly ended: Promise<unknown>;
}

describe('an object that is changed all the time', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  let client: HttpKubeClient;

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    const { kubeconfig } = bundle().controlPlane;
    client = new HttpKubeClient(new PooledTransport({ kubeconfig, context: '', clock: systemClock }));
  });

  /** Three clients, each of which waits for its answer, so that a change comes every `everyMs` where the server keeps up. */
  const beat = (name: string, everyMs: number): Heartbeat => {
    const ref = { resource, namespace: NS, name };
    const startedMs = performance.now();
    let [newest, last, count, gone] = [0, '', 0, false];
    const one = async (algorithm: string): Promise<void> => {
      try {
        const answer: KubernetesObject = await client.mergePatch(ref, { spec: { algorithm } });
        const version = Number(answer.metadata.resourceVersion);
        count += 1;
        if (version > newest) [newest, last] = [version, algorithm];
      } catch (error) {
        gone ||= isKubeError(error, 'NotFound');
        // Three at once are in each other's way now and then.
        if (!gone && !isKubeError(error, 'Conflict')) throw error;
      }
    };
    const run = async (changer: number): Promise<void> => {
      for (let at = 0; !gone && performance.now() - startedMs < LONGEST_MS; at += 1) {
        await one(`beat-${changer}-${at}`);
        await delay(everyMs * CLIENTS);
      }
    };
    const ended = Promise.all(Array.from({ length: CLIENTS }, (_, changer) => run(changer)));
    return { last: () => last, count: () => count, ended };
  };

  for (const everyMs of [33, 8])
    it(`leaves while it is changed every ${everyMs} ms, and its row has the last change that was accepted`, async (t) => {
      const name = `every-${everyMs}`;
      await cluster.create(aManifest('Model', NS, name, { spec: { algorithm: 'first' } }));
      await eventually(async () => assert.equal((await cluster.rows(model, NS, name)).length, 1));
      const beats = beat(name, everyMs);
      await delay(1000);
      const started = performance.now();
      await client.delete({ resource, namespace: NS, name }, {});
      await beats.ended;
      const tookMs = performance.now() - started;
      t.diagnostic(`${beats.count()} changes, gone after ${Math.round(tookMs)} ms`);
      assert.ok(tookMs < LONGEST_MS - 5000, 'it left while it was changed');
      await eventually(async () => {
        const row = await cluster.row(model, NS, name);
        assert.deepEqual([row['algorithm'], row['delete_time'] !== null], [beats.last(), true]);
      });
    });

  it('is deleted by annotation while it is changed every 33 ms', async (t) => {
    const name = 'marked';
    await cluster.create(aManifest('Model', NS, name, { spec: { algorithm: 'first' } }));
    await eventually(async () => assert.equal((await cluster.rows(model, NS, name)).length, 1));
    const beats = beat(name, 33);
    const started = performance.now();
    await cluster.patch(model, NS, name, { metadata: { annotations: { 'michelangelo/Deleting': 'true' } } });
    await beats.ended;
    const tookMs = performance.now() - started;
    t.diagnostic(`${beats.count()} changes, gone after ${Math.round(tookMs)} ms`);
    assert.ok(tookMs < LONGEST_MS - 5000, 'it left while it was changed');
    await eventually(async () => assert.equal((await cluster.row(model, NS, name))['algorithm'], beats.last()));
  });
});
