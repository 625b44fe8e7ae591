// The lifecycle controller killed before and after every write of every change, on a real API server: every status, every
// child that is created, applied or deleted, every Job. What Kubernetes' controllers and nodes do is done by the test, one
// thing after each reconcile, so that every run makes the same writes. `npm run matrix` runs every cell, `npm test` a part.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps, namespaces } from '../../src/kube/resources.ts';
import { isWriting } from '../support/crash-matrix/table.ts';
import { Scene } from '../support/lifecycle-crash/cells.ts';
import { type LifecycleFlow, lifecycleFlows } from '../support/lifecycle-crash/flows.ts';
import { runFlow } from '../support/lifecycle-crash/matrix.ts';
import { World } from '../support/lifecycle-crash/world.ts';
import { type LifecycleHarness, useLifecycleHarness } from '../support/lifecycle-harness.ts';

/** Outside of `npm run matrix`, one cell of so many. */
const PART = 12;
/** Changes of one kind that go on at once, each of another resource. */
const LANES = 3;

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
      const part = isWriting ? 1 : PART;
      const { runs, undisturbed, cells, wrong } = await runFlow({ flow, aScene, part, lanes: LANES });
      t.diagnostic(`${cells} cells, ${wrong.length} violations, ${Math.round((Date.now() - started) / 1000)} s`);
      assert.deepEqual([runs, undisturbed, wrong], [flow.runs, [], []]);
    });
  }
});
