// Every write of a change, broken in every way.
import { type Happening, happenings, type Picture, type Scene } from './cells.ts';
import type { LifecycleFlow } from './flows.ts';
import type { Write } from './killable.ts';

export interface MatrixOptions {
  readonly flow: LifecycleFlow;
  /** Each call gives a world of its own. */
  readonly aScene: (flow: LifecycleFlow) => Promise<Scene>;
  /** One cell of so many. */
  readonly part: number;
  readonly lanes: number;
}

export interface FlowResult {
  readonly runs: readonly string[];
  /** What is wrong where nothing happens. */
  readonly undisturbed: readonly string[];
  readonly cells: number;
  readonly wrong: readonly string[];
}

interface Cell {
  readonly at: number;
  readonly write: Write;
  readonly happening: Happening;
}

export async function runFlow({ flow, aScene, part, lanes }: MatrixOptions): Promise<FlowResult> {
  const first = await aScene(flow);
  const { writes, picture } = await first.record();
  const undisturbed = [...first.world.broken, ...(await first.world.problemsAtRest())];
  // A write that changes nothing leaves what the write before it left.
  const changing = [...writes.entries()].filter(([, { changes }]) => changes);
  const all = changing.flatMap(([at, write], row) =>
    happenings.map((happening, column) => ({ at, write, happening, row, column })),
  );
  const cells: Cell[] = all.filter(({ row, column }) => (row + 3 * column) % part === 0);
  const count = cells.length;
  const wrong: string[] = [];
  await Promise.all(Array.from({ length: lanes }, () => runLane({ flow, aScene, cells, picture, wrong })));
  return { runs: picture.runs, undisturbed, cells: count, wrong };
}

interface Lane extends Pick<MatrixOptions, 'flow' | 'aScene'> {
  /** Those that are left, for all lanes. */
  readonly cells: Cell[];
  readonly picture: Picture;
  readonly wrong: string[];
}

/** One change after the other of the same resource, until one goes wrong. */
async function runLane({ flow, aScene, cells, picture, wrong }: Lane): Promise<void> {
  let scene: Scene | undefined;
  for (let cell = cells.shift(); cell !== undefined; cell = cells.shift()) {
    const { at, write, happening } = cell;
    const found = await (async () => {
      scene ??= await aScene(flow);
      return scene.cell({ at, label: write.label, blow: happening.blow }, happening, picture);
    })().catch((error: unknown) => [String(error)]);
    wrong.push(...found.map((problem) => `write ${at} (${write.label}), ${happening.name}: ${problem}`));
    if (found.length > 0 || flow.before === undefined) scene = undefined;
  }
}
