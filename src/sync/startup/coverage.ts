import { isMarkedDeleting, isMarkedImmutable, type Marked, needsFinalizer } from '../../api/object.ts';
import type { ResourceHandler } from '../../kube/handler.ts';
import type { KnownObject } from '../../kube/watched-object.ts';

/**
 * What the watch shows of the objects of one kind that need more than a copy. Objects are let go once they are dealt
 * with; this remembers of each only whether it is one of the few that are unguarded or leaving.
 */
export class Coverage implements ResourceHandler {
  readonly #unguarded = new Set<string>();
  readonly #leaving = new Set<string>();

  /** Keys of the live objects that lack the finalizer and should have it. */
  get unguarded(): ReadonlySet<string> {
    return this.#unguarded;
  }

  /** Whether the object is live and guarded, so that a copy is all it needs. */
  isPlain(key: string): boolean {
    return !this.#unguarded.has(key) && !this.#leaving.has(key);
  }

  add(object: KnownObject): void {
    this.#note(object);
  }

  update(_before: KnownObject, after: KnownObject): void {
    this.#note(after);
  }

  delete({ key }: KnownObject): void {
    this.#unguarded.delete(key);
    this.#leaving.delete(key);
  }

  #note({ key, watched }: KnownObject): void {
    if (watched === undefined) return;
    const marked = { metadata: watched.marks() };
    keep(this.#unguarded, key, needsFinalizer(marked));
    keep(this.#leaving, key, isLeaving(marked));
  }
}

function isLeaving(object: Marked): boolean {
  return object.metadata.deletionTimestamp !== undefined || isMarkedDeleting(object) || isMarkedImmutable(object);
}

function keep(keys: Set<string>, key: string, wanted: boolean): void {
  if (wanted) keys.add(key);
  else if (keys.size > 0) keys.delete(key);
}
