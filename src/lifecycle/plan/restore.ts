// Going back to a snapshot, once for each nonce. A nonce is used up when the status records it, before the restore begins:
// a crash, a manifest that is reverted and a resource that is created again never restore a second time.
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import type { LifecycleStatus } from '../../api/ingester/status.ts';
import type { PlanEvent } from './observed.ts';

/** How many nonces the status keeps; a manifest with an older one would restore again. */
const REMEMBERED = 100;

export interface RestoreInput {
  readonly spec: IngesterSpec;
  readonly lifecycle: LifecycleStatus;
  /** The resource has no lifecycle status yet. */
  readonly isNew: boolean;
  readonly emit: (event: PlanEvent) => void;
}

export function takeRestore({ spec, lifecycle, isNew, emit }: RestoreInput): LifecycleStatus {
  const { restore: known, ...rest } = lifecycle;
  const asked = spec.lifecycle?.restore;
  if (asked === undefined) return rest;
  if (known?.nonce === asked.nonce) return lifecycle;
  if (!isNewNonce(spec, lifecycle)) return rest;
  const restores = [...(lifecycle.restores ?? []), asked.nonce].slice(-REMEMBERED);
  if (isNew) return { ...rest, restores };
  emit({
    reason: 'RestoreAccepted',
    note: `going back to snapshot ${asked.snapshot} (${asked.nonce})`,
  });
  return { ...rest, restores, restore: asked };
}

export function isNewNonce(
  { lifecycle: asked }: IngesterSpec,
  { restores = [] }: Pick<LifecycleStatus, 'restores'>,
): boolean {
  return asked?.restore !== undefined && !restores.includes(asked.restore.nonce);
}

export function noteRestored({ restore: _, ...lifecycle }: LifecycleStatus): LifecycleStatus {
  return lifecycle;
}
