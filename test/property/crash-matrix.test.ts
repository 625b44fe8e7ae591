// Every flow, disturbed at every step in every way, in memory.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blows, others, writers } from '../support/crash-matrix/disturbances.ts';
import { flows } from '../support/crash-matrix/flows.ts';
import { modelStage } from '../support/crash-matrix/model-stage.ts';
import { type FlowUnderTest, runCell, stepsOf } from '../support/crash-matrix/run.ts';
import { assertPage, cellName, type Results } from '../support/crash-matrix/table.ts';
import { restores } from '../support/crash-matrix/went-back.ts';

const intro = `# Crash matrix

What is left of an object after something happened at one step of a flow, and the program had time to recover. A step is
one call of the program to the API server, MySQL or its disk. *kept*: in etcd, row alive. *archived*: in etcd, row kept
for good. *deleted*, *evicted*: gone from etcd, and the row says which. *gone, row kept*: deleted during an uninstall,
which touches no row; the next start ends it. *never stored*: it left before the program could guard it. Where another client
writes, from *finalizer added again* on, another end may be the right one. After every cell the guarantees are checked
against all states the API server has seen and the rows; "deleted and re-created" shows the first object.

This run is in memory, over a fake API server and storage that contract suites hold to the real ones. What real servers
do is in [crash-matrix-servers.md](crash-matrix-servers.md).`;

describe('the crash matrix in memory', () => {
  const rows: { readonly flow: FlowUnderTest; readonly steps: readonly string[] }[] = [];
  const results: Results = new Map();
  const columns = [...blows, ...others, ...restores, ...writers];

  for (const flow of flows) {
    it(`${flow.name}: keeps every guarantee, whatever happens at whichever step`, async () => {
      const wrong: string[] = [];
      const steps = await stepsOf(modelStage(), flow);
      for (const at of steps.keys()) {
        for (const disturbance of columns) {
          const cell = await runCell(modelStage(), flow, at, disturbance);
          const where = cellName(flow.name, at, disturbance.name);
          results.set(where, cell.ending);
          for (const violation of cell.violations) wrong.push(`${where}: ${violation}`);
        }
      }
      assert.deepEqual(wrong, []);
      rows.push({ flow, steps });
    });
  }

  it('is what crash-matrix.md says', () => assertPage('crash-matrix.md', { intro, rows, columns, results }));
});
