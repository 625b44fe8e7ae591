// Which snapshots may go.

export interface KeptSnapshot {
  readonly id: string;
  /** RFC 3339, always with the same number of digits. */
  readonly createdAt: string;
  readonly state: 'creating' | 'verified';
}

export interface Retention {
  /** How many verified snapshots stay, at least. */
  readonly keep: number;
  /** Snapshots that somebody may still want to go back to. */
  readonly referenced: readonly string[];
}

/**
 * Oldest first. Never one that is referenced, never the newest verified one, and never one that is not verified: that
 * may be under way, and its own task clears it up.
 */
export function expendable(snapshots: readonly KeptSnapshot[], { keep, referenced }: Retention): readonly string[] {
  const verified = snapshots
    .filter(({ state }) => state === 'verified')
    .sort((one, other) => (one.createdAt + one.id < other.createdAt + other.id ? -1 : 1));
  const candidates = verified.slice(0, -Math.max(1, keep)).map(({ id }) => id);
  return candidates.filter((id) => !referenced.includes(id));
}
