// What the reconciler tells this API of itself.

export interface ReportedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** RFC 3339, of the first failure in a row. */
  readonly since: string;
  readonly attempts: number;
  /** Stable code of the error, see docs/errors.md. */
  readonly code: string;
  readonly message: string;
}

/** A deletion breaker that is open. */
export interface ReportedHold {
  readonly kind: string;
  /** Undefined: every namespace. */
  readonly namespace?: string;
  readonly since: string;
  readonly because: string;
}

/** A kind that the reconciler cannot list and watch now. */
export interface UnwatchedKind {
  readonly kind: string;
  readonly since: string;
}

export interface ReconcilerReport {
  /** RFC 3339, when the reconciler told it. */
  readonly at: string;
  /** Of all objects that it cannot deal with. */
  readonly count: number;
  /** The oldest of them. */
  readonly objects: readonly ReportedObject[];
  readonly holds: readonly ReportedHold[];
  readonly unwatched: readonly UnwatchedKind[];
}

/** One that runs tells something new every five seconds; what is older says nothing of now. */
export const REPORT_OLD_SECONDS = 15;

/** Undefined where no reconciler has told anything yet. */
export type ReadReport = () => Promise<ReconcilerReport | undefined>;
