// What is kept of the database before a task changes it. The first row that fits decides; docs/lifecycle.md has the table.
// Nothing ends as Stateless but what asked for that: a Savepoint that cannot be had fails, and the migration waits for it.
import type { IngesterSpec } from '../../api/ingester/spec.ts';

export type StateMode = 'Stateless' | 'LastState' | 'Savepoint';

export interface StateModeInput {
  readonly asked: StateMode;
  /** The database holds something of this resource. */
  readonly stored: boolean;
  /** A task is due after which a rollback may be impossible. */
  readonly changes: boolean;
  /** The resource names a place for snapshots. */
  readonly place: boolean;
}

interface Row {
  readonly when: string;
  readonly test: (input: StateModeInput) => boolean;
  /** Nothing: there is nothing to keep. */
  readonly mode: StateMode | 'Nothing';
  readonly kept: string;
}

export const stateRows: readonly Row[] = [
  { when: 'nothing is stored yet', test: ({ stored }) => !stored, mode: 'Nothing', kept: '-' },
  { when: 'no task changes the data', test: ({ changes }) => !changes, mode: 'LastState', kept: 'what is committed' },
  {
    when: '`Savepoint` is asked for',
    test: ({ asked }) => asked === 'Savepoint',
    mode: 'Savepoint',
    kept: 'a verified snapshot; without it the task does not begin',
  },
  {
    when: '`LastState` is asked for, and `snapshots` names a place',
    test: ({ asked, place }) => asked === 'LastState' && place,
    mode: 'Savepoint',
    kept: 'a verified snapshot: what is committed does not outlast a migration',
  },
  {
    when: '`LastState` is asked for',
    test: ({ asked }) => asked === 'LastState',
    mode: 'LastState',
    kept: 'what is committed, as the task leaves it',
  },
  {
    when: '`Stateless` is asked for',
    test: ({ asked }) => asked === 'Stateless',
    mode: 'Stateless',
    kept: 'nothing but what the cluster still has: no snapshot, wherever there is a place',
  },
];

export function effectiveStateMode(input: StateModeInput): Row['mode'] {
  return stateRows.find(({ test }) => test(input))?.mode ?? input.asked;
}

export function stateModeInput(
  { lifecycle }: IngesterSpec,
  { migratedVersion, changes }: { readonly migratedVersion: string | undefined; readonly changes: boolean },
): StateModeInput {
  return {
    asked: lifecycle?.stateMode ?? 'LastState',
    stored: migratedVersion !== undefined,
    changes,
    place: lifecycle?.snapshots !== undefined,
  };
}
