/** What one of several replicas works on, where they work at the same time. Undefined: everything is this one's. */
export interface Share {
  readonly buckets: ReadonlySet<number>;
  /** Selects the objects of the buckets; undefined where the API server cannot. */
  readonly shardSelector: string | undefined;
  /** Whether the object of this uid is in one of the buckets. */
  holds(uid: string): boolean;
  /** How many replicas there are. */
  replicas(): number;
}

/** This replica's part of a limit that is meant for all of them, 1 at least; 0 means no limit and stays. */
export function partOf(limit: number, share: Pick<Share, 'replicas'> | undefined): number {
  return share === undefined ? limit : Math.ceil(limit / Math.max(1, share.replicas()));
}
