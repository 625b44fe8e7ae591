// The flows of one name as a small state machine: what the API server and MySQL hold, and where two reconcilers, the sweep
// and a user are. Every move is one call of an actor. Pure: the same state has the same moves. The program's own flows are
// replayed against its traces (test/property/flow-model.test.ts), so that the two cannot drift apart.

/** One state of an object. `version` is its resourceVersion. */
export interface ModelObject {
  readonly uid: number;
  readonly version: number;
  readonly guarded: boolean;
  readonly deleting: boolean;
  readonly marked: boolean;
  readonly immutable: boolean;
  readonly content: number;
}

export type RowState = 'live' | 'evicting' | 'deleted' | 'evicted';

export interface ModelRow {
  readonly version: number;
  readonly state: RowState;
  readonly content: number;
  readonly intended: boolean;
}

/** The call that an actor makes next, with the state of the object that it has read. */
export interface Pending {
  readonly call: Call;
  readonly read: ModelObject;
  /** Whether the rule had chosen it when it was read. */
  readonly chosen: boolean;
}

export type Call =
  | 'upsert'
  | 'finish'
  | 'finish, evicted'
  | 'delete row'
  | 'delete row, marked'
  | 'look up'
  | 'request eviction, deleting'
  | 'request eviction'
  | 'look up intent'
  | 'withdraw'
  | 'history'
  | 'prove intent'
  | 'prove end'
  | 'finalizer on'
  | 'finalizer off'
  | 'delete'
  | 'confirm'
  | 'mark missed delete';

export const actors = ['first', 'second', 'sweep', 'audit'] as const;
export type Actor = (typeof actors)[number];

/** What happened to each uid, as far as an invariant needs it. */
export interface Past {
  readonly uid: number;
  /** A guarded state was in etcd, and the finalizer has not been taken off by hand. */
  readonly held: boolean;
  readonly askedToDelete: boolean;
  /** Marked immutable when its deletion began. */
  readonly immutableAtDeletion: boolean;
  /** The program began its deletion because of a rule. */
  readonly evictedByRule: boolean;
}

export interface Model {
  /** Whether an eviction rule chooses every object. */
  readonly rule: boolean;
  readonly object: ModelObject | undefined;
  /** What a cache may still show. */
  readonly before: ModelObject | undefined;
  readonly rows: readonly (readonly [uid: number, row: ModelRow])[];
  readonly pending: Readonly<Partial<Record<Actor, Pending>>>;
  readonly past: readonly Past[];
  readonly nextVersion: number;
  readonly nextUid: number;
  /** Moves of the user, and faults, that are left. */
  readonly wishes: number;
  readonly faults: number;
}

export const wishes = [
  'create',
  'create unguarded',
  'edit',
  'delete',
  'mark',
  'unmark',
  'archive',
  'unarchive',
  'strip',
  'withdraw rule',
] as const;
export type Wish = (typeof wishes)[number];

/** How a call goes wrong: it has no effect, or its answer is lost. A killed process is both, at that call. */
export type Fault = 'fails' | 'answer lost';

export type Move =
  | { readonly by: 'user'; readonly wish: Wish }
  | { readonly by: Actor; readonly does: 'read' | 'read late' }
  | { readonly by: Actor; readonly does: Call; readonly fault?: Fault };

export function initial(limits: Pick<Model, 'wishes' | 'faults'> & Partial<Pick<Model, 'rule'>>): Model {
  const nothing = { rule: false, object: undefined, before: undefined, rows: [], pending: {}, past: [] };
  return { ...nothing, nextVersion: 1, nextUid: 1, ...limits };
}

/** Everything that may happen next. */
export function movesOf(model: Model): readonly Move[] {
  const users = model.wishes > 0 ? wishes.filter((wish) => wished(model, wish) !== undefined) : [];
  return [
    ...users.map((wish): Move => ({ by: 'user', wish })),
    ...actors.flatMap((actor) => movesOfActor(model, actor)),
  ];
}

export function movesOfActor(model: Model, by: Actor): readonly Move[] {
  const pending = model.pending[by];
  if (pending === undefined) {
    const isDue = (read: ModelObject | undefined): boolean => startOf(by, model, { read }) !== undefined;
    const late = model.faults > 0 && by !== 'audit' && isDue(model.before);
    const due = isDue(model.object);
    return [...(due ? [{ by, does: 'read' } as const] : []), ...(late ? [{ by, does: 'read late' } as const] : [])];
  }
  const does = pending.call;
  if (model.faults === 0) return [{ by, does }];
  return [
    { by, does },
    { by, does, fault: 'fails' },
    { by, does, fault: 'answer lost' },
  ];
}

/** What decides the first call after a read; another one than the program's shows that the invariants notice. */
export type Program = (read: ModelObject, rule: boolean) => Call;

export function after(model: Model, move: Move, program: Program = firstCall): Model {
  if (move.by === 'user') {
    const next = wished(model, move.wish) ?? model;
    return { ...next, wishes: model.wishes - 1 };
  }
  if (move.does === 'read' || move.does === 'read late') {
    const late = move.does === 'read late';
    const pending = startOf(move.by, model, { read: late ? model.before : model.object, program });
    return withPending({ ...model, faults: model.faults - Number(late) }, move.by, pending);
  }
  const pending = model.pending[move.by];
  if (pending === undefined) return model;
  const { fault } = move as { readonly fault?: Fault };
  if (fault === 'fails') return withPending({ ...model, faults: model.faults - 1 }, move.by, undefined);
  const { model: changed, next } = carriedOut(model, pending);
  if (fault === 'answer lost') return withPending({ ...changed, faults: model.faults - 1 }, move.by, undefined);
  return withPending(changed, move.by, next === undefined ? undefined : { ...pending, call: next });
}

function withPending(model: Model, actor: Actor, pending: Pending | undefined): Model {
  const { [actor]: _, ...others } = model.pending;
  return { ...model, pending: pending === undefined ? others : { ...others, [actor]: pending } };
}

// The user.

function wished(model: Model, wish: Wish): Model | undefined {
  const { object } = model;
  switch (wish) {
    case 'create':
    case 'create unguarded':
      return object === undefined ? created(model, wish === 'create') : undefined;
    case 'delete':
      return object === undefined || object.deleting ? undefined : deleted(model, object);
    case 'strip':
      return object?.guarded === true ? stripped(model, object) : undefined;
    case 'withdraw rule':
      return model.rule ? { ...model, rule: false } : undefined;
    default:
      return stored(model, changedBy(wish, object));
  }
}

/** Undefined where it would change nothing, or the object is being deleted. */
function changedBy(wish: keyof typeof changes, object: ModelObject | undefined): ModelObject | undefined {
  if (object === undefined || object.deleting) return undefined;
  const changed = changes[wish](object);
  return (Object.keys(changed) as (keyof ModelObject)[]).every((key) => changed[key] === object[key])
    ? undefined
    : { ...object, ...changed };
}

const changes: Readonly<
  Record<'edit' | 'mark' | 'unmark' | 'archive' | 'unarchive', (object: ModelObject) => Partial<ModelObject>>
> = {
  edit: ({ content }) => ({ content: content + 1 }),
  mark: () => ({ marked: true }),
  unmark: () => ({ marked: false }),
  archive: () => ({ immutable: true }),
  unarchive: () => ({ immutable: false }),
};

function created(model: Model, guarded: boolean): Model {
  const uid = model.nextUid;
  const fresh = { uid, guarded, deleting: false, marked: false, immutable: false, content: 0 };
  const past = { uid, held: guarded, askedToDelete: false, immutableAtDeletion: false, evictedByRule: false };
  const next = { ...model, nextUid: uid + 1, past: [...model.past, past] };
  return store(next, { ...fresh, version: 0 });
}

/** By hand, past the webhook: what is lost then, the user has asked for. */
function stripped(model: Model, object: ModelObject): Model {
  const free = {
    ...model,
    past: model.past.map((past) => (past.uid === object.uid ? { ...past, held: false } : past)),
  };
  return settled(free, { ...object, guarded: false });
}

// The API server.

function stored(model: Model, object: ModelObject | undefined): Model | undefined {
  return object === undefined ? undefined : store(model, object);
}

function store(model: Model, object: ModelObject): Model {
  const version = model.nextVersion;
  const next = { ...object, version };
  const past = model.past.map((each) => (each.uid === object.uid ? pastWith(each, next) : each));
  return { ...model, object: next, before: model.object, nextVersion: version + 1, past };
}

function pastWith(past: Past, { guarded, marked }: ModelObject): Past {
  return { ...past, held: past.held || guarded, askedToDelete: past.askedToDelete || marked };
}

/** A deleting object without finalizers is gone. */
function settled(model: Model, object: ModelObject): Model {
  if (!object.deleting || object.guarded) return store(model, object);
  return { ...model, object: undefined, before: model.object, nextVersion: model.nextVersion + 1 };
}

function deleted(model: Model, object: ModelObject): Model {
  const past = model.past.map((each) =>
    each.uid === object.uid ? { ...each, immutableAtDeletion: object.immutable } : each,
  );
  return settled({ ...model, past }, { ...object, deleting: true });
}

// The flows.

/** Which call follows reading this state; undefined where there is nothing to do. */
function startOf(
  actor: Actor,
  model: Model,
  { read, program = firstCall }: { readonly read: ModelObject | undefined; readonly program?: Program },
): Pending | undefined {
  if (actor === 'audit') return startOfAudit(model);
  if (read === undefined) return undefined;
  const chosen = model.rule;
  if (actor === 'sweep') return read.guarded || read.deleting ? undefined : { call: 'finalizer on', read, chosen };
  return { call: program(read, chosen), read, chosen };
}

export function firstCall(read: ModelObject, rule: boolean): Call {
  if (read.deleting) {
    if (read.marked) return 'delete row';
    return read.immutable ? 'look up' : 'finish';
  }
  if (!read.marked && !read.immutable && !rule) return 'upsert';
  if (!read.guarded) return 'finalizer on';
  return read.marked ? 'delete row, marked' : 'request eviction';
}

/** The rows in the cluster, compared with what is there: the first one whose object is missing. */
function startOfAudit({ rows, object }: Model): Pending | undefined {
  const [missing] = rows
    .filter(([uid, { state }]) => uid !== object?.uid && (state === 'live' || state === 'evicting'))
    .sort(([left], [right]) => left - right);
  if (missing === undefined) return undefined;
  const [uid, { version, content }] = missing;
  const gone = { guarded: false, deleting: false, marked: false, immutable: false };
  return { call: 'confirm', read: { uid, version, content, ...gone }, chosen: false };
}

interface Done {
  readonly model: Model;
  readonly next: Call | undefined;
}

function carriedOut(model: Model, { call, read, chosen }: Pending): Done {
  switch (call) {
    case 'withdraw':
      return { model: touched(model, read), next: undefined };
    case 'finalizer on':
    case 'finalizer off':
    case 'delete':
      return { model: byRule(model, onServer(model, call, read), { call, read, chosen }), next: undefined };
    case 'confirm':
      return { model, next: model.object?.uid === read.uid ? undefined : 'mark missed delete' };
    case 'mark missed delete':
      return { model: missedDelete(model, read), next: undefined };
    default:
      return isReading(call) ? { model, next: afterReading[call](model, read) } : afterWriting(model, call, read);
  }
}

/** Only exactly the state that was read is changed. */
function onServer(model: Model, call: 'finalizer on' | 'finalizer off' | 'delete', read: ModelObject): Model {
  const { object } = model;
  if (object?.uid !== read.uid || object.version !== read.version) return model;
  if (call === 'delete') return deleted(model, object);
  return settled(model, { ...object, guarded: call === 'finalizer on' });
}

/** An eviction is withdrawn by a new state of the object. */
function touched(model: Model, read: ModelObject): Model {
  const { object } = model;
  return object?.uid === read.uid && object.version === read.version ? store(model, object) : model;
}

/** Of an object without a mark, the program only begins a deletion that a rule asks for. */
function byRule(before: Model, model: Model, { call, read, chosen }: Pending): Model {
  const began = before.object !== model.object && call === 'delete';
  if (!began || !chosen || read.marked || read.immutable) return model;
  const past = model.past.map((each) => (each.uid === read.uid ? { ...each, evictedByRule: true } : each));
  return { ...model, past };
}

type Reading = 'look up' | 'look up intent' | 'history' | 'prove intent' | 'prove end';

const afterReading: Readonly<Record<Reading, (model: Model, read: ModelObject) => Call | undefined>> = {
  'look up': (model, { uid }) => {
    const state = rowOf(model, uid)?.state;
    return state === 'evicting' || state === 'evicted' ? 'finish, evicted' : 'request eviction, deleting';
  },
  'look up intent': (model, read) => (isProven(model, read, ['evicting']) ? 'withdraw' : undefined),
  history: ({ rows }, { uid }) =>
    rows.some(([other, { state }]) => other !== uid && state === 'evicted') ? undefined : 'prove intent',
  'prove intent': (model, read) => (isProven(model, read, ['evicting']) ? 'delete' : undefined),
  'prove end': (model, read) => (isProven(model, read, ['evicted', 'deleted']) ? 'finalizer off' : undefined),
};

function isReading(call: Call): call is Reading {
  return Object.hasOwn(afterReading, call);
}

function isProven(model: Model, { uid, version }: ModelObject, states: readonly RowState[]): boolean {
  const row = rowOf(model, uid);
  return row?.version === version && states.includes(row.state);
}

type Write =
  | 'upsert'
  | 'finish'
  | 'finish, evicted'
  | 'delete row'
  | 'delete row, marked'
  | 'request eviction, deleting'
  | 'request eviction';

const follows: Readonly<Record<Write, { readonly fresh: Call | undefined; readonly needsFinalizer: boolean }>> = {
  upsert: { fresh: undefined, needsFinalizer: false },
  finish: { fresh: 'finalizer off', needsFinalizer: true },
  'finish, evicted': { fresh: 'prove end', needsFinalizer: true },
  'delete row': { fresh: 'finalizer off', needsFinalizer: true },
  'delete row, marked': { fresh: 'delete', needsFinalizer: false },
  'request eviction, deleting': { fresh: 'finish, evicted', needsFinalizer: false },
  'request eviction': { fresh: 'history', needsFinalizer: false },
};

function afterWriting(model: Model, call: Write, read: ModelObject): Done {
  const written = write(model, read, endOf(call));
  if (call === 'upsert' && written.outcome === 'unchanged') return { model: written.model, next: 'look up intent' };
  const { fresh, needsFinalizer } = follows[call];
  const goesOn = written.outcome !== 'stale' && (read.guarded || !needsFinalizer);
  return { model: written.model, next: goesOn ? fresh : undefined };
}

/** How far a row is on its way; it never turns back at one version. */
export const rank: Readonly<Record<RowState, number>> = { live: 0, evicting: 1, deleted: 2, evicted: 3 };

function endOf(call: Write): (row: ModelRow | undefined) => Pick<ModelRow, 'state' | 'intended'> {
  switch (call) {
    case 'upsert':
      return () => ({ state: 'live', intended: false });
    case 'request eviction':
    case 'request eviction, deleting':
      return () => ({ state: 'evicting', intended: true });
    case 'delete row':
    case 'delete row, marked':
      return () => ({ state: 'deleted', intended: false });
    case 'finish':
    case 'finish, evicted':
      return (row) => ({ state: row?.intended === true ? 'evicted' : 'deleted', intended: row?.intended === true });
  }
}

// MySQL.

export function rowOf({ rows }: Pick<Model, 'rows'>, uid: number): ModelRow | undefined {
  return rows.find(([each]) => each === uid)?.[1];
}

function write(
  model: Model,
  { uid, version, content }: ModelObject,
  end: (row: ModelRow | undefined) => Pick<ModelRow, 'state' | 'intended'>,
): { readonly model: Model; readonly outcome: 'written' | 'unchanged' | 'stale' } {
  const row = rowOf(model, uid);
  const next = { version, content, ...end(row) };
  if (row !== undefined && row.version > version) return { model, outcome: 'stale' };
  if (row?.version === version && rank[next.state] <= rank[row.state]) return { model, outcome: 'unchanged' };
  return { model: withRow(model, uid, next), outcome: 'written' };
}

function withRow(model: Model, uid: number, row: ModelRow): Model {
  return { ...model, rows: [...model.rows.filter(([each]) => each !== uid), [uid, row] as const] };
}

function missedDelete(model: Model, { uid, version }: ModelObject): Model {
  const row = rowOf(model, uid);
  if (row === undefined || row.version > version || rank[row.state] > rank.evicting) return model;
  return withRow(model, uid, { ...row, state: row.state === 'evicting' ? 'evicted' : 'deleted' });
}

/**
 * States that differ in nothing but how high versions are, how often the content changed and which of the two reconcilers
 * is where, are one.
 */
export function keyOf(model: Model): string {
  const { object, before, rows, pending, past } = model;
  const reads = actors.map((actor) => pending[actor]?.read);
  const all = [object, before, ...reads, ...rows.map(([, row]) => row)].filter((each) => each !== undefined);
  const versions = ranks(all.map(({ version }) => version));
  const contents = ranks(all.map(({ content }) => content));
  const short = (each: ModelObject | undefined): string =>
    each === undefined
      ? '-'
      : `${each.uid}.${versions(each.version)}.${contents(each.content)}${flags(each.guarded, each.deleting, each.marked, each.immutable)}`;
  const doing = (actor: Actor): string =>
    `${pending[actor]?.call ?? ''}:${short(pending[actor]?.read)}${flags(pending[actor]?.chosen === true)}`;
  return [
    ...[short(object), short(before), ...[doing('first'), doing('second')].sort(), doing('sweep'), doing('audit')],
    ...rows
      .map(
        ([uid, row]) => `${uid}.${versions(row.version)}.${contents(row.content)}.${row.state}${flags(row.intended)}`,
      )
      .sort(),
    ...past.map((each) => flags(each.held, each.askedToDelete, each.immutableAtDeletion, each.evictedByRule)),
    ...[model.wishes, model.faults, Number(model.rule)],
  ].join('|');
}

function ranks(values: readonly number[]): (value: number) => number {
  const sorted = [...new Set(values)].sort((left, right) => left - right);
  return (value) => sorted.indexOf(value);
}

function flags(...values: readonly boolean[]): string {
  return values.map(Number).join('');
}
