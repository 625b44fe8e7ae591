// What a reflector has seen of a resource, and whether the API server still has it.
//
// etcd that was restored from a backup goes on from an earlier version, and where it was long before it is asked, it may
// have given out as many versions again. So the objects whose states are the newest that were seen are looked at, too, one
// by one or as a list shows them: a state that is older than the one seen belongs to another history.
import type { Newest } from './client.ts';
import { isNewer } from './resource-version.ts';
import type { WatchedObject } from './watched-object.ts';

interface Seen {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/** `unknown`: what could have told is not there any more. The versions are those seen and found. */
export type Comparison =
  | { readonly history: 'same' | 'unknown' }
  | { readonly history: 'another'; readonly from: string; readonly to: string };

/** Asks for the newest version and, where a name is given, that object. */
export type Ask = (one: { readonly namespace?: string; readonly name?: string }) => Promise<Newest>;

/** Objects that are remembered. */
const MOST = 16;
/** Those of them that are asked for, one after the other, until one can tell. */
const MOST_ASKED = 3;

export class SeenHistory {
  #resourceVersion = '';
  /** The newest last. */
  #newest: Seen[] = [];
  /** Uids of those that the list under way has not shown. */
  #unlisted = new Set<string>();

  /** Version up to which everything was seen; empty before the first list ended. */
  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  listStarts(): void {
    this.#unlisted = new Set(this.#newest.map(({ uid }) => uid));
  }

  /** A list is of the newest state, so an object that was seen in a newer one cannot be of the same history. */
  compareListed({ identity: { uid, resourceVersion: to } }: WatchedObject): Comparison {
    const seen = this.#unlisted.delete(uid) ? this.#newest.find((one) => one.uid === uid) : undefined;
    return seen !== undefined && isNewer(seen.resourceVersion, to)
      ? { history: 'another', from: seen.resourceVersion, to }
      : { history: 'unknown' };
  }

  /** What it has not shown is gone and can tell nothing. */
  listEnds(resourceVersion: string): void {
    this.#resourceVersion = resourceVersion;
    this.#newest = this.#newest.filter(({ uid }) => !this.#unlisted.has(uid));
    this.#unlisted.clear();
  }

  /** What comes twice, or late, does not take it back. */
  advance(resourceVersion: string): void {
    if (!isNewer(this.#resourceVersion, resourceVersion)) this.#resourceVersion = resourceVersion;
  }

  /** An object that is leaving cannot tell for long. */
  note(object: WatchedObject): void {
    const { namespace = '', name, uid, resourceVersion } = object.identity;
    const [oldest] = this.#newest;
    if (this.#newest.length === MOST && oldest !== undefined && !isNewer(resourceVersion, oldest.resourceVersion))
      return;
    this.drop(object);
    if (object.marks().deletionTimestamp !== undefined) return;
    // Events come in the order of their versions, so its place is the last one, or near it.
    const before = this.#newest.findLastIndex((seen) => !isNewer(seen.resourceVersion, resourceVersion));
    this.#newest.splice(before + 1, 0, { namespace, name, uid, resourceVersion });
    if (this.#newest.length > MOST) this.#newest.shift();
  }

  drop({ identity: { uid } }: WatchedObject): void {
    const at = this.#newest.findIndex((seen) => seen.uid === uid);
    if (at >= 0) this.#newest.splice(at, 1);
  }

  /** Of another history nothing has been seen yet. */
  forget(): void {
    this.#resourceVersion = '';
    this.#newest = [];
    this.#unlisted.clear();
  }

  async compare(ask: Ask): Promise<Comparison> {
    if (this.#newest.length === 0) return this.#compareVersion(await ask({})) ?? { history: 'same' };
    let changed = false;
    for (const seen of this.#newest.slice(-MOST_ASKED).reverse()) {
      const { namespace, name, uid, resourceVersion: from } = seen;
      const newest = await ask({ namespace, name });
      const another = this.#compareVersion(newest);
      if (another !== undefined) return another;
      if (newest.object?.uid !== uid) continue;
      const { resourceVersion: to } = newest.object;
      if (isNewer(from, to)) return { history: 'another', from, to };
      if (from === to) return { history: 'same' };
      changed = true;
    }
    return { history: changed ? 'same' : 'unknown' };
  }

  #compareVersion({ resourceVersion: to }: Newest): Comparison | undefined {
    const from = this.#resourceVersion;
    return isNewer(from, to) ? { history: 'another', from, to } : undefined;
  }
}
