import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Configuration } from '../config/schema.ts';
import { LeaderElector } from '../runtime/leader-elector.ts';
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

/** Undefined where the configuration does not ask for an election. Leases have a client of their own. */
export function createElector(configuration: Configuration, { clock, logger, metrics }: Parts): Elector | undefined {
  const { enabled, namespace, name } = configuration.leaderElection;
  if (!enabled) return undefined;
  const client = createClient(configuration, clock, metrics);
  const election = new LeaderElector({
    client,
    lease: { namespace, name },
    identity: `${hostname()}_${randomUUID()}`,
    clock,
    logger,
    metrics: metrics.leaderElection.forLease(name),
  });
  return { election, close: () => client.close() };
}
