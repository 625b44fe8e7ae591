// The invariants of the flow model: of every move, and of the world once everything has come to rest.
import {
  type Actor,
  after,
  firstCall,
  type Model,
  type ModelObject,
  type Move,
  movesOfActor,
  type Past,
  type Program,
  rank,
  rowOf,
} from './flow-model.ts';

/** Invariants that a move has broken. */
export function brokenBy(model: Model, move: Move, next: Model): readonly string[] {
  return [...forgotten(model, next), ...wentBack(model, next), ...deletedUnasked(model, move, next)];
}

function forgotten({ object }: Model, next: Model): readonly string[] {
  if (object === undefined || next.object?.uid === object.uid || !pastOf(next, object.uid).held) return [];
  const row = rowOf(next, object.uid);
  const known = row?.content === object.content && rank[row.state] >= rank.deleted;
  return known ? [] : ['no forgetting: a guarded object left etcd before MySQL had its final state'];
}

function wentBack({ rows }: Model, next: Model): readonly string[] {
  const back = rows.some(([uid, { version }]) => (rowOf(next, uid)?.version ?? 0) < version);
  return back ? ['no going back: a row took an older state'] : [];
}

/** What the program deletes carries a mark that asks for it, at that very moment, or is in the state a rule chose. */
function deletedUnasked(model: Model, move: Move, next: Model): readonly string[] {
  const { object } = model;
  const began = object?.deleting === false && next.object?.deleting === true;
  if (!began || move.by === 'user' || object.marked || object.immutable) return [];
  if (model.pending[move.by]?.chosen === true) return [];
  return ['evicted is not deleted: an object was deleted whose mark was taken off in time'];
}

/** The state in which the actors leave the world when the user and the faults are done; whatever was under way is lost. */
export function atRest(model: Model, program: Program = firstCall): Model {
  let now: Model = { ...model, pending: {}, wishes: 0, faults: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = now;
    for (const actor of ['first', 'sweep', 'audit'] as const) now = worked(now, actor, program);
    if (now.object === before.object && now.rows === before.rows) return now;
  }
  return now;
}

/** More than any flow needs. */
const ROUNDS = 12;

function worked(model: Model, actor: Actor, program: Program): Model {
  let now = model;
  do {
    const [move] = movesOfActor(now, actor);
    if (move === undefined) return now;
    now = after(now, move, program);
  } while (now.pending[actor] !== undefined);
  return now;
}

/** Broken invariants of a world at rest. */
export function brokenAtRest(model: Model): readonly string[] {
  const { object, rows } = model;
  return [
    ...(object === undefined ? [] : aboutObject(object, model)),
    ...rows.flatMap(([uid]) => aboutRow(uid, model)),
  ];
}

function aboutObject(object: ModelObject, model: Model): readonly string[] {
  if (object.deleting) return ['no wedge: an object that is being deleted is still there'];
  const row = rowOf(model, object.uid);
  const current = row?.version === object.version && rank[row.state] <= rank.evicting;
  return [
    ...(object.guarded ? [] : ['no unguarded object: the sweep has left it out']),
    ...(current ? [] : ['no forgetting: the row has not the last state']),
    ...(row?.state === 'evicting' && !object.immutable && !model.rule
      ? ['no intent outlives its rule: the row of a living object that no rule chooses is evicting']
      : []),
    ...(object.marked ? ['no wedge: an object that is marked for deletion is still there'] : []),
  ];
}

function aboutRow(uid: number, model: Model): readonly string[] {
  const row = rowOf(model, uid);
  if (row === undefined || model.object?.uid === uid) return [];
  const { held, immutableAtDeletion, evictedByRule, askedToDelete } = pastOf(model, uid);
  const lost = held && (immutableAtDeletion || evictedByRule) && !askedToDelete && row.state !== 'evicted';
  return [
    ...(rank[row.state] <= rank.evicting ? ['no forgetting: the object is gone and its row has not ended'] : []),
    ...(lost ? [`evicted is not deleted: the row is ${row.state}`] : []),
  ];
}

function pastOf({ past }: Model, uid: number): Past {
  return (
    past.find((each) => each.uid === uid) ?? {
      ...{ uid, held: false, askedToDelete: false, immutableAtDeletion: false, evictedByRule: false },
    }
  );
}
