import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Configuration } from '../config/schema.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { LeaderElector, type LeaderElectorOptions } from '../runtime/leader-elector.ts';
import { ONE_OF_MANY } from '../runtime/replicas/lease-names.ts';
import { createClient } from './kube-client.ts';

export interface Elector {
  readonly election: LeaderElector;
  close(): Promise<void>;
}

interface Parts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/**
 * The name of the lease of a reconciler that does this. One that only audits has a lease of its own, so that it neither
 * waits for the one that syncs nor keeps it from working. Those that sync share one, whether or not they audit too.
 */
export function leaseName(controllers: ReadonlySet<string>): string {
  return controllers.has('sync') ? RECONCILER_LEASE : 'ingester-reconciler-audit';
}

export const RECONCILER_LEASE = 'ingester-reconciler';

export interface Candidate {
  readonly lease: string;
  readonly identity: string;
  /** The name of this process among those that work at the same time; undefined where one works. */
  readonly replica: string | undefined;
}

/** The Lease of the leader says whether it works alone, so that processes of both settings keep out of each other's way. */
export function candidateOf({ leaderElection }: Configuration, controllers: ReadonlySet<string>): Candidate {
  const name = processIdentity();
  const isOneOfMany = leaderElection.active === 'all' && controllers.has('sync');
  const own = isOneOfMany
    ? { identity: `${ONE_OF_MANY}${name}`, replica: name }
    : { identity: name, replica: undefined };
  return { lease: leaseName(controllers), ...own };
}

/** Unlike that of any other process. */
function processIdentity(): string {
  return `${hostname()}_${randomUUID()}`;
}

/** Undefined where the configuration does not ask for an election. Leases have a client of their own. */
export function createElector(
  configuration: Configuration,
  { clock, logger, metrics }: Parts,
  { lease: name, identity = processIdentity() }: { readonly lease: string; readonly identity?: string },
  successor?: LeaderElectorOptions['successor'],
): Elector | undefined {
  if (!configuration.leaderElection.enabled) return undefined;
  const client = createClient(configuration, clock, metrics);
  const election = new LeaderElector({
    client,
    lease: { namespace: configuration.kubernetes.namespace, name },
    identity,
    clock,
    logger,
    metrics: metrics.leaderElection.forLease(name),
    ...(successor === undefined ? {} : { successor }),
  });
  return { election, close: () => election.leave().then(() => client.close()) };
}
