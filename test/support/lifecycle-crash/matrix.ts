// Every write of a change, broken in every way.
import { type Happening, happenings, type Picture, type Scene } from './cells.ts';
import type { LifecycleFlow } from './flows.ts';
import type { Write, WriteFault } from './killable.ts';

interface MatrixOptions {
  readonly flow: LifecycleFlow;
  /** Each call gives a world of its own. */
  readonly aScene: (flow: LifecycleFlow) => Promise<Scene>;
  readonly cells: (writes: readonly Write[]) => readonly MatrixCell[];
}

interface MatrixCell {
  readonly fault: WriteFault;
  readonly happening: Happening;
}

interface FlowResult {
  readonly runs: readonly string[];
  /** What is wrong where nothing happens. */
  readonly undisturbed: readonly string[];
  readonly cells: number;
  readonly wrong: readonly string[];
}

/** One change after the other of the same resource, until one goes wrong. */
export async function runFlow({ flow, aScene, cells: cellsOf }: MatrixOptions): Promise<FlowResult> {
  let scene: Scene | undefined = await aScene(flow);
  const { writes, picture } = await scene.record();
  const undisturbed = [...scene.world.broken, ...(await scene.world.problemsAtRest())];
  const cells = cellsOf(writes);
  const wrong: string[] = [];
  if (flow.before === undefined) scene = undefined;
  for (const cell of cells) {
    scene ??= await aScene(flow);
    const found = await runCell(scene, cell, picture);
    wrong.push(...found);
    if (found.length > 0 || flow.before === undefined) scene = undefined;
  }
  return { runs: picture.runs, undisturbed, cells: cells.length, wrong };
}

async function runCell(scene: Scene, { fault, happening }: MatrixCell, picture: Picture): Promise<readonly string[]> {
  const where = 'at' in fault ? `write ${fault.at} (${fault.label})` : `write ${fault.offset} of each ${fault.every}`;
  const found = await scene.cell(fault, happening, picture).catch((error: unknown) => [String(error)]);
  return found.map((problem) => `${where}, ${happening.name}: ${problem}`);
}

/** Each write that changes anything, broken alone; a write that changes nothing leaves what the one before it left. */
export function oneByOne(part: number, which: readonly Happening[] = happenings) {
  return (writes: readonly Write[]): readonly MatrixCell[] =>
    [...writes.entries()]
      .filter(([, { changes }]) => changes)
      .flatMap(([at, { label }], row) =>
        which.map((happening, column) => ({ fault: { blow: happening.blow, at, label }, happening, row, column })),
      )
      .filter(({ row, column }) => (row + 3 * column) % part === 0);
}

/** Several writes of one change, so many apart; from each offset, or from one of so many of them. */
export function again(every: number, part: number): readonly MatrixCell[] {
  return happenings
    .filter(({ takenBack }) => !takenBack)
    .flatMap((happening, column) =>
      Array.from({ length: every }, (_, offset) => ({
        fault: { blow: happening.blow, every, offset },
        happening,
        column,
      })),
    )
    .filter(({ fault: { offset }, column }) => (offset + 2 * column) % part === 0);
}
