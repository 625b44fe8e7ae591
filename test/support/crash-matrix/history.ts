// Everything that happened to objects of one name, and the laws that must hold in the end, whatever was done on the way.
import { RESTORED_FROM_ANNOTATION } from '../../../src/api/names.ts';
import { hasFinalizer, isMarkedDeleting, isMarkedImmutable, type KubernetesObject } from '../../../src/api/object.ts';
import { canonicalJson } from '../../../src/base/json.ts';
import type { StoredObject } from '../../../src/storage/metadata-storage.ts';

/** One incarnation, from its first state to its last. */
export interface Life {
  readonly uid: string;
  /** In the order of the API server. */
  readonly states: readonly KubernetesObject[];
  readonly gone: boolean;
}

export interface Evidence {
  readonly lives: readonly Life[];
  /** uid → row. */
  readonly rows: ReadonlyMap<string, StoredObject>;
  /** uid → resourceVersions of its row, in the order they were seen. */
  readonly versions: ReadonlyMap<string, readonly string[]>;
  /** Rows as they were when an object left etcd; missing where that cannot be observed. */
  readonly rowsAtTheEnd?: ReadonlyMap<string, StoredObject | undefined>;
  /** Everything that was logged, recorded or stored, as text. */
  readonly traces: string;
  /** Texts that no trace may have. */
  readonly secrets: readonly string[];
  /** `unsaved`: finalizers are removed without MySQL on purpose; their rows are checked at the end only. */
  readonly removal: FinalizerRemoval;
}

/**
 * On what terms the finalizer may come off: MySQL has the final state, or will have it, or the bundle is uninstalled; or
 * another client takes it off by hand, and what is lost then that client has asked for.
 */
export type FinalizerRemoval = 'saved' | 'unsaved' | 'uninstalled' | 'by hand';

/** What is wrong, each with the name of the broken guarantee; empty where all is well. */
export function violations(evidence: Evidence): readonly string[] {
  const found = evidence.lives.flatMap((life) => [
    ...noForgetting(life, evidence),
    ...noGoingBack(life, evidence),
    ...noWedge(life),
    ...evictedIsNotDeleted(life, evidence),
    ...(evidence.removal === 'uninstalled' ? leftFree(life) : stillGuarded(life, evidence)),
    ...restoredWhole(life, evidence),
  ]);
  const leaks = evidence.secrets.filter((secret) => evidence.traces.includes(secret));
  return [...found, ...leaks.map(() => 'no secret in the clear: a secret was stored, logged or recorded')];
}

function noForgetting(life: Life, evidence: Evidence): readonly string[] {
  const { uid, states, gone } = life;
  const last = states.at(-1);
  if (last === undefined || !states.some(hasFinalizer)) return [];
  const row = evidence.rows.get(uid);
  if (evidence.removal === 'by hand' && gone) return row === undefined ? [] : endedInTime(life, row, evidence);
  if (row === undefined) return ['no forgetting: there is no row'];
  const content = holds(row, last) ? [] : ['no forgetting: the row has not the last content'];
  if (!gone) return [...content, ...upToDate(row, last)];
  // An uninstall touches no row: what leaves meanwhile is found missing when the bundle is installed again.
  return evidence.removal === 'uninstalled' ? content : [...content, ...endedInTime(life, row, evidence)];
}

function upToDate(row: StoredObject, { metadata }: KubernetesObject): readonly string[] {
  return row.resourceVersion === metadata.resourceVersion ? [] : ['no forgetting: the row has not the last version'];
}

function endedInTime({ uid, states }: Life, row: StoredObject, evidence: Evidence): readonly string[] {
  const last = states.at(-1);
  if (row.deleteTime === undefined && row.evictTime === undefined)
    return ['no forgetting: the object is gone and its row has not ended'];
  if (evidence.removal !== 'saved' || evidence.rowsAtTheEnd === undefined || last === undefined) return [];
  const then = evidence.rowsAtTheEnd.get(uid);
  const knew = then !== undefined && holds(then, last);
  return knew ? [] : ['no forgetting: the object left etcd before MySQL had its final state'];
}

function holds(row: StoredObject, object: KubernetesObject): boolean {
  return contentOf(JSON.parse(row.json) as KubernetesObject) === contentOf(object);
}

/** What a process deletes carries the mark that asks for it, at the very moment of the DELETE. */
export function deletedUnasked(lives: readonly Life[], deleted: readonly (string | undefined)[]): readonly string[] {
  const unasked = deleted.filter((uid) => {
    const life = lives.find((each) => each.uid === uid);
    const then = life?.states.find(({ metadata }) => metadata.deletionTimestamp !== undefined);
    return then === undefined || !(isMarkedDeleting(then) || isMarkedImmutable(then));
  });
  return unasked.map(() => 'evicted is not deleted: an object was deleted whose mark was taken off in time');
}

function noGoingBack({ uid }: Life, evidence: Evidence): readonly string[] {
  const versions = (evidence.versions.get(uid) ?? []).map(BigInt);
  const back = versions.some((version, index) => index > 0 && version < (versions[index - 1] ?? 0n));
  return back ? ['no going back: the row took an older state'] : [];
}

function noWedge({ states, gone }: Life): readonly string[] {
  const last = states.at(-1);
  const wrong: string[] = [];
  if (!gone && last?.metadata.deletionTimestamp !== undefined && hasFinalizer(last))
    wrong.push('no wedge: the object is still held by the finalizer');
  return wrong;
}

function evictedIsNotDeleted({ uid, states, gone }: Life, evidence: Evidence): readonly string[] {
  const row = evidence.rows.get(uid);
  if (!gone || row === undefined || evidence.removal === 'by hand') return [];
  const atDeletion = states.find(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const askedToDelete = states.some(isMarkedDeleting);
  if (atDeletion !== undefined && isMarkedImmutable(atDeletion) && !askedToDelete && row.state !== 'evicted')
    return [`evicted is not deleted: the row is ${row.state}`];
  return [];
}

/** Only a deletion takes the finalizer off, and the sweep has seen to what does not have it. */
function stillGuarded({ states, gone }: Life, { removal }: Evidence): readonly string[] {
  const isOpen = (state: KubernetesObject): boolean =>
    state.metadata.deletionTimestamp === undefined && !hasFinalizer(state);
  const guarded = states.slice(states.findIndex(hasFinalizer));
  if (removal !== 'by hand' && states.some(hasFinalizer) && guarded.some(isOpen))
    return ['no unguarded object: the finalizer was lost'];
  const last = states.at(-1);
  return !gone && last !== undefined && isOpen(last) ? ['no unguarded object: the sweep has left it out'] : [];
}

function leftFree({ states, gone }: Life): readonly string[] {
  const last = states.at(-1);
  if (gone || last === undefined || !hasFinalizer(last)) return [];
  return ['removal leaves nothing stuck: the uninstall has ended and the finalizer is there'];
}

/** What was put back is what was stored. */
function restoredWhole({ states }: Life, { rows }: Evidence): readonly string[] {
  const from = states.at(-1)?.metadata.annotations?.[RESTORED_FROM_ANNOTATION];
  const row = from === undefined ? undefined : rows.get(from);
  if (row === undefined || states.some(({ metadata }) => metadata.deletionTimestamp !== undefined)) return [];
  const { status } = JSON.parse(row.json) as KubernetesObject;
  const whole = states.some((state) => canonicalJson(state['status']) === canonicalJson(status));
  return whole ? [] : ['no forgetting: what was restored is not what was stored'];
}

/** What a user would miss: spec, status, labels. Metadata that ends with the object is left out. */
function contentOf({ spec, status, metadata }: KubernetesObject): string {
  return canonicalJson({ spec, status, labels: metadata.labels ?? {} });
}
