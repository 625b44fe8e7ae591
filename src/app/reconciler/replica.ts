// A reconciler that works beside others on its part of the objects: for each term a set of loops, from their first list on.
import { Manager } from '../../runtime/manager.ts';
import { Replica, type Term } from '../../runtime/replicas/replica.ts';
import type { Runnable } from '../../runtime/runnable-group.ts';
import { RECONCILER_LEASE } from '../elector.ts';
import type { ReadinessCheck } from '../health.ts';
import { createClient } from '../kube-client.ts';
import type { CurrentWork } from './current-work.ts';
import type { Parts } from './kind-loop.ts';
import { createByteBudgets } from './memory.ts';

/** Every call that a reconcile waits for has ended by then. A term that does not end ends the process. */
const TERM_END_MS = 60_000;

interface ReplicaParts {
  readonly syncs: boolean;
  readonly usable: Promise<undefined>;
  /** Of this process. */
  readonly identity: string;
}

export interface ReconcilerReplica {
  readonly runnable: Runnable;
  readonly replicas: () => number;
  readonly check: ReadinessCheck;
  close(): Promise<void>;
}

export function createReplica(parts: Parts, work: CurrentWork, { identity, ...what }: ReplicaParts): ReconcilerReplica {
  const { configuration, clock, logger, metrics, sync } = parts;
  const client = createClient(configuration, clock, metrics);
  const serve = async (term: Term, stop: AbortSignal): Promise<void> => {
    // What the loops of before have held is theirs; what they have not let go of takes no room here.
    const own: Parts = { ...parts, byteBudgets: createByteBudgets(), share: term, mayWork: () => term.mayWork() };
    work.begin(own);
    const manager = new Manager({ clock, logger, gracefulShutdownTimeoutMs: TERM_END_MS });
    work.addTo(manager, own, what);
    await manager.run(stop);
    work.end();
    sync.failingObjects.forget();
    sync.incompleteProtos.forget();
  };
  const replica = new Replica({
    ...{ client, clock, logger, process: identity, serve },
    namespace: configuration.kubernetes.namespace,
    leaderLease: RECONCILER_LEASE,
    onBuckets: (count) => metrics.leaderElection.buckets(count),
  });
  const runnable: Runnable = { name: 'replica', group: 'always', run: (stop) => replica.run(stop) };
  const check: ReadinessCheck = () => replica.problem;
  return { runnable, replicas: () => replica.replicas, check, close: () => client.close() };
}
