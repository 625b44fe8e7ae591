// Where the loops of the kinds run: for good, with this process as the one that works, or beside others on a part of the
// objects, made anew for each term, from their first list on.
import { type Election, Manager } from '../../runtime/manager.ts';
import { selectorFor } from '../../runtime/replicas/narrowing.ts';
import { Replica, type Term } from '../../runtime/replicas/replica.ts';
import type { Share } from '../../sync/share.ts';
import type { StatusShare } from '../../sync/status/status-writer.ts';
import { RECONCILER_LEASE } from '../elector.ts';
import type { ReadinessCheck } from '../health.ts';
import { createClient } from '../kube-client.ts';
import type { CurrentWork } from './current-work.ts';
import type { Parts } from './kind-loop.ts';
import { createByteBudgets } from './memory.ts';

interface Wanted {
  readonly syncs: boolean;
  readonly usable: Promise<undefined>;
  /** Whether MySQL can be used, as far as this process knows. */
  readonly canStore: () => boolean;
  /** Of this process; undefined where one process works and others stand by. */
  readonly replica: string | undefined;
}

export interface Working {
  addTo(manager: Manager): void;
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
  /** Undefined where one process works. */
  readonly share: StatusShare | undefined;
  /** As this process takes part in it. */
  electing(election: Election): Election;
  /** The leader after this one; undefined: the first that asks. */
  successor(): string | undefined;
  close(): Promise<void>;
}

export function createWork(parts: Parts, work: CurrentWork, { replica, ...what }: Wanted): Working {
  if (replica !== undefined) return besideOthers(parts, work, { ...what, name: replica });
  work.begin(parts);
  return {
    addTo: (manager) => work.addTo(manager, parts, what),
    checks: {},
    share: undefined,
    electing: (election) => election,
    successor: () => undefined,
    close: () => Promise.resolve(),
  };
}

/** Every call that a reconcile waits for has ended by then. A term that does not end ends the process. */
const TERM_END_MS = 60_000;

function besideOthers(
  parts: Parts,
  work: CurrentWork,
  { name, ...what }: Omit<Wanted, 'replica'> & { readonly name: string },
): Working {
  const { configuration, clock, logger, metrics, sync } = parts;
  const client = createClient(configuration, clock, metrics);
  const serve = async (term: Term, stop: AbortSignal): Promise<void> => {
    const { namespace } = configuration.kubernetes;
    const shardSelector = await selectorFor(term.buckets, { client, namespace, logger }, stop);
    const share: Share = {
      ...{ buckets: term.buckets, shardSelector },
      ...{ holds: (uid) => term.holds(uid), replicas: () => term.replicas() },
    };
    // What the loops of before have held is theirs; what they have not let go of takes no room here.
    const own: Parts = { ...parts, byteBudgets: createByteBudgets(), share, mayWork: () => term.mayWork() };
    work.begin(own);
    const manager = new Manager({ clock, logger, gracefulShutdownTimeoutMs: TERM_END_MS });
    work.addTo(manager, own, what);
    await manager.run(stop);
    work.end();
    sync.failingObjects.forget();
    sync.incompleteProtos.forget();
  };
  const replica = new Replica({
    ...{ client, clock, logger, process: name, serve, canStore: what.canStore },
    namespace: configuration.kubernetes.namespace,
    leaderLease: RECONCILER_LEASE,
    onBuckets: (count) => metrics.leaderElection.buckets(count),
    onUnowned: (count) => metrics.leaderElection.unowned(count),
  });
  return {
    addTo: (manager) => manager.add({ name: 'replica', group: 'always', run: (stop) => replica.run(stop) }),
    checks: { buckets: () => replica.problem },
    share: { name, leads: parts.mayWork, replicas: () => replica.replicas, unowned: () => replica.unowned },
    electing: (election) => replica.electing(election),
    successor: () => replica.successor(),
    close: () => client.close(),
  };
}
