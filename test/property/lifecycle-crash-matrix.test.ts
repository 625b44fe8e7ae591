// The lifecycle controller killed at the writes of each change, over an API server in memory: a part of the cells that
// test/integration/lifecycle-crash-matrix.test.ts runs on a real one.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps } from '../../src/kube/resources.ts';
import { Scene } from '../support/lifecycle-crash/cells.ts';
import { type LifecycleFlow, lifecycleFlows } from '../support/lifecycle-crash/flows.ts';
import { runFlow } from '../support/lifecycle-crash/matrix.ts';
import { MemoryServer } from '../support/lifecycle-crash/memory-server.ts';
import { World } from '../support/lifecycle-crash/world.ts';

/** One cell of so many. */
const PART = 12;

async function aScene(flow: LifecycleFlow): Promise<Scene> {
  const server = new MemoryServer();
  const record = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'ingester-admission-record' } };
  await server.create(configMaps, 'n', record);
  return new Scene(new World(server, 'n'), flow);
}

describe('a lifecycle controller in memory that is killed, or loses an answer,', () => {
  for (const flow of lifecycleFlows) {
    it(`at a write of ${flow.name} ends as without that`, async () => {
      const { runs, undisturbed, wrong } = await runFlow({ flow, aScene, part: PART, lanes: 1 });
      assert.deepEqual([runs, undisturbed, wrong], [flow.runs, [], []]);
    });
  }
});
