// Every interleaving of the calls of two reconcilers, the sweep, the audit and a user with one name, as far as so many
// moves of the user and so many faults go; and the program's own flows held to the model, call by call.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { atRest, brokenAtRest, brokenBy } from '../support/flow-laws.ts';
import {
  after,
  firstCall,
  initial,
  keyOf,
  type Model,
  type Move,
  movesOf,
  type Program,
} from '../support/flow-model.ts';
import { replay } from '../support/flow-replay.ts';

interface Seen {
  readonly model: Model;
  readonly from: Seen | undefined;
  readonly by: Move | undefined;
}

interface Walk {
  readonly states: readonly Seen[];
  /** One path over each move of each state. */
  readonly edges: readonly Seen[];
}

/** Every state that can be reached, nearest first; `look` is told of each move. */
function walk(start: Model, program: Program, look: (seen: Seen, isNew: boolean) => void = () => undefined): Walk {
  const states: Seen[] = [{ model: start, from: undefined, by: undefined }];
  const known = new Set([keyOf(start)]);
  const edges: Seen[] = [];
  for (const from of states) {
    for (const by of movesOf(from.model)) {
      const seen = { model: after(from.model, by, program), from, by };
      const key = keyOf(seen.model);
      const isNew = !known.has(key);
      look(seen, isNew);
      edges.push(seen);
      if (!isNew) continue;
      known.add(key);
      states.push(seen);
    }
  }
  return { states, edges };
}

function pathTo(seen: Seen): readonly Move[] {
  const path: Move[] = [];
  for (let each: Seen | undefined = seen; each?.by !== undefined; each = each.from) path.unshift(each.by);
  return path;
}

const told = (move: Move): string => Object.values(move).join(', ');

/** The invariants that some trace breaks, each with the shortest trace. */
function brokenIn(start: Model, program: Program = firstCall): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  walk(start, program, (seen, isNew) => {
    const { model, from, by } = seen;
    const broken = from === undefined || by === undefined ? [] : brokenBy(from.model, by, model);
    for (const invariant of [...broken, ...(isNew ? brokenAtRest(atRest(model, program)) : [])]) {
      if (!found.has(invariant)) found.set(invariant, pathTo(seen).map(told).join(' → '));
    }
  });
  return found;
}

async function assertReplayed(start: Model, path: readonly Move[]): Promise<void> {
  try {
    await replay(start, path);
  } catch (error) {
    const trace = path.map(told).join(' → ');
    assert.fail(
      `${error instanceof Error ? error.message : String(error)}\nThe program and the model differ in: ${trace}`,
    );
  }
}

describe('the model of the flows', () => {
  it('keeps every invariant in every state that three moves of the user and two faults can reach', () => {
    assert.deepEqual([...brokenIn(initial({ wishes: 3, faults: 2 }))], []);
  });

  it('keeps every invariant where an eviction rule is withdrawn at any moment', () => {
    assert.deepEqual([...brokenIn(initial({ wishes: 3, faults: 1, rule: true }))], []);
  });

  const broken: readonly (readonly [what: string, invariant: string, program: Program])[] = [
    [
      'takes the finalizer off before the row is written',
      'no forgetting: a guarded object left etcd before MySQL had its final state',
      (read, rule) => (read.deleting ? 'finalizer off' : firstCall(read, rule)),
    ],
    [
      'copies what is being deleted and leaves the finalizer on it',
      'no wedge: an object that is being deleted is still there',
      (read, rule) => (read.deleting ? 'upsert' : firstCall(read, rule)),
    ],
    [
      'ends an evicted object as it ends any other',
      'evicted is not deleted: the row is deleted',
      (read, rule) => (read.deleting ? 'finish' : firstCall(read, rule)),
    ],
    [
      'deletes what carries no mark',
      'evicted is not deleted: an object was deleted whose mark was taken off in time',
      (read, rule) => (read.deleting ? firstCall(read, rule) : 'delete'),
    ],
  ];
  for (const [what, invariant, program] of broken) {
    it(`names the broken invariant where a program ${what}`, () => {
      const found = brokenIn(initial({ wishes: 3, faults: 0 }), program);
      assert.ok(found.has(invariant), [...found.keys()].join('; '));
    });
  }
});

describe("the program's own flows", () => {
  for (const rule of [false, true]) {
    const from = rule ? ', from an eviction rule on' : '';
    it(`make the calls of the model and leave what it says, over every move of two wishes and one fault${from}`, async () => {
      const start = initial({ wishes: 2, faults: 1, rule });
      for (const edge of walk(start, firstCall).edges) await assertReplayed(start, pathTo(edge));
    });
  }

  it('make the calls of the model in random traces of six wishes and four faults', async () => {
    const choices = fc.array(fc.nat(1000), { minLength: 10, maxLength: 60 });
    const run = async (chosen: readonly number[], rule: boolean): Promise<void> => {
      const start = initial({ wishes: 6, faults: 4, rule });
      const path: Move[] = [];
      let model = start;
      for (const choice of chosen) {
        const moves = movesOf(model);
        const move = moves[choice % moves.length];
        if (move === undefined) break;
        path.push(move);
        const next = after(model, move);
        assert.deepEqual(brokenBy(model, move, next), []);
        model = next;
      }
      assert.deepEqual(brokenAtRest(atRest(model)), []);
      await assertReplayed(start, path);
    };
    await fc.assert(fc.asyncProperty(choices, fc.boolean(), run), { numRuns: 1000 });
  });
});
