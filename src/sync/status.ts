import type { Trouble } from './troubles.ts';

/** What a reconciler says about itself, for `ingester status` and for kubectl. */
export interface IngesterStatus {
  /** RFC 3339, when it was written. */
  readonly at: string;
  /** Which process wrote it. */
  readonly instance: string;
  readonly storage: { readonly problem?: string; readonly since?: string };
  readonly kinds: readonly KindStatus[];
  readonly troubles: { readonly count: number; readonly listed: readonly Trouble[] };
  /** Final states on the disk of this process that MySQL does not have yet. */
  readonly spooled: number;
}

export interface KindStatus {
  readonly kind: string;
  /** In the API server. */
  readonly objects: number;
  /** Whose last attempt failed. */
  readonly failing: number;
}

export const STATUS_KEY = 'status.json';
