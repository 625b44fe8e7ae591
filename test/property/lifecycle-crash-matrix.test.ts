// The lifecycle controller killed at each write of each change, one at a time, over an API server in memory. `npm run matrix`
// runs every cell, `npm test` a part.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps } from '../../src/kube/resources.ts';
import { isWriting } from '../support/crash-matrix/table.ts';
import { Scene } from '../support/lifecycle-crash/cells.ts';
import { type LifecycleFlow, lifecycleFlows } from '../support/lifecycle-crash/flows.ts';
import { again, oneByOne, runFlow } from '../support/lifecycle-crash/matrix.ts';
import { MemoryServer } from '../support/lifecycle-crash/memory-server.ts';
import { World } from '../support/lifecycle-crash/world.ts';

/** Outside of `npm run matrix`, one cell of so many. */
const PART = 12;

async function aScene(flow: LifecycleFlow): Promise<Scene> {
  const server = new MemoryServer();
  const record = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ingester-admission-record' } };
  await server.create(configMaps, 'n', record);
  return new Scene(new World(server, 'n'), flow);
}

describe('a lifecycle controller in memory that is killed, or loses an answer,', () => {
  it('again and again in one change ends as without that', async () => {
    for (const flow of lifecycleFlows) {
      const cells = isWriting ? again(6, 1) : again(6, 6);
      const { undisturbed, wrong } = await runFlow({ flow, aScene, cells: () => cells });
      assert.deepEqual([flow.name, undisturbed, wrong], [flow.name, [], []]);
    }
  });

  for (const flow of lifecycleFlows) {
    it(`at a write of ${flow.name} ends as without that`, async () => {
      const cells = oneByOne(isWriting ? 1 : PART);
      const { runs, undisturbed, wrong } = await runFlow({ flow, aScene, cells });
      assert.deepEqual([runs, undisturbed, wrong], [flow.runs, [], []]);
    });
  }
});
