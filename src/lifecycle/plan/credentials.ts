// Which credentials the components get while they are rotated: first the new ones become valid beside the old ones, then
// every component changes over, then the old ones end. The status keeps them under the name of the Secret they replaced,
// so a manifest that still names that Secret, or names it again, does not bring invalid credentials back.
import type { IngesterSpec } from '../../api/ingester/spec.ts';
import type { LifecycleStatus } from '../../api/ingester/status.ts';

/** The specification as components are made of it. */
export function served(spec: IngesterSpec, { credentials }: Pick<LifecycleStatus, 'credentials'>): IngesterSpec {
  if (credentials?.from !== spec.database.credentialsSecret) return spec;
  return { ...spec, database: { ...spec.database, credentialsSecret: credentials.to } };
}

/**
 * The Secret whose credentials are to take the place of those in use; undefined where that is done or not asked for. One
 * change is brought to its end before another begins: else those in the middle would never end.
 */
export function desiredCredentials(
  spec: IngesterSpec,
  lifecycle: Pick<LifecycleStatus, 'credentials'>,
): string | undefined {
  const { credentials } = lifecycle;
  if (credentials !== undefined && credentials.state !== 'Ended') return undefined;
  const next = spec.database.rotation?.credentialsSecret;
  return next === served(spec, lifecycle).database.credentialsSecret ? undefined : next;
}

/** The new ones are valid beside the old ones. */
export function noteAdded(spec: IngesterSpec, lifecycle: LifecycleStatus, run: string): LifecycleStatus {
  const to = desiredCredentials(spec, lifecycle);
  if (to === undefined) return lifecycle;
  const from = spec.database.credentialsSecret;
  const previous = served(spec, lifecycle).database.credentialsSecret;
  const adminSecret = spec.database.rotation?.adminSecret ?? '';
  return { ...lifecycle, credentials: { from, to, previous, adminSecret, run, state: 'Added' } };
}

/** Called when every component is ready; `alone` where no pod of an earlier template is left. */
export function noteChangedOver(spec: IngesterSpec, lifecycle: LifecycleStatus, alone: boolean): LifecycleStatus {
  const { credentials, ...rest } = lifecycle;
  if (credentials === undefined) return lifecycle;
  const mayEnd = credentials.state === 'Added' && alone;
  if (mayEnd) return { ...rest, credentials: { ...credentials, state: 'InUse' } };
  // The manifest names the new Secret by now, and the old credentials have ended.
  const isOver = credentials.state === 'Ended' && spec.database.credentialsSecret !== credentials.from;
  return isOver ? rest : lifecycle;
}

export function noteEnded(lifecycle: LifecycleStatus): LifecycleStatus {
  const { credentials } = lifecycle;
  return credentials === undefined ? lifecycle : { ...lifecycle, credentials: { ...credentials, state: 'Ended' } };
}
