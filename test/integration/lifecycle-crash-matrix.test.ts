// The lifecycle controller killed before and after every write of every change, on a real API server: every status, every
// child that is created, applied or deleted, every Job. What Kubernetes' controllers and nodes do is done by the test, one
// thing after each reconcile. A change takes seconds there, so each is disturbed at several writes, so many apart, from each
// offset; one at a time is in test/property/lifecycle-crash-matrix.test.ts. `npm run matrix` runs every cell, `npm test` a part.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps, namespaces } from '../../src/kube/resources.ts';
import { isWriting } from '../support/crash-matrix/table.ts';
import { happenings, Scene } from '../support/lifecycle-crash/cells.ts';
import { type LifecycleFlow, lifecycleFlows } from '../support/lifecycle-crash/flows.ts';
import { again, oneByOne, runFlow } from '../support/lifecycle-crash/matrix.ts';
import { World } from '../support/lifecycle-crash/world.ts';
import { type LifecycleHarness, useLifecycleHarness } from '../support/lifecycle-harness.ts';

/** So many writes are between two that go wrong. */
const EVERY = 6;
/** Outside of `npm run matrix`, one offset of so many. */
const PART = 6;
/** Of those after which the change is taken back, one of so many, and in `npm run matrix` only. */
const TAKEN_BACK = 8;

describe('a lifecycle controller that is killed, or loses an answer,', { concurrency: true }, () => {
  const use = useLifecycleHarness();

  let harness: Promise<LifecycleHarness> | undefined;
  let scenes = 0;
  async function aScene(flow: LifecycleFlow): Promise<Scene> {
    harness ??= use();
    const { client } = await harness;
    scenes += 1;
    const namespace = `scene-${scenes}`;
    await client.create(namespaces, '', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
    await client.create({ group: '', version: 'v1', plural: 'serviceaccounts' }, namespace, account);
    const record = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ingester-admission-record' } };
    await client.create(configMaps, namespace, record);
    return new Scene(new World(client, namespace), flow);
  }

  for (const flow of lifecycleFlows) {
    it(`at any write of ${flow.name} ends as without that`, async (t) => {
      const started = Date.now();
      const takenBack = oneByOne(
        TAKEN_BACK,
        happenings.filter((each) => each.takenBack),
      );
      const { runs, undisturbed, cells, wrong } = await runFlow({
        flow,
        aScene,
        cells: (writes) => (isWriting ? [...again(EVERY, 1), ...takenBack(writes)] : again(EVERY, PART)),
      });
      t.diagnostic(`${cells} cells, ${wrong.length} violations, ${Math.round((Date.now() - started) / 1000)} s`);
      assert.deepEqual([runs, undisturbed, wrong], [flow.runs, [], []]);
    });
  }
});
