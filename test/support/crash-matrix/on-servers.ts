// Every flow, broken at every step in every way, on a real API server and a real database. `npm run matrix` runs every cell
// on MySQL and writes the page; otherwise a part of the cells is run, one of every few in each row and in each column, and
// compared with the page.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { type ControlPlane, startControlPlane } from '../../../hack/local/control-plane.ts';
import { systemClock, within } from '../../../src/base/clock.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { HttpKubeClient } from '../../../src/kube/http/http-client.ts';
import { PooledTransport } from '../../../src/kube/http/transport.ts';
import type { MetadataStorage } from '../../../src/storage/metadata-storage.ts';
import type { MysqlOptions } from '../../../src/storage/mysql/pool.ts';
import { blows, others, writers } from './disturbances.ts';
import { flows } from './flows.ts';
import { SharedOutage } from './outage.ts';
import { type Cell, type Disturbance, type FlowUnderTest, runCell, stepsOf } from './run.ts';
import { type Outage, ServerStages } from './server-stage.ts';
import { Silences } from './silences.ts';
import { assertPart, cellName, isWriting, type Matrix, type Results, writePage } from './table.ts';
import { restores } from './went-back.ts';

const NAMESPACE = 'crash-matrix';
const TOGETHER = 24;
/** Outside of `npm run matrix`, one cell of so many, and one outage of each server. */
const CELLS = 6;
/** A cell that has not ended by then is wedged, and named. */
const CELL_MS = 120_000;
const CLOSE_MS = 30_000;

const intro = `# Crash matrix on real servers

The same as [crash-matrix.md](crash-matrix.md), on a kube-apiserver with etcd and the controllers of Kubernetes, and on
MySQL. \`npm run matrix\` runs every cell and writes this page; \`npm test\` runs one cell of ${CELLS}.`;

export interface CrashedDatabase {
  readonly options: MysqlOptions;
  readonly storage: MetadataStorage;
  /** Undefined where it is not ours to kill. */
  readonly outage: Outage | undefined;
}

/** `use` is called within the suite, for its hooks. */
export function crashMatrixOnServers(product: string, use: () => () => CrashedDatabase): void {
  describe(`the crash matrix on a real API server and ${product}`, () => {
    const database = use();
    let controlPlane: ControlPlane;
    let client: KubeClient;
    let stages: ServerStages;
    let silences: Silences;
    let cellColumns: readonly Disturbance[];
    let steps: readonly (readonly string[])[];
    const results: Results = new Map();
    const wrong: string[] = [];
    before(async () => {
      controlPlane = await startControlPlane();
      await controlPlane.kubectlRun(['apply', '--server-side', '-k', join(import.meta.dirname, '../../../crds')]);
      await controlPlane.kubectlRun(['wait', '--for=condition=Established', '--timeout=60s', 'crd', '--all']);
      await controlPlane.kubectlRun(['create', 'namespace', NAMESPACE]);
      const kubernetes = { kubeconfig: controlPlane.kubeconfig, context: '', clock: systemClock };
      client = new HttpKubeClient(new PooledTransport(kubernetes));
      silences = await Silences.start(database().options);
      cellColumns = [...blows, ...others, ...restores, ...writers, ...silences.columns()];
      const { storage } = silences;
      stages = new ServerStages({ client, storage, evidence: database().storage, namespace: NAMESPACE });
      await stages.start();
      steps = await Promise.all(flows.map((flow) => stepsOf(stages.next(), flow)));
    });
    after(async () => {
      for (const close of [
        () => stages.close(),
        () => silences.close(),
        () => client.close(),
        () => controlPlane.stop(),
      ])
        await within({ clock: systemClock, timeoutMs: CLOSE_MS }, close, () => undefined);
      // What a cell without an end holds open must not keep the whole run.
      setTimeout(() => process.exit(1), CLOSE_MS).unref();
    });

    const run = async (flow: FlowUnderTest, at: number, disturbance: Disturbance): Promise<void> => {
      const where = cellName(flow.name, at, disturbance.name);
      const noEnd = (): Cell => ({ ending: 'wedged', violations: [`no end after ${CELL_MS / 1000} s`] });
      const work = (): Promise<Cell> => runCell(stages.next(), flow, at, disturbance);
      const cell = await within({ clock: systemClock, timeoutMs: CELL_MS }, work, noEnd).catch(
        (error: unknown): Cell => {
          return { ending: 'wedged', violations: [String(error)] };
        },
      );
      results.set(where, cell.ending);
      wrong.push(...cell.violations.map((violation) => `${where}: ${violation}`));
    };

    it('keeps every guarantee, whatever happens to one object', async () => {
      const cells = flows.flatMap((flow, row) =>
        (steps[row] ?? []).flatMap((_, at) =>
          cellColumns.map((disturbance, column) => ({ flow, at, disturbance, row, column })),
        ),
      );
      const part = cells.filter(({ at, row, column }) => isWriting || (at + column + 2 * row) % CELLS === 0);
      await together(TOGETHER, part, ({ flow, at, disturbance }) => run(flow, at, disturbance));
      assert.deepEqual(wrong.splice(0), []);
      assert.ok(silences.count() > 0, 'some connection fell silent');
      settlePage('crash-matrix-servers.md', { intro, rows: rows(), columns: cellColumns, results });
    });

    const rows = () => flows.map((flow, index) => ({ flow, steps: steps[index] ?? [] }));
    /** Name, the step at which it is tried outside of `npm run matrix`, what happens. */
    const outages: readonly (readonly [name: string, step: number, outage: () => Outage | undefined])[] = [
      ['MySQL killed', 1, () => database().outage],
      [
        'API server restarted',
        3,
        () => ({
          kill: async () => {
            controlPlane.apiServer.kill('SIGKILL');
            await controlPlane.apiServer.exited();
          },
          revive: () => controlPlane.apiServer.start(),
        }),
      ],
    ];

    for (const [name, step, outage] of outages) {
      it(`keeps every guarantee: ${name}`, async (t) => {
        const happening = outage();
        if (happening === undefined) {
          t.skip('the database is external');
          return;
        }
        const longest = Math.max(...steps.map(({ length }) => length));
        for (const at of isWriting ? Array(longest).keys() : [step]) {
          await stages.whole();
          const group = flows.filter((_, row) => at < (steps[row]?.length ?? 0));
          const shared = new SharedOutage(stages, happening, group.length);
          await Promise.all(
            group.map(async (flow) => {
              const { disturbance, leave } = shared.cell(name);
              await run(flow, at, disturbance).finally(leave);
            }),
          );
        }
        assert.deepEqual(wrong.splice(0), []);
      });
    }
  });
}

function settlePage(name: string, matrix: Matrix): void {
  if (isWriting) writePage(name, matrix);
  else assertPart(name, matrix);
}

/** Does everything, so many at a time. */
async function together<T>(count: number, todo: readonly T[], work: (each: T) => Promise<void>): Promise<void> {
  const left = [...todo];
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: count }, worker));
}
