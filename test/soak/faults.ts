// What goes wrong while the load runs, one fault after another, each for a while.
import { setTimeout as delay } from 'node:timers/promises';
import type { Bundle } from '../../hack/local/bundle.ts';
import type { VitessCluster } from '../../hack/local/vitess/cluster.ts';
import { backUpEtcd, repairRestored, restoreEtcd } from './etcd-backup.ts';
import type { Fleet } from './fleet.ts';
import type { Random } from './random.ts';
import { type AskDatabase, refuseRows } from './refused-rows.ts';
import type { ShiftedClock } from './shifted-clock.ts';
import type { Workload } from './workload.ts';

/** What the faults are done to. */
export interface Stage {
  readonly bundle: Bundle;
  readonly workload: Workload;
  readonly fleet: Fleet;
  /** Where the rows are: one, or those of the shards. */
  readonly databases: readonly AskDatabase[];
  /** Undefined where the reconcilers store in a MySQL. */
  readonly vitess: VitessCluster | undefined;
  /** Of the reconcilers. */
  readonly clock: ShiftedClock;
  readonly note: (text: string) => void;
}

interface Fault {
  readonly name: string;
  readonly weight: number;
  /** At most so long; half a second at least. */
  readonly mostMs: number;
  readonly begin: (stage: Stage, random: Random) => Promise<unknown>;
  readonly end: (stage: Stage, random: Random) => Promise<unknown>;
}

const nothing = (): Promise<void> => Promise.resolve();
const at =
  (act: (stage: Stage, random: Random) => void) =>
  (stage: Stage, random: Random): Promise<void> => {
    act(stage, random);
    return Promise.resolve();
  };
const SHORT_MS = 3000;
/** What the faults take longer than, at times. */
export const deadlines = { INGESTER_MYSQL_READ_TIMEOUT: '5s' } as const;
/** More than a call to the API server may take. */
const BEYOND_DEADLINE_MS = 40_000;
/** Others take over from a replica that is silent for fifteen seconds. */
const BEYOND_LEASE_MS = 25_000;
const LONGEST_JUMP_MS = 12 * 3_600_000;

/** Of a platform team that knows nothing of the ingester: whatever the reconciler changes is refused with a 422. */
const policy = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name: 'soak-denies' },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: ['michelangelo.api'],
          apiVersions: ['*'],
          operations: ['UPDATE', 'DELETE'],
          resources: ['rayjobs'],
        },
      ],
    },
    matchConditions: [
      {
        name: 'reconciler',
        expression: 'request.userInfo.username == "system:serviceaccount:ingester-system:ingester-reconciler"',
      },
    ],
    validations: [{ expression: 'false', message: 'not now' }],
  },
};
const binding = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: 'soak-denies' },
  spec: { policyName: 'soak-denies', validationActions: ['Deny'] },
};

const faults: readonly Fault[] = [
  {
    name: 'kill the reconciler',
    weight: 4,
    mostMs: SHORT_MS,
    begin: ({ fleet }, random) => fleet.end(random, 'crash'),
    end: ({ fleet }) => fleet.revive(),
  },
  {
    name: 'kill MySQL',
    weight: 2,
    mostMs: SHORT_MS,
    begin: ({ bundle: { server } }) => server.kill(),
    end: ({ bundle: { server } }) => server.start(),
  },
  {
    name: 'freeze MySQL',
    weight: 1,
    mostMs: SHORT_MS,
    begin: at(({ bundle: { server } }) => server.pause()),
    end: at(({ bundle: { server } }) => server.resume()),
  },
  {
    name: 'cut the way to MySQL',
    weight: 2,
    mostMs: SHORT_MS,
    begin: ({ bundle: { databaseLink } }) => databaseLink.cut(),
    end: ({ bundle: { databaseLink } }) => databaseLink.heal(),
  },
  {
    name: 'silence the way to MySQL, and answer late',
    weight: 2,
    mostMs: 15_000,
    begin: at(({ bundle: { databaseLink } }) => databaseLink.freeze()),
    end: ({ bundle: { databaseLink } }) => databaseLink.heal(),
  },
  {
    name: 'strand the connections to MySQL',
    weight: 2,
    mostMs: SHORT_MS,
    begin: at(({ bundle: { databaseLink } }) => databaseLink.strand()),
    end: nothing,
  },
  {
    name: 'restart the API server',
    weight: 2,
    mostMs: SHORT_MS,
    begin: async ({
      bundle: {
        controlPlane: { apiServer },
      },
    }) => {
      apiServer.kill('SIGKILL');
      await apiServer.exited();
    },
    end: ({
      bundle: {
        controlPlane: { apiServer },
      },
    }) => apiServer.start(),
  },
  {
    name: 'freeze the API server',
    weight: 1,
    mostMs: SHORT_MS,
    begin: at(
      ({
        bundle: {
          controlPlane: { apiServer },
        },
      }) => apiServer.kill('SIGSTOP'),
    ),
    end: at(
      ({
        bundle: {
          controlPlane: { apiServer },
        },
      }) => apiServer.kill('SIGCONT'),
    ),
  },
  {
    name: 'silence the API server, and answer late',
    weight: 1,
    mostMs: BEYOND_DEADLINE_MS,
    begin: at(({ bundle }) => bundle.controlPlane.apiServer.kill('SIGSTOP')),
    end: at(({ bundle }) => bundle.controlPlane.apiServer.kill('SIGCONT')),
  },
  {
    name: 'MySQL refuses one row of four',
    weight: 2,
    mostMs: 10_000,
    begin: ({ databases }) => refuseRows(databases, true),
    end: ({ databases }) => refuseRows(databases, false),
  },
  {
    name: 'MySQL is read-only',
    weight: 1,
    mostMs: SHORT_MS,
    begin: ({ databases }) => databases[0]?.('SET GLOBAL super_read_only = ON') ?? nothing(),
    end: ({ databases }) => databases[0]?.('SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF') ?? nothing(),
  },
  {
    name: 'a policy denies',
    weight: 1,
    mostMs: 10_000,
    begin: async ({ bundle: { controlPlane } }) => {
      for (const each of [policy, binding])
        await controlPlane.kubectlRun(['apply', '-f', '-'], { input: JSON.stringify(each) });
    },
    end: async ({ bundle: { kubectl } }) => {
      for (const { kind, metadata } of [binding, policy])
        await kubectl('delete', kind, metadata.name, '--ignore-not-found');
    },
  },
  {
    name: 'restore etcd',
    weight: 1,
    mostMs: 8000,
    begin: ({ bundle, workload }) =>
      workload.atRest(async () => {
        await backUpEtcd(bundle);
        workload.remember();
      }),
    // Users stay away until MySQL follows again: the restored cluster gives out versions that it gave out before.
    end: ({ bundle, workload, note }) =>
      workload.atRest(async () => {
        await restoreEtcd(bundle);
        workload.recall();
        note(`  ${await repairRestored(bundle)}`);
      }),
  },
  {
    name: "set the reconciler's clock",
    weight: 2,
    mostMs: 8000,
    begin: at(({ clock, note }, random) => {
      const byMs = random.below(2 * LONGEST_JUMP_MS) - LONGEST_JUMP_MS;
      note(`  by ${(byMs / 3_600_000).toFixed(1)} h`);
      clock.shift(byMs);
    }),
    end: at(({ clock }) => clock.shift(0)),
  },
];

/** Where several reconcilers share the work. */
const ofFleets: readonly Fault[] = [
  {
    name: 'stop a replica',
    weight: 4,
    mostMs: 8000,
    begin: ({ fleet }, random) => fleet.end(random, 'stop'),
    end: ({ fleet }) => fleet.revive(),
  },
  {
    name: 'freeze a replica',
    weight: 3,
    mostMs: BEYOND_LEASE_MS,
    begin: at(({ fleet }, random) => {
      goOn = fleet.freeze(random);
    }),
    end: at(() => goOn()),
  },
];
let goOn: () => void = () => undefined;

/** Where Vitess stands before MySQL. */
const ofVitess: readonly Fault[] = [
  {
    name: 'kill a tablet',
    weight: 3,
    mostMs: 8000,
    begin: async ({ vitess }, random) => {
      const tablet = random.pick((vitess?.tablets ?? []).map((each) => [1, each] as const));
      again = () => tablet.start();
      await tablet.crash();
    },
    end: () => again(),
  },
  {
    name: 'freeze a tablet',
    weight: 2,
    mostMs: 15_000,
    begin: at(({ vitess }, random) => {
      const tablet = random.pick((vitess?.tablets ?? []).map((each) => [1, each] as const));
      goOn = () => tablet.kill('SIGCONT');
      tablet.kill('SIGSTOP');
    }),
    end: at(() => goOn()),
  },
  {
    name: 'kill the vtgate',
    weight: 2,
    mostMs: SHORT_MS,
    begin: async ({ vitess }) => vitess?.vtgate.crash(),
    end: async ({ vitess }) => vitess?.vtgate.start(),
  },
];
let again: () => Promise<void> = nothing;

/** Until `end`, a time of Date.now(); answers how often each fault came. */
export async function injectFaults(
  stage: Stage,
  random: Random,
  end: number,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  const all = [...faults, ...(stage.fleet.shares ? ofFleets : []), ...(stage.vitess === undefined ? [] : ofVitess)];
  for (;;) {
    await delay(1500 + random.below(2500));
    if (Date.now() >= end) return counts;
    const fault = random.pick(all.map((each) => [each.weight, each] as const));
    stage.note(fault.name);
    counts[fault.name] = (counts[fault.name] ?? 0) + 1;
    await fault.begin(stage, random);
    await delay(500 + random.below(fault.mostMs - 500));
    await fault.end(stage, random);
  }
}
