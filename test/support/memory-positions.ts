import type { StoredPosition, WatchPosition } from '../../src/storage/metadata-storage.ts';

/** Positions by the name of a kind, and by `<Kind>/<bucket>`. */
export class MemoryPositions {
  readonly #positions = new Map<string, StoredPosition>();
  readonly changes: Map<string, string> = new Map<string, string>();

  record(kind: string, { resourceVersion, at, part }: WatchPosition): void {
    const next = { kind, resourceVersion, at: at.toISOString().replace('Z', '000Z') };
    if (part === undefined) {
      this.#note(kind, next);
      return;
    }
    if (BigInt(part.changed) > BigInt(this.changes.get(kind) ?? '')) this.changes.set(kind, part.changed);
    for (const bucket of part.buckets) this.#note(`${kind}/${bucket}`, next);
    const all = Array.from({ length: part.of }, (_, bucket) => this.#positions.get(`${kind}/${bucket}`));
    const known = all.filter((one) => one !== undefined);
    const [lowest] = known.toSorted((left, right) => (isHigher(left, right) ? 1 : -1));
    const [oldest] = known.map((one) => one.at).sort();
    if (known.length === part.of && lowest !== undefined && oldest !== undefined)
      this.#note(kind, { ...lowest, kind, at: oldest });
  }

  list(): readonly StoredPosition[] {
    const ofKinds = [...this.#positions].filter(([name]) => !name.includes('/'));
    return ofKinds.map(([, position]) => position).sort((left, right) => (left.kind < right.kind ? -1 : 1));
  }

  #note(name: string, next: StoredPosition): void {
    const stored = this.#positions.get(name);
    if (stored === undefined || isHigher(next, stored) || next.at > stored.at) this.#positions.set(name, next);
  }
}

function isHigher(left: StoredPosition, right: StoredPosition): boolean {
  return BigInt(left.resourceVersion) > BigInt(right.resourceVersion);
}
