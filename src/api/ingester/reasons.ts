// Every reason of an event about an Ingester resource and of its conditions, with what it means. docs/lifecycle-reference.md
// lists them. The reason of an event decides its type, the reason of a condition its status.
import type { Condition } from './status.ts';

interface EventMeaning {
  readonly type: 'Normal' | 'Warning';
  readonly meaning: string;
}

interface ConditionMeaning {
  readonly status: Condition['status'];
  readonly meaning: string;
}

const normal = (meaning: string): EventMeaning => ({ type: 'Normal', meaning });
const warning = (meaning: string): EventMeaning => ({ type: 'Warning', meaning });
const isTrue = (meaning: string): ConditionMeaning => ({ status: 'True', meaning });
const isFalse = (meaning: string): ConditionMeaning => ({ status: 'False', meaning });
const unknown = (meaning: string): ConditionMeaning => ({ status: 'Unknown', meaning });

export const eventReasons = {
  SpecChanged: normal('Another specification became the target; the note names the fields that changed.'),
  AttemptStarted: normal('A change begins; the note has its kind, its version and its id.'),
  QuiescingStarted: normal('The components are being removed, so that only tasks write.'),
  MaintenanceStarted: normal('The maintenance page answers for query.'),
  MaintenanceEnded: normal('Query answers again, or the page was taken out of the specification.'),
  MaintenancePageFailed: warning('The page does not come up; the components are removed without it.'),
  TaskStarted: normal('A run of a task begins.'),
  TaskCompleted: normal('A task is completed.'),
  TaskRetry: warning('A run failed; the note says why, and when the next one comes.'),
  TaskFailed: warning('A task failed for good; the note says why.'),
  TaskCannotStart: warning('The pod of a task cannot start; the note says why.'),
  TaskRecovering: normal('The pod template of a task that could not start was corrected; it is started again.'),
  ServingAgain: normal('A task failed for good, and the components run without it.'),
  Restoring: normal('All tasks are done; the components start.'),
  Settled: normal('The target runs.'),
  RolledBack: warning('A change failed or took too long; what ran before is applied again.'),
  DowngradeBlocked: warning('The version is older than the migrated one, or has no order with it.'),
  ApprovalRequested: normal('A change waits for an approval; the note has the command that gives it.'),
  ApprovalExpired: warning('No user decided in time; a new request with another token follows.'),
  UpgradeApproved: normal('A user approved the change.'),
  UpgradeRejected: normal('A user rejected the change.'),
  RestoreAccepted: warning('The database is going back to a snapshot.'),
  NameTaken: warning('An object of another owner has a name that is needed.'),
  ChildPutBack: warning('Another client changed a child, and its fields were put back; the note names them.'),
} as const satisfies Readonly<Record<string, EventMeaning>>;

export type IngesterEventReason = keyof typeof eventReasons;

const unread = unknown('Reads from the API server have failed for 30 seconds; the message says why.');

export const conditionReasons = {
  Available: {
    Serving: isTrue('Pods of query serve, or those of sync where there is no query.'),
    NotServing: isFalse('No pod serves.'),
    MaintenanceActive: isFalse('The maintenance page answers.'),
    ObservationFailed: unread,
  },
  LifecycleComplete: {
    LifecycleComplete: isTrue('What is asked for runs, and no task is due.'),
    NotStarted: isFalse('Nothing was begun yet.'),
    Quiescing: isFalse('The components are being removed.'),
    QuiesceStuck: isFalse('Pods are left after quiesceTimeout.'),
    MaintenanceCannotStart: isFalse('The pod of the maintenance page cannot start.'),
    TaskInProgress: isFalse('A task runs.'),
    TaskRetrying: isFalse('A task waits for its next attempt.'),
    TaskCannotStart: isFalse('The pod of a task cannot start.'),
    TaskFailed: isFalse('A task failed for good; the message says what tries it again.'),
    NameTaken: isFalse('An object of another owner has a name that is needed next.'),
    ComponentsStopping: isFalse('Jobs for inputs of before are being stopped.'),
    ComponentsUpdating: isFalse('The components are being rolled out.'),
    ComponentsRestoring: isFalse('All tasks are done; the components start.'),
    AwaitingApproval: isFalse('The change waits for an approval.'),
    UpgradeRejected: isFalse('The change was rejected.'),
    DowngradeBlocked: isFalse('The version is older than the migrated one, or has no order with it.'),
    RolledBack: isFalse('The specification failed, and what ran before runs.'),
    ObservationFailed: unread,
  },
  Progressing: {
    Quiescing: isTrue('The components are being removed.'),
    Stopping: isTrue('Jobs for inputs of before are being stopped.'),
    Tasks: isTrue('Tasks run.'),
    Updating: isTrue('The components are being rolled out.'),
    Restoring: isTrue('All tasks are done; the components start.'),
    Idle: isFalse('No change is under way, or it failed for good.'),
    ObservationFailed: unread,
  },
  Degraded: {
    ComponentsNotReady: isTrue('Pods of a component are missing or not ready.'),
    AllComponentsReady: isFalse('All pods of all components are ready.'),
    NotObserved: unknown('The Deployment controller has not seen the newest generation of a component yet.'),
    ObservationFailed: unread,
  },
  SpecValid: {
    Valid: isTrue('The specification is valid and permitted.'),
    Invalid: isFalse('It is not; the message has every problem, and the last valid one goes on.'),
  },
  Suspended: {
    Suspended: isTrue('The lifecycle controller changes nothing; the message says where it stopped.'),
    NotSuspended: isFalse('It works.'),
  },
  SnapshotMissed: {
    Missed: isTrue(
      'A snapshot has been due by the schedule for an hour; the message says since when, and how old the newest is.',
    ),
    Taken: isFalse('What was due was taken, or is not late yet; the message says when the newest was taken.'),
    NotScheduled: isFalse('No snapshots are taken by schedule.'),
  },
  ForeignObjects: {
    NameTaken: isTrue('Objects of other owners have names that are needed.'),
    LabelTaken: isTrue('Objects of other owners have the label of this resource.'),
    None: isFalse('There are none.'),
    ObservationFailed: unread,
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ConditionMeaning>>>>;

export type ConditionType = keyof typeof conditionReasons;
export type ConditionReason<T extends ConditionType> = keyof (typeof conditionReasons)[T] & string;

/** A condition of each type, with the reasons that it can have. */
export type ConditionDraft = {
  [T in ConditionType]: readonly [type: T, reason: ConditionReason<T>, message: string];
}[ConditionType];

export function statusOfReason([type, reason]: ConditionDraft): Condition['status'] {
  const reasons: Readonly<Record<string, ConditionMeaning>> = conditionReasons[type];
  return reasons[reason]?.status ?? 'Unknown';
}
