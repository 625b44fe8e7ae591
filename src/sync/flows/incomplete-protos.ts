import type { LeftOut } from '../../proto/left-out.ts';

/** An object whose `proto` column lacks something that its json has. */
export interface IncompleteProto {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The first fields that it lacks, each with why. */
  readonly lacks: readonly string[];
}

/** Objects listed by name; a field of a newer definition concerns every object of a kind. */
const LISTED = 1000;
const MOST_FIELDS = 5;

/** The objects, as far as this process stored them, whose protobuf form is incomplete. */
export class IncompleteProtos {
  readonly #listed = new Map<string, IncompleteProto>();
  /** Beyond the list; only counted. */
  readonly #others = new Set<string>();

  /** What the last row of an object lacks; nothing where it is complete, or the object is gone. */
  note(kind: string, key: string, leftOut: readonly LeftOut[] = []): void {
    const id = `${kind} ${key}`;
    if (leftOut.length === 0) {
      this.#listed.delete(id);
      this.#others.delete(id);
    } else if (this.#listed.size < LISTED || this.#listed.has(id)) {
      const slash = key.indexOf('/');
      const lacks = leftOut.slice(0, MOST_FIELDS).map(describeLeftOut);
      this.#others.delete(id);
      this.#listed.set(id, { kind, namespace: key.slice(0, slash), name: key.slice(slash + 1), lacks });
    } else {
      this.#others.add(id);
    }
  }

  /** They are another replica's from now on. */
  forget(): void {
    this.#listed.clear();
    this.#others.clear();
  }

  get count(): number {
    return this.#listed.size + this.#others.size;
  }

  list(): readonly IncompleteProto[] {
    return [...this.#listed.values()];
  }
}

export function describeLeftOut({ path, expected }: LeftOut): string {
  return expected === undefined ? `${path}: no definition has this field` : `${path}: expected ${expected}`;
}
